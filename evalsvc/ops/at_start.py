"""What a process looks at before it serves: whether the database has the functions that this version calls."""

from __future__ import annotations

import logging

from django.db import Error as DatabaseError
from django.db import connections

from evalsvc.infra.functions import ForeignFunctions, check_functions
from evalsvc.tenancy.scope import APP

log = logging.getLogger(__name__)


def refuse_foreign_functions() -> None:
    """Exit if the functions of this version have never been installed in the database; call it before forking.

    If the database does not answer, the process continues: the first request will show it, and an outage must not
    prevent a start.
    """
    connection = connections[APP]
    try:
        warning = check_functions(connection)
    except ForeignFunctions as exc:
        raise SystemExit(f"evalsvc does not start. {exc}") from None
    except DatabaseError as exc:
        log.warning("cannot check the database for this version's functions: %s", type(exc).__name__)
        return
    finally:
        # Its threads would not be there in a fork.
        connection.close()
        connection.close_pool()  # type: ignore[attr-defined]
    if warning:
        log.warning("%s", warning)
