"""What a process looks at before it serves: whether the database has the functions that this version calls."""

from __future__ import annotations

import logging

from django.db import Error as DatabaseError
from django.db import connections

from evalsvc.infra.functions import ForeignFunctions, check_functions
from evalsvc.tenancy.scope import APP

log = logging.getLogger(__name__)


def refuse_foreign_functions() -> None:
    """End this process where the database has never had its functions; to be called before it forks others.

    Without an answer it goes on: it finds out with the first request, and no outage keeps a service from starting.
    """
    connection = connections[APP]
    try:
        told = check_functions(connection)
    except ForeignFunctions as exc:
        raise SystemExit(f"evalsvc does not start. {exc}") from None
    except DatabaseError as exc:
        log.warning("whether the database has this version's functions is not known: %s", type(exc).__name__)
        return
    finally:
        # Its threads would not be there in a fork.
        connection.close()
        connection.close_pool()  # type: ignore[attr-defined]
    if told:
        log.warning("%s", told)
