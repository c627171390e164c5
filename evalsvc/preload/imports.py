"""Import once what every process of the service needs."""

import gc
import importlib

# What the servers import when they start, besides the service's own modules.
SERVERS = (
    "billiard.popen_fork",
    "billiard.sharedctypes",
    "celery.app.amqp",
    "celery.app.control",
    "celery.app.events",
    "celery.app.log",
    "celery.apps.beat",
    "celery.apps.worker",
    "celery.concurrency.prefork",
    "celery.concurrency.thread",
    "celery.worker.autoscale",
    "celery.worker.components",
    "celery.worker.consumer",
    "celery.worker.consumer.delayed_delivery",
    "celery.worker.strategy",
    "gunicorn.app.wsgiapp",
    "gunicorn.glogging",
    "evalsvc.ops.web_worker",
    "kombu.transport.redis",
    "evalsvc.ops.alive",
    "evalsvc.ops.heartbeat",
    "evalsvc.preload.clock",
)
# What several processes would import at some request, each for itself: of `openai` 35 MB, of `scipy.special` 12.
LATER = (
    "anyio._backends._asyncio",
    "celery.app.routes",
    "celery.events.dispatcher",
    "celery.events.receiver",
    "evalsvc.evaluations.workers.judging.host",
    "evalsvc.evaluations.workers.judging.runner",
    "evalsvc.judges.calls.sending",
    "httpcore2",
    "phonenumbers",
    "scipy.special",
    "truststore",
)


def import_service() -> None:
    """Set Django up and import views, tasks and servers, without a connection to anything."""
    # Nothing imported is garbage, and looking for some would take a tenth of the time.
    gc.disable()
    importlib.import_module("evalsvc.wsgi")
    from django.urls import get_resolver

    from evalsvc.celery import app

    _ = get_resolver().url_patterns
    # Noted as done: each worker would set Django and its logging up again, and touch 4 MB for it.
    app.loader.init_worker()
    app.finalize()
    for name in SERVERS + LATER:
        importlib.import_module(name)
    _prepare_connections()
    leave_alone()


def _prepare_connections() -> None:
    """Let psycopg's adapters for Django be made once; nothing is connected yet."""
    from django.db import connections

    for connection in connections.all():
        connection.get_connection_params()


def load_models() -> None:
    """Load what the first scores of the cpu lane would load; an experiment's workers score by the same models."""
    from evalsvc.evaluations.tasks import load_lane_models as load

    gc.disable()
    load()
    leave_alone()


def leave_alone() -> None:
    """Keep the garbage collector from all that is here: it would write to each object, and no page stay shared."""
    gc.collect()
    gc.freeze()
    gc.enable()
