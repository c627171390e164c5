"""Import once what every process of the service needs."""

import gc
import importlib

from evalsvc.stats.basics.scipy_modules import import_scipy

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
    "evalsvc.ops.serving.web_worker",
    "kombu.transport.redis",
    "evalsvc.ops.liveness.alive",
    "evalsvc.ops.liveness.heartbeat",
    "evalsvc.preload.clock",
)
# Modules that each process would otherwise import later, at some request: `openai` takes 35 MB.
LATER = (
    "anyio._backends._asyncio",
    "celery.app.routes",
    "celery.events.dispatcher",
    "celery.events.receiver",
    "evalsvc.evaluations.workers.judging.host",
    "evalsvc.evaluations.workers.judging.runner",
    "evalsvc.judges.calls.transport",
    "httpcore2",
    "phonenumbers",
    "truststore",
)


def import_service() -> None:
    """Set Django up and import views, tasks and servers, without a connection to anything."""
    # Imports make no garbage, and a collector that looks for some takes a tenth of the time.
    gc.disable()
    importlib.import_module("evalsvc.wsgi")
    from django.urls import get_resolver

    from evalsvc.celery import app

    _ = get_resolver().url_patterns
    # Celery remembers this call. Otherwise each worker would set up Django and its logging again, and write to 4 MB.
    app.loader.init_worker()
    app.finalize()
    for name in SERVERS + LATER:
        importlib.import_module(name)
    import_scipy()
    _prepare_connections()
    freeze_gc()


def _prepare_connections() -> None:
    """Make psycopg's adapters for Django once, for all processes. This opens no connection."""
    from django.db import connections

    for connection in connections.all():
        connection.get_connection_params()


def load_models() -> None:
    """Load the models that the first scores of the cpu lane need. Workers of experiments use the same models."""
    from evalsvc.evaluations.tasks import load_lane_models as load

    gc.disable()
    load()
    freeze_gc()


def freeze_gc() -> None:
    """Exclude all present objects from garbage collection: it writes to each, and no page would stay shared."""
    gc.collect()
    gc.freeze()
    gc.enable()
