"""Each benchmark runs end to end in its smallest form, on one running service; `make bench` as a whole on two."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import psutil
import pytest

from benchmarks import batch, evaluate, experiments, history, queued, turns
from benchmarks.catalogue import BENCHMARKS
from benchmarks.figures import Row, figure
from benchmarks.frame import Report, parser
from benchmarks.slices import Failed, all_succeeded, check, requests_to, take
from benchmarks.versions import NOW, PARENT, NoSuchVersion, Side, checkout, name_of, sides
from evalsvc.local.supervisor.roster import WORKERS
from tests.conftest import CHECKOUT, alive, stop_group, wait_until

pytestmark = [pytest.mark.timeout(600), pytest.mark.slow]

BENCH = [sys.executable, "-m", "benchmarks"]
TINY = parser("", deadline=500).parse_args(["--tiny"])


@pytest.fixture(scope="module")
def service() -> Iterator[dict[str, Side]]:
    """One running service in the place of both versions."""
    with sides(["web", "queued"]) as versions:
        yield {NOW: versions[NOW], PARENT: versions[NOW]}
        processes = [one for root in versions[NOW].processes.values() for one in (root, *root.children(recursive=True))]
    assert len(processes) > 5
    wait_until(lambda: not alive(processes))


def measured(module: ModuleType, versions: dict[str, Side], **options: Any) -> dict[str, Row]:
    report = Report(module.__name__, 500)
    for name, value in options.items():
        setattr(TINY, name, value)
    module.rows(versions, TINY, report)
    return {row.name: row for row in report.rows}


def test_evaluate_has_ratio_and_cpu_time_of_both_versions(service: dict[str, Side]) -> None:
    rows = measured(evaluate, service, connections=[1, 2])

    for n in (1, 2):
        for name in (f"/v1/evaluate ÷ no-op, c = {n}", f"evaluate, c = {n}", f"CPU of one evaluate, c = {n}"):
            row = rows[name]
            assert row.now is not None and row.parent is not None and row.change is not None
            # The system counts CPU in ticks of 10 ms, and a part has few requests: one may have had none.
            assert 0 <= row.now.low <= row.now.median <= row.now.high and row.now.high > 0
            assert row.now.n == row.parent.n == row.change.n == 2
    assert rows["/v1/evaluate ÷ no-op, c = 1"].verdict
    assert {f"  of it {group}, c = 1" for group in ("web", "postgres", "valkey", "workers")} <= set(rows)


def test_the_queue_has_what_it_costs_on_top(service: dict[str, Side]) -> None:
    rows = measured(queued, service, connections=2)

    top = rows["five evaluators through Celery, on top of inline"]
    assert top.now is not None and top.now.n == 2
    assert rows["five evaluators through Celery"].now is not None
    workers = rows["  workers, in all"].now
    assert workers is not None and workers.high > 0


def test_a_batch_has_its_rows_a_second(service: dict[str, Side]) -> None:
    row = measured(batch, service)["batch of finished scores"]

    assert row.now is not None and row.now.low > 0


def test_figures_of_refused_requests_are_none(service: dict[str, Side]) -> None:
    with pytest.raises(Failed, match="401"):
        take(service[NOW], "web", requests_to("/v1/evaluate", evaluate.BODIES), n=1, seconds=0.1)


def test_a_200_that_says_what_is_wrong_is_not_measured(service: dict[str, Side]) -> None:
    unknown = evaluate.BODY | {"evaluators": [{"evaluator": "no-such-evaluator"}]}
    with pytest.raises(Failed, match="no-such-evaluator"):
        check(service[NOW], "web", requests_to("/v1/evaluate", [unknown], service[NOW]), all_succeeded)


def test_history_prints_ratios_and_errors(capsys: pytest.CaptureFixture[str]) -> None:
    assert history.main(["--tiny"]) == 0

    rows = json.loads(capsys.readouterr().out.splitlines()[-1])["rows"]
    assert sum("arch ÷ ours" in row["name"] for row in rows) == 4
    assert all(row["now"]["median"] > 0 for row in rows if row["unit"] == "x")
    assert {row["verdict"] for row in rows if row["unit"] == "SE"} == {"ok"}


def test_an_experiment_is_held_against_the_bare_loop_of_its_round() -> None:
    counts = {"recount_equal": True, "most_wasted_by_one": 0, "waste_limit": 10, "cpu_ms_per_query": 2.0}
    runs = [{"wall_s": 12.0, "queries": 100} | counts, {"wall_s": 33.0, "queries": 50} | counts]

    wall, cpu = experiments.rows_of(4, "race", experiments.compared(runs, [10.0, 60.0], 100))

    assert wall.now == figure([1.2, 1.1])
    assert cpu.now == figure([2.0, 2.0])
    assert wall.note == ""
    runs[0]["recount_equal"] = False
    assert "1 of 2 runs" in experiments.rows_of(4, "race", experiments.compared(runs, [10.0, 60.0], 100))[0].note


def test_experiments_end_with_walls_and_stops() -> None:
    command = [sys.executable, "-m", "benchmarks.experiments", "--tiny", "--deadline", "500"]

    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False, timeout=580)

    assert done.returncode == 0, done.stderr
    rows = {row["name"]: row for row in json.loads(done.stdout.splitlines()[-1])["rows"]}
    assert rows["experiment ÷ bare loop, manual, 4 at once"]["now"]["n"] == 1
    assert rows["experiment ÷ bare loop, manual, 4 at once"]["note"] == ""
    assert rows["stop, beyond one query"]["now"]["n"] == 2


def test_memory_is_told_of_every_part() -> None:
    command = [sys.executable, "-m", "benchmarks.memory", "--tiny", "--deadline", "400"]

    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False, timeout=580)

    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    rows = {row["name"]: row["now"]["median"] for row in found["rows"]}
    parts = ("postgres", "valkey", "web", "service", "supervisor", *(f"worker-{queue}" for queue in WORKERS))
    assert all(rows[f"under load: {name}"] > 0 for name in parts)
    assert rows["under load: whole stack"] > rows["idle"] > 100
    assert found["answers"].get("200", 0) > 0


def test_all_of_it_prints_one_table_and_writes_a_file(tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    command = [*BENCH, "--tiny", "--only", "batch", "--against", "HEAD", "--deadline", "500", "--json", str(file)]

    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False, timeout=560)

    assert done.returncode == 0, done.stderr
    found = json.loads(file.read_text())
    assert [row["name"] for row in found["rows"]] == ["batch of finished scores", "  CPU of a row"]
    assert "1 of 1, batch" in done.stdout
    assert "Meanwhile: load average" in done.stdout
    assert (found["rows"][0]["parent"] is None) == ("Without an older version" in done.stdout)
    assert found["left_out"] == []


def test_ctrl_c_leaves_nothing() -> None:
    process = subprocess.Popen(
        [*BENCH, "--only", "batch", "--against", "none"], cwd=CHECKOUT, stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    try:
        wait_until(lambda: len(children(process)) >= 4, seconds=200)
        below = children(process)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=200)
        assert process.returncode != 0
        wait_until(lambda: not alive(below))
    finally:
        stop_group(process)  # type: ignore[arg-type]


def children(process: subprocess.Popen[str]) -> list[psutil.Process]:
    return psutil.Process(process.pid).children(recursive=True)


def test_a_name_that_nobody_has_is_refused_before_anything_starts() -> None:
    done = subprocess.run([*BENCH, "--only", "evalute"], cwd=CHECKOUT, capture_output=True, text=True, check=False)

    assert done.returncode == 2
    assert "no benchmark is named evalute" in done.stderr
    assert all(name in done.stderr for name in BENCHMARKS)


def test_an_unknown_commit_is_no_version() -> None:
    with pytest.raises(NoSuchVersion):
        name_of("no-such-commit")
    with pytest.raises(NoSuchVersion), checkout("no-such-commit"):
        pass


def run_code(code: str, seconds: float = 60) -> Any:
    return turns.run([sys.executable, "-c", code], CHECKOUT, seconds)


def test_the_last_line_is_what_was_found() -> None:
    assert run_code("print('a line'); print('{\"rows\": []}')") == {"rows": []}


@pytest.mark.parametrize("code", ["print('{}'); raise SystemExit(3)", "print('no JSON')"])
def test_one_that_breaks_says_so(code: str) -> None:
    with pytest.raises(turns.Broken):
        run_code(code)


def test_runs_of_two_versions_become_one_row_each() -> None:
    now, parent = (
        [[Row("a", "s", figure([value]))] for value in values] for values in ((1.0, 2.0, 3.0), (2.0, 4.0, 6.0))
    )

    (row,) = turns.merged(now, parent)

    assert row.now == figure([1.0, 2.0, 3.0])
    assert row.parent == figure([2.0, 4.0, 6.0])
    assert row.change == figure([0.5, 0.5, 0.5])


def test_what_only_one_version_measures_stays() -> None:
    rows = turns.merged([[Row("a", "s", figure([1.0, 2.0, 6.0])), Row("b", "s", None)]], [])

    assert [row.now for row in rows] == [figure([1.0, 2.0, 6.0]), None]
    assert [row.parent for row in rows] == [None, None]
