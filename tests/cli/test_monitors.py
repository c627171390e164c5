"""`evalsvc rules`, `monitors` and `alarms`: score live spans, watch a history, and look after what was detected."""

from __future__ import annotations

from typing import Any

import pytest

from evalsvc.monitors.scores import FAILED_AT
from evalsvc.tenancy.scope import SYSTEM
from tests.caller import Caller
from tests.cli.inside import invoke, told
from tests.evaluations.histories import insert
from tests.monitors.shapes import advance, get, new_alarm, send, verdicts
from tests.rules.shapes import answered, new_rule, run
from tests.rules.shapes import send as send_spans

RANGE = ("--since", "2020-01-01T00:00:00Z", "--until", "2030-01-01T00:00:00Z")


def create(shell: dict[str, str], *options: str) -> Any:
    return told(invoke("rules", "create", "answers", *options, "--json", env=shell))["rule"]


def test_a_rule_has_its_filter_sampling_and_cap(shell: dict[str, str]) -> None:
    rule = create(
        shell,
        *("-e", "pii/patronus:detect-pii", "--filter", "kind=llm", "--filter", "kind=tool"),
        *("--filter", "service_name=shop", "--filter", "attributes.tier=gold", "--map", "input=/attributes/question"),
        *("--rate", "0.25", "--by", "session", "--cap-per-hour", "500", "--app", "shop", "--tag", "team=a", "--paused"),
    )

    assert rule["filter"] == {"kind": ["llm", "tool"], "service_name": "shop", "attributes": {"tier": "gold"}}
    assert rule["mapping"] == {"input": "/attributes/question"}
    assert rule["evaluators"] == [{"evaluator": "pii", "criteria": "patronus:detect-pii"}]
    assert (rule["sampling"], rule["cap_per_hour"], rule["state"]) == ({"rate": 0.25, "by": "session"}, 500, "paused")
    assert (rule["app"], rule["tags"]) == ("shop", {"team": "a"})
    shown = invoke("rules", "show", "answers", env=shell).stdout.splitlines()
    assert shown[0] == f"answers: paused, 0 scored, 0 dropped; rule {rule['id']}"
    assert shown[1].endswith("; 25.0 % of the sessions, 500 an hour at most")
    assert shown[2] == "  evaluators: pii/patronus:detect-pii"


def test_a_rule_has_strata(shell: dict[str, str]) -> None:
    strata = ("--stratum", "status=error:1", "--stratum", "kind=llm,attributes.tier=gold:0.5")
    rule = create(shell, "-e", "pii", "--rate", "0.05", *strata)
    raised = told(invoke("rules", "update", "answers", "--rate", "0.1", "--json", env=shell))["rule"]
    wrong = invoke("rules", "update", "answers", "--stratum", "status=error", env=shell)

    assert rule["sampling"]["strata"] == [
        {"filter": {"status": "error"}, "rate": 1.0},
        {"filter": {"kind": "llm", "attributes": {"tier": "gold"}}, "rate": 0.5},
    ]
    assert raised["sampling"] == rule["sampling"] | {"rate": 0.1}
    assert invoke("rules", "show", "answers", env=shell).stdout.splitlines()[2] == '    {"status": "error"}: 100.0 %'
    assert (wrong.exit_code, "status=error:1" in wrong.stderr) == (2, True)


def test_a_rule_is_changed_paused_and_deleted(shell: dict[str, str]) -> None:
    id = create(shell, "-e", "pii", "--rate", "0.25", "--by", "session", "--cap-per-hour", "5")["id"]

    changed = told(
        invoke("rules", "update", "answers", "--name", "all", "--rate", "1", "--no-cap", "--json", env=shell)
    )["rule"]
    paused = invoke("rules", "pause", "all", env=shell).stdout
    resumed = invoke("rules", "resume", id, env=shell).stdout
    listed = invoke("rules", "list", env=shell).stdout
    deleted = told(invoke("rules", "delete", "all", "--json", env=shell))

    assert (changed["sampling"], changed["cap_per_hour"]) == ({"rate": 1.0, "by": "session"}, None)
    assert paused.startswith("all: paused, ")
    assert resumed == listed == f"all: active, 0 scored, 0 dropped; rule {id}\n"
    assert deleted == {"rule_id": id, "deleted": True}
    gone = invoke("rules", "show", "all", env=shell)
    assert (gone.exit_code, "There is no rule named 'all'" in gone.stderr) == (2, True)


