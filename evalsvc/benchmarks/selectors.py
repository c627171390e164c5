"""Queries for benchmarks and their executions, always limited to one account."""

from __future__ import annotations

from django.db.models import QuerySet

from evalsvc.accounts.models import Account
from evalsvc.benchmarks.models import Benchmark, Execution
from evalsvc.rest.problems import NotFound


def list_benchmarks(*, account: Account) -> QuerySet[Benchmark]:
    """Return the account's benchmarks."""
    return Benchmark.objects.filter(account=account).select_related("dataset_version__dataset")


def get_benchmark(*, account: Account, id: int, lock: bool = False) -> Benchmark:
    """Return a benchmark of the account. Raises NotFound if it is missing or of another account."""
    rows = Benchmark.objects.select_for_update() if lock else list_benchmarks(account=account)
    benchmark = rows.filter(account=account, id=id).first()
    if benchmark is None:
        raise NotFound()
    return benchmark


def list_executions(*, account: Account, benchmark: Benchmark) -> QuerySet[Execution]:
    """Return the executions of a benchmark."""
    return Execution.objects.filter(account=account, benchmark=benchmark).select_related("experiment__plan")
