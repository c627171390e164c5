"""The Celery application: `celery -A evalsvc.celery worker -Q cpu`."""

import os
from pathlib import Path

from celery import Celery
from celery.signals import worker_init, worker_ready
from kombu.entity import Exchange, Queue

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsvc.settings")
# For Django's checks, and Celery does not report their results, a worker would import every view; a worker forked from
# a prepared process would copy megabytes of memory that it shares.
os.environ.setdefault("CELERY_SKIP_CHECKS", "1")

QUEUES = ("cpu", "judge", "experiments", "system")

app = Celery("evalsvc")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.conf.update(
    # Without its own exchange and key each queue would be bound to the default one and get every message.
    task_queues=[Queue(name, Exchange(name), routing_key=name) for name in QUEUES],  # type: ignore[no-untyped-call]
    task_default_queue="system",
    task_ignore_result=True,
    task_serializer="json",
    accept_content=["json"],
    # Both are needed: without reject_on_worker_lost a killed pool child acknowledges the message it did not finish.
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    worker_prefetch_multiplier=1,
    # Evaluations are re-enqueued by the sweep within seconds; the broker's own redelivery is the last resort, and a
    # short timeout would start a healthy slow task a second time.
    broker_transport_options={
        "visibility_timeout": 600,
        "socket_keepalive": True,
        "socket_connect_timeout": 3,
        # A request that enqueues must not wait for a broker that is down: the sweep enqueues it later.
        "max_retries": 1,
        "interval_start": 0,
        "interval_step": 0,
    },
    broker_connection_retry_on_startup=True,
    broker_connection_max_retries=None,
    worker_cancel_long_running_tasks_on_connection_loss=False,
    worker_hijack_root_logger=False,
    worker_send_task_events=False,
    task_time_limit=300,
    timezone="UTC",
    beat_scheduler="evalsvc.ops.liveness.heartbeat:Clock",
    beat_schedule={
        "sweep": {
            "task": "evalsvc.evaluations.sweep",
            "schedule": 5.0,
            # A sweep that waited longer than its period has been overtaken by the next one.
            "options": {"queue": "system", "expires": 5},
        },
        "plan": {
            "task": "evalsvc.experiments.plan",
            "schedule": 2.0,
            "options": {"queue": "system", "expires": 4},
        },
        "prune": {"task": "evalsvc.evaluations.prune", "schedule": 60.0, "options": {"queue": "system", "expires": 60}},
        "retain": {
            "task": "evalsvc.evaluations.retain",
            "schedule": 60.0,
            "options": {"queue": "system", "expires": 60},
        },
        "make_partitions": {
            "task": "evalsvc.evaluations.make_partitions",
            "schedule": 3600.0,
            "options": {"queue": "system", "expires": 3600},
        },
        "fold_rollups": {
            "task": "evalsvc.evaluations.fold_rollups",
            "schedule": 10.0,
            "options": {"queue": "system", "expires": 10},
        },
        "recount_rollups": {
            "task": "evalsvc.evaluations.recount_rollups",
            "schedule": 86400.0,
            "options": {"queue": "system", "expires": 3600},
        },
        "prune_telemetry": {
            "task": "evalsvc.telemetry.prune",
            "schedule": 60.0,
            "options": {"queue": "system", "expires": 60},
        },
        # On the queue for tasks that wait for other servers, so that a slow receiver does not delay a sweep.
        "deliver_events": {
            "task": "evalsvc.events.deliver",
            "schedule": 5.0,
            "options": {"queue": "judge", "expires": 5},
        },
        "sweep_comparisons": {
            "task": "evalsvc.comparisons.sweep",
            "schedule": 5.0,
            "options": {"queue": "system", "expires": 5},
        },
        "sweep_rules": {
            "task": "evalsvc.rules.sweep",
            "schedule": 2.0,
            "options": {"queue": "system", "expires": 4},
        },
        "prune_rules": {
            "task": "evalsvc.rules.prune",
            "schedule": 60.0,
            "options": {"queue": "system", "expires": 60},
        },
        "advance_monitors": {
            "task": "evalsvc.monitors.advance",
            "schedule": 5.0,
            "options": {"queue": "system", "expires": 5},
        },
        "delete_accounts": {
            "task": "evalsvc.ops.delete_accounts",
            "schedule": 15.0,
            "options": {"queue": "system", "expires": 15},
        },
        "prune_events": {
            "task": "evalsvc.events.prune",
            "schedule": 60.0,
            "options": {"queue": "system", "expires": 60},
        },
        "prune_sessions": {
            "task": "evalsvc.accounts.prune_sessions",
            "schedule": 60.0,
            "options": {"queue": "system", "expires": 60},
        },
    },
)
app.steps["worker"].add("evalsvc.evaluations.workers.judging.host:JudgingStep")
app.steps["consumer"].add("evalsvc.ops.liveness.heartbeat:Heartbeat")
app.autodiscover_tasks(
    [
        *("evalsvc.evaluations", "evalsvc.experiments", "evalsvc.telemetry", "evalsvc.events"),
        *("evalsvc.comparisons", "evalsvc.rules", "evalsvc.monitors", "evalsvc.ops", "evalsvc.accounts"),
    ]
)


@worker_init.connect
def check_database_functions(**kwargs: object) -> None:
    """Stop a worker if the database has never had its functions."""
    from evalsvc.ops.at_start import refuse_foreign_functions

    refuse_foreign_functions()


@worker_ready.connect
def report_ready(**kwargs: object) -> None:
    """Open the metrics port, and touch the ready file to signal that this worker accepts tasks."""
    from evalsvc.ops.metering.port import open_port

    open_port()
    if path := os.environ.get("EVALSVC_READY_FILE"):
        Path(path).touch()
