"""Pages by offset of lists that grow at their beginning: no row comes twice, though others are added in between."""

from __future__ import annotations

import hashlib
import logging
from dataclasses import dataclass
from typing import Any, TypeVar

from django.db.models import Max, Model, Q, QuerySet
from redis.exceptions import RedisError

from evalsvc.infra.redis import get_shared_client

log = logging.getLogger(__name__)
Row = TypeVar("Row", bound=Model)
PREFIX = "evalsvc:first_page:"
KEPT_SECONDS = 600


@dataclass(frozen=True, slots=True)
class OffsetList:
    """A list, its filters and who reads it, as a text; and the column that grows with each row that is added.

    A page with an offset continues the list as it was when the same reader asked for its first page, up to ten minutes
    before. Without Redis it may shift.
    """

    name: str
    by: str = "created_at"

    @property
    def key(self) -> str:
        """Return where Redis keeps the newest row of the first page."""
        return PREFIX + hashlib.sha256(self.name.encode()).hexdigest()

    def take_page(self, rows: QuerySet[Row], *, limit: int, offset: int) -> QuerySet[Row]:
        """Return a page of the rows, in their order."""
        if offset:
            return self.continue_list(rows)[offset : offset + limit]
        page = rows[:limit]
        if limit and len(page) == limit:
            self.begin_list(rows)
        return page

    def begin_list(self, rows: QuerySet[Row]) -> None:
        """Keep which row is the newest, for the pages after the first."""
        self.keep_newest(rows.order_by().aggregate(newest=Max(self.by))["newest"])

    def keep_newest(self, newest: object) -> None:
        """Keep up to which value of the column rows were there at the first page."""
        try:
            get_shared_client().set(self.key, str(newest), ex=KEPT_SECONDS)
        except RedisError:
            log.warning("the pages of a list may shift: Redis does not answer")

    def continue_list(self, rows: QuerySet[Row]) -> QuerySet[Row]:
        """Return the rows that were there at the first page."""
        return rows.filter(self.read_condition())

    def read_condition(self) -> Q:
        """Return what the rows that were there at the first page meet; nothing where that is not known any more."""
        try:
            newest: Any = get_shared_client().get(self.key)
        except RedisError:
            log.warning("a page of a list may shift: Redis does not answer")
            return Q()
        return Q() if newest is None else Q(**{f"{self.by}__lte": newest.decode()})