def test_a_rule_without_an_evaluator_or_with_an_unknown_field_is_refused(shell: dict[str, str]) -> None:
    bare = invoke("rules", "create", "answers", env=shell)
    unknown = invoke("rules", "create", "answers", "-e", "pii", "--filter", "colour=red", env=shell)

    assert (bare.exit_code, "Pass -e EVALUATOR" in bare.stderr) == (2, True)
    assert (unknown.exit_code, "colour" in unknown.stderr) == (2, True)
    assert invoke("rules", "list", env=shell).stdout == ""


def test_stored_spans_become_examples_of_a_dataset(shell: dict[str, str], alice: Caller) -> None:
    spans = [answered("Ada.", kind="LLM", question="Who was first?"), answered(None, kind="LLM"), answered("step")]
    send_spans(alice, *spans)
    parts = ("--filter", "kind=llm", "--map", "input=/attributes/question", "--rate", "1")
    done = invoke("rules", "dataset", "traffic", *parts, *RANGE, env=shell)
    new_rule(alice, filter={"kind": "llm"})
    again = told(invoke("rules", "dataset", "traffic", "--rule", "answers", "--json", env=shell))["spans"]
    both = invoke("rules", "dataset", "traffic", "--rule", "answers", "--filter", "kind=llm", env=shell)

    assert done.exit_code == 0, done.output
    first, second, third = done.stdout.splitlines()
    assert first == "1 added, 1 no_output; version 1 has 1 examples"
    label = f"trace {spans[1]['traceId']}, span {spans[1]['spanId']}"
    assert second == f"{label}: dropped (no output: The span has no output.)"
    assert third.startswith(f"{shell['EVALSVC_URL']}/console/{alice.account.pk}/datasets/")
    assert (again["n_added"], again["n_unchanged"], again["n_left_out"]) == (0, 1, {"no_output": 1})
    assert (both.exit_code, "Pass --rule, or --filter and --map." in both.stderr) == (2, True)


def test_a_long_search_is_continued(shell: dict[str, str], alice: Caller) -> None:
    for output in ("a", "b", "c"):
        send_spans(alice, answered(output))
    first = invoke("rules", "dataset", "traffic", "--limit", "2", env=shell).stdout.splitlines()
    cursor = first[1].removeprefix("Older spans are left: --cursor ")
    rest = told(invoke("rules", "dataset", "traffic", "--cursor", cursor, "--json", env=shell))["spans"]
    assert (first[0], rest["n_added"]) == ("2 added; version 1 has 2 examples", 1)


@pytest.mark.parametrize(
    ("since", "n_added"),
    [
        ("2026-02-02", 1),
        ("2026-02-02T02:40Z", 1),
        ("2026-02-02T02:40", 1),
        ("2026-02-02T03:40+01:00", 1),
        ("2026-02-02T02:40:00.5Z", 0),
        ("2026-02-03", 0),
    ],
)
def test_a_time_is_given_in_iso_8601(shell: dict[str, str], alice: Caller, since: str, n_added: int) -> None:
    # The spans began at 02:40 on 2 February.
    send_spans(alice, answered("Ada.", session__id="s"))
    rule = new_rule(alice)
    backfill = told(invoke("rules", "backfill", rule["name"], "--since", since, *RANGE[2:], "--json", env=shell))
    run(alice, rule)
    added = invoke("rules", "dataset", "traffic", "--since", since, "--json", env=shell)
    talks = invoke("conversations", "talks", "--since", since, "--include-open", "--json", env=shell)

    assert backfill["backfill"]["state"] == "running"
    assert "is no time" not in added.output + talks.output
    assert (added.exit_code, "No conversations match" in talks.output) == ((0, False) if n_added else (2, True)), (
        added.output + talks.output
    )


@pytest.mark.parametrize("text", ["yesterday", "2026-13-01", "1770000000", "0001-01-01T00:00+14:00"])
def test_a_time_that_is_none_is_refused(shell: dict[str, str], text: str) -> None:
    for command in (["rules", "dataset", "a"], ["conversations", "a"], ["import", "patronus"]):
        done = invoke(*command, "--since", text, env=shell)
        assert (done.exit_code, "is no time in ISO 8601" in done.stderr) == (2, True), done.output


