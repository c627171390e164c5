"""An installation on two hosts behind a proxy, and what its database holds in the end."""

from __future__ import annotations

import contextlib
import json
import re
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

from tests.conftest import wait_until
from tests.deploy.upgrade.balancer import balancing
from tests.deploy.upgrade.hosts import CLOCK, Host, servers
from tests.deploy.upgrade.load import Load
from tests.deploy.upgrade.next_release import built_next
from tests.deploy.upgrade.page import MIGRATE
from tests.deploy.upgrade.releases import Release, unpacked_previous

PORT = 18000
SEEN_SECONDS = 3
"""Until the proxy has asked a host that is back, as the page says."""
PENDING = "SELECT 1 FROM evaluations_evaluation WHERE status = 'pending' LIMIT 1"
ROWS = """
SELECT q.output, array_agg(e.id::text), array_agg(e.status)
FROM evaluations_evaluationrequest q JOIN evaluations_evaluation e ON e.request_id = q.id
WHERE q.id > %s GROUP BY q.id, q.output
"""


@dataclass(frozen=True)
class Site:
    """Two hosts that run one release or the other."""

    old: Release
    new: Release
    env: dict[str, str]
    hosts: list[Host]
    url: str
    ca_file: str
    key: str

    def migrate(self, release: Release) -> str:
        """Migrate as the page says; return what is printed."""
        return release.run(*MIGRATE, env=self.env)

    def roll(self, release: Release) -> None:
        """Go over to a release, host by host."""
        for host in self.hosts:
            host.replace(release)
            time.sleep(SEEN_SECONDS)

    def rows(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.env["DATABASE_MIGRATION_URL"]) as owner:
            return owner.execute(sql.encode(), values).fetchall()

    def last_id(self) -> int:
        return int(self.rows("SELECT coalesce(max(id), 0) FROM evaluations_evaluationrequest")[0][0])

    def n_written_by(self, since: int) -> dict[str, int]:
        """Return how many evaluations each release has scored: the new one alone knows how certain it is."""
        sql = "SELECT certainty IS NULL, count(*) FROM evaluations_evaluation WHERE id > %s GROUP BY 1"
        found = dict(self.rows(sql, since))
        return {"old": found.get(True, 0), "new": found.get(False, 0)}

    def check_nothing_is_lost(self, load: Load, since: int) -> None:
        """Each evaluation that somebody was told of is there once, and has its verdict; `verify` finds nothing."""
        assert {text: ids for text, ids in load.acknowledged.items() if len(ids) > 1} == {}
        wait_until(lambda: not self.rows(PENDING))
        rows = self.rows(ROWS, since)
        assert [text for text, n in Counter(text for text, _, _ in rows).items() if n > 1] == []
        assert {text: set(ids) for text, ids, _ in rows} == load.acknowledged
        assert {status for _, _, statuses in rows for status in statuses} == {"success"}
        for release in (self.old, self.new):
            assert json.loads(release.manage("verify", "--json", env=self.env)) == []


@contextlib.contextmanager
def running_site(folder: Path) -> Iterator[Site]:
    """Run the release before on both hosts, on its own schema, until the block ends."""
    old, new = unpacked_previous(folder / "old"), built_next(folder / "new")
    with servers() as env, contextlib.ExitStack() as stack:
        old.run(*MIGRATE, env=env)
        key = re.findall(r"ek_\S+", old.manage("create_account", "Acme", env=env))[-1]
        hosts = [
            Host("one", "127.0.0.1", folder / "one", env, ("cpu", "system", CLOCK), PORT),
            Host("two", "127.0.0.2", folder / "two", env, ("cpu", "judge", "experiments"), PORT),
        ]
        for host in hosts:
            stack.callback(host.stop)
            host.replace(old)
        front = stack.enter_context(balancing(folder / "proxy", [host.upstream for host in hosts]))
        yield Site(old, new, env, hosts, front.url, str(front.ca_file), key)
