"""How drills count, with made-up calls; and the settings that they ship. Nothing is started here."""

from __future__ import annotations

import configparser
import io
from dataclasses import replace
from pathlib import Path

import pytest

from deploy.drills import archive, servers
from deploy.drills.counting import (
    Accepted,
    Found,
    first_answer,
    longest_call,
    longest_pause,
    losses,
)
from deploy.drills.report import Report

# Answered at 1, 2, 3 and 4, each sent half a second before; evaluations 10 and 11, 20 and 21, ...
CALLS = [Accepted(f"call-{n}", n, (n * 10, n * 10 + 1), n - 0.5, n - 0.5, float(n)) for n in (1, 2, 3, 4)]
ALL = Found(
    {call.label: (call.request_id,) for call in CALLS}, {one: 1 for call in CALLS for one in call.evaluation_ids}
)


def without(*labels: str) -> Found:
    return replace(ALL, requests={label: ids for label, ids in ALL.requests.items() if label not in labels})


def test_nothing_is_lost_when_all_is_there() -> None:
    found = losses(CALLS, ALL)

    assert found.is_none
    assert (found.n_expected, found.n_found, found.between) == (4, 4, [])


def test_a_request_that_is_not_there_is_lost() -> None:
    assert losses(CALLS, without("call-2", "call-3")).lost == ["call-2", "call-3"]


def test_a_request_under_another_id_is_lost() -> None:
    """The caller fetches what it was promised by its id."""
    found = losses(CALLS, replace(ALL, requests={**ALL.requests, "call-1": (77,)}))

    assert (found.lost, found.double) == (["call-1"], [])


def test_a_verdict_without_a_score_is_lost() -> None:
    assert losses(CALLS, replace(ALL, scores={**ALL.scores, 31: 0})).lost == ["call-3"]
    assert losses(CALLS, replace(ALL, scores={})).n_found == 0


@pytest.mark.parametrize(
    "found",
    [replace(ALL, requests={**ALL.requests, "call-4": (4, 5)}), replace(ALL, scores={**ALL.scores, 41: 2})],
)
def test_what_counts_twice_is_double(found: Found) -> None:
    counted = losses(CALLS, found)

    assert (counted.lost, counted.double, counted.is_none) == ([], ["call-4"], False)


def test_only_what_was_answered_before_the_moment_must_be_there() -> None:
    found = losses(CALLS, without("call-2", "call-3", "call-4"), answered_before=2.2)

    assert (found.n_expected, found.lost) == (2, ["call-2"])
    assert (found.between, found.n_between_found) == (["call-3", "call-4"], 0)


def test_what_was_sent_after_the_moment_must_not_be_there() -> None:
    # Call 3 is sent at 2.5 and answered at 3: it may be there or not.
    found = losses(CALLS, ALL, answered_before=2.7, sent_after=2.7)

    assert (found.lost, found.too_late, found.between) == ([], ["call-4"], ["call-3"])
    assert not found.is_none
    assert losses(CALLS, without("call-4"), answered_before=2.7, sent_after=2.7).is_none


def test_answers_to_what_was_sent_before_do_not_end_an_outage() -> None:
    late = replace(CALLS[3], sent_at=5.0, answered_at=6.5)

    assert first_answer([*CALLS[:3], late], killed_at=2.4, dead_at=2.6) == pytest.approx(4.1)
    assert first_answer(CALLS, killed_at=4.0, dead_at=4.1) is None
    assert longest_pause([*CALLS[:3], late]) == pytest.approx(3.5)
    assert longest_call([*CALLS[:3], late]) == pytest.approx(3.0)
    assert (longest_pause([]), longest_call([])) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("found", "is_so", "code", "last"),
    [
        (ALL, True, 0, "Nothing was lost."),
        (without("call-2"), True, 1, "FAILED; lost: 1."),
        (ALL, False, 1, "FAILED; lost: 0."),
    ],
)
def test_the_exit_code_says_whether_something_is_wrong(
    tmp_path: Path, found: Found, is_so: bool, code: int, last: str
) -> None:
    report = Report("drill", out := io.StringIO())
    report.check("the key works", is_so, "it does not")
    report.lost("all", losses(CALLS, found))

    assert report.close(tmp_path / "summary.json") == code
    assert out.getvalue().endswith(f"{last}\n")
    assert report.summary()["losses"]["all"]["lost"] == len(losses(CALLS, found).lost)


def test_a_drill_that_counted_nothing_has_not_passed() -> None:
    assert Report("drill", io.StringIO()).close(None) == 1


def test_moments_are_written_to_the_second() -> None:
    assert archive.written(1795600000.0) == "2026-11-25 09:46:40+00"


def test_a_url_is_led_through_another_server() -> None:
    url = "postgresql://app:p%40ss@a:5433,b/evalsvc?target_session_attrs=read-write"

    assert servers.through(url, 6432) == "postgresql://app:p%40ss@127.0.0.1:6432/evalsvc"


def test_the_newest_postgresql_is_taken(tmp_path: Path) -> None:
    with pytest.raises(servers.ProgramMissing, match="apt-get install postgresql"):
        servers.postgres_programs(tmp_path)
    for version in ("9.6", "15", "17"):
        (tmp_path / version / "bin").mkdir(parents=True)
        (tmp_path / version / "bin" / "postgres").touch()

    assert servers.postgres_programs(tmp_path).parent.name == "17"


def test_a_program_that_is_missing_is_named_with_its_package() -> None:
    with pytest.raises(servers.ProgramMissing, match="apt-get install its-package"):
        servers.program("no-such-program-as-this", package="its-package")


def test_the_settings_that_are_shipped_say_what_the_page_explains() -> None:
    bouncer, backrest = configparser.ConfigParser(interpolation=None), configparser.ConfigParser(interpolation=None)
    bouncer.read(servers.HERE / "pgbouncer.ini")
    backrest.read(servers.HERE / "pgbackrest.conf")

    assert bouncer["pgbouncer"]["pool_mode"] == "transaction"
    assert int(bouncer["pgbouncer"]["server_login_retry"]) == 1
    assert backrest["evalsvc"]["pg1-path"].startswith("/var/lib/postgresql/")
