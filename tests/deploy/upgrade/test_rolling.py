"""Two hosts behind a proxy go over to the next release and back, under load: no call fails, and nothing is lost."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.conftest import wait_until
from tests.deploy.upgrade.balancer import balancing
from tests.deploy.upgrade.load import Load
from tests.deploy.upgrade.page import CHECK
from tests.deploy.upgrade.site import Site, running_site

pytestmark = [pytest.mark.deploy, pytest.mark.timeout(1500)]

N_CALLS = 2000
COLUMNS = "SELECT attname FROM pg_attribute WHERE attrelid = 'evaluations_evaluation'::regclass AND attnum > 0"
INDEXES = (
    "SELECT count(*), bool_and(indisvalid) FROM pg_index WHERE indexrelid::regclass::text ~ '^ix_evaluation_reviewed'"
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with running_site(tmp_path_factory.mktemp("site")) as site:
        yield site


@contextmanager
def under_load(site: Site, what: str) -> Iterator[Load]:
    """Call during the block, and on to so many calls; then look at every one of them."""
    load, since, began = Load(what, site.url, site.key, site.ca_file), site.last_id(), time.monotonic()
    with load.running():
        yield load
        print(f"{what}: done after {time.monotonic() - began:.0f} s")
        wait_until(lambda: load.n_all() >= N_CALLS)
    print(f"{what}: {load.n_all()} calls, {len(load.failures)} failed, the slowest took {load.slowest:.1f} s")
    print(f"{what}: {dict(load.n_calls)}, scored by {site.n_written_by(since)}")
    assert load.failures == []
    assert load.n_all() >= N_CALLS
    site.check_nothing_is_lost(load, since)


def test_an_upgrade_fails_nobody(site: Site) -> None:
    since = site.last_id()
    with under_load(site, "upgrade"):
        told = site.migrate(site.new)
        assert told.count("Applying evaluations.") >= 2
        site.roll(site.new)
        # For a moment all is done by the new release.
        time.sleep(5)

    assert {"certainty", "reviewed"} <= {name for (name,) in site.rows(COLUMNS)}
    [(n_indexes, all_valid)] = site.rows(INDEXES)
    assert (n_indexes > 4, all_valid) == (True, True)
    # Both have worked on the new schema.
    assert all(n > 100 for n in site.n_written_by(since).values())


def test_going_back_fails_nobody(site: Site) -> None:
    """On the schema that is there: no migration is undone."""
    since = site.last_id()
    with under_load(site, "rollback"):
        site.roll(site.old)
        assert "evalsvc.W004" in site.old.run(*CHECK, env=site.env)
        assert "No migrations to apply." in site.migrate(site.old)
        time.sleep(5)

    assert "no issues" in site.old.run(*CHECK, env=site.env)
    assert {"certainty", "reviewed"} <= {name for (name,) in site.rows(COLUMNS)}
    assert all(n > 100 for n in site.n_written_by(since).values())


def test_going_forward_again_fails_nobody(site: Site) -> None:
    since = site.last_id()
    with under_load(site, "again"):
        assert "No migrations to apply." in site.migrate(site.new)
        site.roll(site.new)
        time.sleep(5)

    assert all(n > 100 for n in site.n_written_by(since).values())


def test_it_would_be_noticed(site: Site, tmp_path: Path) -> None:
    """A proxy without the lines of the page goes on calling a host that is gone."""
    with balancing(tmp_path / "proxy", [host.upstream for host in site.hosts], lines="") as front:
        load = Load("planted", front.url, site.key, str(front.ca_file))
        with load.running():
            site.hosts[0].replace(site.new)
    print(f"without health checks: {len(load.failures)} of {load.n_all()} calls failed")
    assert {failure.why[:3] for failure in load.failures} == {"502"}