def test_stored_spans_are_previewed_scored_and_listed(shell: dict[str, str], alice: Caller) -> None:
    send_spans(alice, answered("Ada.", kind="LLM"), answered(None, kind="LLM"))
    preview = invoke("rules", "preview", "--filter", "kind=llm", "-e", "pii", env=shell).stdout.splitlines()
    rule = new_rule(alice, filter={"kind": "llm"})

    backfill = told(invoke("rules", "backfill", "answers", *RANGE, "--json", env=shell))["backfill"]
    run(alice, rule)
    shown = invoke("rules", "show", "answers", env=shell).stdout.splitlines()
    spans = invoke("rules", "spans", "answers", env=shell).stdout.splitlines()
    dropped = told(invoke("rules", "spans", "answers", "--reason", "no_output", "--json", env=shell))["spans"]

    assert sorted(line.partition(": ")[2].startswith('{"input": "Who?"') for line in preview) == [False, True]
    assert backfill["state"] == "running"
    assert shown[0] == f"answers: active, 1 scored, 1 dropped (1 no output); rule {rule['id']}"
    assert shown[3].startswith("  backfill 2020-01-01T00:00:00")
    assert shown[3].endswith(": finished, 1 scored, 1 dropped")
    assert sorted("request " in line for line in spans) == [False, True]
    assert [span["reason"] for span in dropped] == ["no_output"]
    nothing = invoke("rules", "preview", "--filter", "service_name=elsewhere", env=shell).stdout
    assert nothing.startswith("Nothing matches; ")


def test_a_monitor_is_previewed_created_and_steered(shell: dict[str, str], alice: Caller) -> None:
    send(alice, verdicts(100, 10), app="shop")
    watched = ("answers", "-e", "exact-match", "--app", "shop", "--mean-run", "500")

    preview = invoke("monitors", "preview", *watched, env=shell)
    before = invoke("monitors", "list", env=shell).stdout
    monitor = told(invoke("monitors", "create", *watched, "--json", env=shell))["monitor"]

    assert (preview.exit_code, before) == (0, ""), preview.output
    history, baseline, mean_run = preview.stdout.splitlines()
    assert history.endswith("(patronus:exact-match) for a drop of the pass rate")
    assert baseline.startswith("  baseline 0.900 [0.8") and baseline.endswith("] at 95 %, n = 100 scores, 100 scores")
    assert mean_run == "  mean run: 500 scores between two false alarms, at least"
    assert (monitor["scope"], monitor["mean_run"]) == ({"app": "shop"}, 500)
    assert invoke("monitors", "pause", "answers", env=shell).stdout.startswith("answers: paused, 0 scores read; ")
    assert invoke("monitors", "resume", monitor["id"], env=shell).stdout.startswith("answers: active, ")
    again = told(invoke("monitors", "rebaseline", "answers", "--baseline-scores", "60", "--json", env=shell))
    assert again["monitor"]["baseline"]["n_scores"] == 60
    assert invoke("monitors", "show", "answers", env=shell).stdout.splitlines()[0].endswith(f"monitor {monitor['id']}")
    assert told(invoke("monitors", "delete", "answers", "--json", env=shell))["monitor_id"] == monitor["id"]
    assert invoke("monitors", "list", "--state", "active", env=shell).stdout == ""


def test_a_monitor_of_slow_evaluations_with_a_limit(shell: dict[str, str], alice: Caller) -> None:
    slow = ("slow", "-e", "exact-match", "--estimand", "latency", "--above", "2", "--limit", "0.05")
    lines = invoke("monitors", "create", *slow, env=shell).stdout.splitlines()

    assert lines[1].endswith(" for a rise of the latency above 2")
    assert lines[2] == "  limit 0.05, without a baseline"
    insert(alice, [0.5] * 30, passed=None)
    undecided = told(invoke("monitors", "create", "few", "-e", "exact-match", "--limit", "0.9", "--json", env=shell))
    insert(alice, [0.5] * 30, passed=None)
    advance()
    shown = invoke("monitors", "show", undecided["monitor"]["id"], env=shell).stdout.splitlines()
    assert ", 30 scores read, 30 of them undecided, nothing to compare; " in shown[0]
    assert shown[-1] == "  Nothing to compare: since the last score with a value, 30 undecided."
    row = get(undecided["monitor"]["id"])
    row.progress[FAILED_AT] = "2026-11-30T00:00:00+00:00"
    row.save(using=SYSTEM)
    shown = invoke("monitors", "show", "few", env=shell).stdout.splitlines()
    assert shown[-1] == "  An error has stopped this monitor. The service tries again."


