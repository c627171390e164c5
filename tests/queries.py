"""What a page or a call asks the databases."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

from django.db import connections
from django.test.utils import CaptureQueriesContext

NO_QUERIES = ("SAVEPOINT", "RELEASE", "SELECT set_config", "BEGIN", "COMMIT", "ROLLBACK")


def queries_of(ask: Callable[[], object]) -> list[str]:
    """What is asked of rows, whatever role it is asked as; transactions, savepoints and scopes are no questions."""
    with ExitStack() as roles:
        heard = [roles.enter_context(CaptureQueriesContext(one)) for one in connections.all()]
        ask()
    said = [str(one["sql"]) for capture in heard for one in capture.captured_queries]
    return [sql for sql in said if not sql.startswith(NO_QUERIES)]
