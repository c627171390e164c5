"""Addresses for operators: is it alive, is it ready, how is it doing; and the front door for people."""

from __future__ import annotations

import hmac
import os
from functools import cache

from django.conf import settings
from django.db import connections
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe
from kombu.connection import Connection as BrokerConnection
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from redis.exceptions import RedisError

from evalsvc.codes import EVALUATION_ERRORS, PROBLEMS
from evalsvc.infra.redis import get_shared_client
from evalsvc.local.supervisor.backends import broker_url
from evalsvc.local.supervisor.roster import START_HEADER, START_VARIABLE
from evalsvc.ops.liveness import alive
from evalsvc.ops.metering.installation import Installation
from evalsvc.ops.metering.port import build_registry
from evalsvc.ops.serving.drain import draining
from evalsvc.tenancy.scope import APP

BROKER_SECONDS = 1


@require_safe
def healthz(request: HttpRequest) -> HttpResponse:
    """Return 200 if the process responds; no dependency is checked, so that a slow database restarts no web process."""
    return JsonResponse({"status": "ok"})


@require_safe
def readyz(request: HttpRequest) -> HttpResponse:
    """Return whether requests can be served: 200, or 503 with the part that is missing.

    A draining process returns 503 and `draining`. Without workers or their broker the status is 200 and `degraded`:
    requests that need them are stored, and processed once they are available again.
    """
    needed = {"database": database_takes_writes(), "redis": redis_answers()}
    working: dict[str, bool | None] = {"broker": needed["redis"] if broker_is_redis() else broker_answers()}
    working |= workers_answer() if needed["redis"] else dict.fromkeys(alive.PARTS)
    ready, complete = all(needed.values()), all(working.values())
    leaving = draining.is_on()
    words = {True: "ok", False: "down", None: "unknown"}
    body = {
        "status": ("unavailable" if not ready else "draining" if leaving else "ready" if complete else "degraded"),
        **{name: words[up] for name, up in (needed | working).items()},
    }
    answer = JsonResponse(body, status=200 if ready and not leaving else 503)
    if start := os.environ.get(START_VARIABLE):
        answer.headers[START_HEADER] = start
    return answer


def database_takes_writes() -> bool:
    """Return whether PostgreSQL answers, takes writes, and has the rows of the migrations."""
    try:
        with connections[APP].cursor() as cursor:
            cursor.execute(
                "SELECT count(*) > 0 AND NOT current_setting('transaction_read_only')::boolean"
                " FROM catalog_profile WHERE account_id IS NULL"
            )
            return bool(cursor.fetchone()[0])
    except Exception:  # a probe reports every failure as its answer
        return False


def redis_answers() -> bool:
    """Return whether Redis answers."""
    try:
        return bool(get_shared_client().ping())
    except Exception:  # a probe reports every failure as its answer
        return False


def broker_is_redis() -> bool:
    """Return whether the queues are on the server of REDIS_URL."""
    return settings.CELERY_BROKER_URL.partition("?")[0] in (
        settings.REDIS_URL.partition("?")[0],
        broker_url(settings.REDIS_URL).partition("?")[0],
    )


def broker_answers() -> bool:
    """Connect to the broker, for a second at most."""
    try:
        with BrokerConnection(settings.CELERY_BROKER_URL, connect_timeout=BROKER_SECONDS) as connection:  # type: ignore[no-untyped-call]
            connection.connect()
    except Exception:  # a probe reports every failure as its answer
        return False
    return True


def workers_answer() -> dict[str, bool | None]:
    """Return whether the workers of each queue, and the clock, are running; None for each if Redis does not answer."""
    try:
        n_alive = alive.alive()
    except RedisError:
        return dict.fromkeys(alive.PARTS)
    return {part: n_alive[part] > 0 for part in alive.PARTS}


@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Return Prometheus metrics of all web processes; requires EVALSVC_METRICS_KEY as a bearer token."""
    offered = request.META.get("HTTP_AUTHORIZATION", "").removeprefix("Bearer ")
    if not settings.METRICS_KEY or not hmac.compare_digest(offered.encode(), settings.METRICS_KEY.encode()):
        raise Http404
    text = generate_latest(build_registry()) + generate_latest(_installation())
    return HttpResponse(text, content_type=CONTENT_TYPE_LATEST)


@cache
def _installation() -> CollectorRegistry:
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Installation())
    return registry


@require_safe
def error_page(request: HttpRequest) -> HttpResponse:
    """Show every error code, where the `type` of a problem leads."""
    return render(
        request, "ops/errors.html", {"problems": PROBLEMS.values(), "evaluation_errors": EVALUATION_ERRORS.values()}
    )


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """Redirect signed-in users to the console, and everyone else to the sign-in page."""
    return redirect("console_start" if request.user.is_authenticated else "account_login")