def test_a_monitor_of_volume_has_a_window_and_no_mean_run(shell: dict[str, str]) -> None:
    alive = ("alive", "-e", "exact-match", "--estimand", "volume", "--limit", "1", "--period-minutes", "360")
    lines = invoke("monitors", "create", *alive, env=shell).stdout.splitlines()

    assert lines[1].endswith(" for a drop of the volume")
    assert lines[2:] == ["  limit 1 in 360 minutes, without a baseline"]
    missing = invoke("monitors", "create", *alive[:-2], env=shell)
    assert missing.exit_code != 0 and "period_minutes" in missing.stderr


def test_unequal_sampling_rates_are_shown(shell: dict[str, str], alice: Caller) -> None:
    for sample in range(60):
        for probability in (0.5, 1.0):
            insert(alice, [float(sample % 5 > 0)], probability=probability, sample_hash=sample)
    lines = invoke("monitors", "preview", "p", "-e", "exact-match", "--unit", "sample", env=shell).stdout.splitlines()
    assert any("different sampling rates" in line for line in lines)
    lines = invoke("monitors", "preview", "p", "-e", "exact-match", "--unit", "score", env=shell).stdout.splitlines()
    assert lines[1].endswith("n = 120 scores, 120 scores of unequal sampling rates, worth 108")


def test_a_monitor_of_too_few_scores_or_two_scopes_is_refused(shell: dict[str, str], alice: Caller) -> None:
    send(alice, verdicts(100, 10), app="shop")

    few = invoke("monitors", "create", "few", "-e", "exact-match", "--app", "elsewhere", env=shell)
    both = invoke("monitors", "create", "both", "-e", "exact-match", "--app", "shop", "--tag", "model=small", env=shell)

    assert (few.exit_code, both.exit_code) == (2, 2), both.output
    assert invoke("monitors", "list", env=shell).stdout == ""


def test_an_alarm_fails_a_check_until_it_is_acknowledged(shell: dict[str, str], alice: Caller) -> None:
    quiet = invoke("alarms", "list", "--open", "--check", env=shell)
    id = new_alarm(alice, app="shop")["id"]

    listed = invoke("alarms", "list", "--open", env=shell)
    checked = invoke("alarms", "list", "--open", "--check", env=shell)
    shown = invoke("alarms", "show", id, env=shell).stdout
    acknowledged = invoke("alarms", "acknowledge", id, env=shell)

    assert (quiet.exit_code, quiet.stdout) == (0, "")
    assert (listed.exit_code, checked.exit_code, checked.stdout) == (0, 1, listed.stdout)
    assert listed.stdout.startswith(f"{id}  open: watched, ")
    assert ". The pass rate dropped from 90.0 % to " in listed.stdout
    assert "\n  evaluations, the worst first: " in shown
    assert acknowledged.stdout.startswith(f"{id}  acknowledged: watched, ")
    assert invoke("alarms", "list", "--open", "--check", env=shell).exit_code == 0
    unresolved = told(invoke("alarms", "list", "--unresolved", "--monitor", "watched", "--json", env=shell))["alarms"]
    assert [alarm["id"] for alarm in unresolved] == [id]
    assert told(invoke("alarms", "resolve", id, "--json", env=shell))["alarm"]["reason"] == "person"
    assert invoke("alarms", "list", "--unresolved", env=shell).stdout == ""


def test_a_stranger_finds_none_of_it(shell: dict[str, str], alice: Caller, charlie: Caller) -> None:
    id = new_alarm(alice)["id"]
    new_rule(alice)
    strange = shell | {"EVALSVC_API_KEY": charlie.key}

    for words in (("rules", "list"), ("monitors", "list"), ("alarms", "list", "--check")):
        assert (invoke(*words, env=strange).exit_code, invoke(*words, env=strange).stdout) == (0, "")
    assert invoke("alarms", "resolve", id, env=strange).exit_code == 2
