"""A port where a worker on a machine of its own gives its figures; web processes give theirs at `/metrics`."""

from __future__ import annotations

import os

from prometheus_client import REGISTRY, CollectorRegistry, start_http_server
from prometheus_client.multiprocess import MultiProcessCollector


def build_registry() -> CollectorRegistry:
    """Return what is counted: by this process, or by all that share PROMETHEUS_MULTIPROC_DIR."""
    if not os.environ.get("PROMETHEUS_MULTIPROC_DIR"):
        return REGISTRY
    registry = CollectorRegistry()
    MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return registry


def open_port() -> None:
    """Serve metrics on EVALSVC_WORKER_METRICS_PORT in a thread, without authentication; do nothing if it is not set."""
    if port := int(os.environ.get("EVALSVC_WORKER_METRICS_PORT") or 0):
        start_http_server(port, addr=os.environ.get("EVALSVC_HOST", "127.0.0.1"), registry=build_registry())
