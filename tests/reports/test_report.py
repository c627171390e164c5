"""GET /v1/experiments/{id}/report: every number as the API has it, in three forms, whatever texts are in it."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import pytest

from evalsvc.accounts.access.permits import MOST
from tests.conftest import Caller
from tests.experiments.conftest import live
from tests.experiments.pushing import Runner
from tests.factories import EXACT, make_dataset, make_experiment, ok
from tests.reports.shapes import HOSTILE, answer_of, page, report, reported_experiment, work_off
from tests.rest.shapes import assert_problem

ALLOWED = {
    *("html", "head", "meta", "title", "style", "body", "main", "section", "h1", "h2", "h3", "p", "span", "div"),
    *("table", "caption", "thead", "tbody", "tr", "th", "td", "dl", "dt", "dd", "pre", "article"),
    *("svg", "line", "circle", "text"),
}


class Tags(HTMLParser):
    """Which elements and attributes a page has, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture(scope="module")
def made(module_alice: Caller) -> Any:
    return reported_experiment(module_alice)


@pytest.fixture(scope="module")
def module_alice() -> Caller:
    from tests.conftest import new_caller

    return new_caller(name="reports")


def test_every_number_is_that_of_the_live_view(module_alice: Caller, made: Any) -> None:
    found = report(module_alice, made["id"])

    assert found["live"] == live(module_alice, made["id"])
    assert found["plan"] == ok(module_alice.get(f"/v1/experiments/{made['id']}"))["experiment"]["plan"]
    front = ok(module_alice.get(f"/v1/experiments/{made['id']}/pareto?metrics=accuracy,brevity"))
    names = {config["id"]: config["values"]["brevity"] for config in front["configs"]}
    assert {config["id"]: config["values"]["brevity"] for config in found["pareto"]["configs"]} == names


def test_the_quantiles_are_those_of_the_metric(module_alice: Caller, made: Any) -> None:
    found = report(module_alice, made["id"])

    for config in found["live"]["configs"]:
        assert found["measured"][config["id"]]["latency_ms"]["quantiles"] == config["metrics"]["latency"]["quantiles"]


def test_the_summary_says_who_leads(module_alice: Caller, made: Any) -> None:
    summary = report(module_alice, made["id"])["summary"]

    assert (summary["leader"], summary["primary_metric"], summary["n_configs"]) == ("k=7", "accuracy", 3)
    assert summary["estimate"]["value"] == pytest.approx(34 / 40)
    assert summary["estimate"]["lower"] < 34 / 40 < summary["estimate"]["upper"]


def test_the_worst_examples_are_few_and_the_lowest(module_alice: Caller, made: Any) -> None:
    found = report(module_alice, made["id"])
    assert [one["scores"]["accuracy"]["value"] for one in found["worst_examples"]] == [0.0] * 3
    assert {one["config"] for one in found["worst_examples"]} == {"k=7"}

    assert len(report(module_alice, made["id"], "n_examples=5")["worst_examples"]) == 5
    assert report(module_alice, made["id"], "n_examples=0")["worst_examples"] == []


def test_the_instructive_ones_are_those_that_configs_answer_differently(module_alice: Caller, made: Any) -> None:
    for one in report(module_alice, made["id"])["instructive_examples"]:
        values = [answer["scores"]["accuracy"]["value"] for answer in one["answers"]]
        assert (one["spread"], max(v for v in values if v is not None)) == (1.0, values[0])


def test_errors_are_counted_by_type(module_alice: Caller, made: Any) -> None:
    outputs = [one for one in report(module_alice, made["id"])["errors"] if one["metric"] is None]

    assert [(one["config"], one["error_type"], one["n"]) for one in outputs] == [("k=5", "timeout", 4)]


def test_the_sweep_has_the_knobs_that_differ(module_alice: Caller, made: Any) -> None:
    sweep = report(module_alice, made["id"])["sweep"]

    assert (sweep["knobs"], [row["values"]["k"] for row in sweep["rows"]]) == (["k"], [7, 5, 2])


def test_slices_are_those_of_aggregates(alice: Caller) -> None:
    examples = [{"input": f"{i}", "expected": "x", "metadata": {"topic": "ab"[i % 2]}} for i in range(20)]
    made = make_experiment(alice, make_dataset(alice, examples), [{"name": "a", "kind": "push"}])
    Runner(alice, made).run(lambda example: "x" if int(example["input"]) % 4 else "y")

    found = report(alice, made["id"], "by=metadata.topic")
    assert found["slices"] == ok(alice.get(f"/v1/experiments/{made['id']}/aggregates?by=metadata.topic"))
    text = page(alice, made["id"], "md", "by=metadata.topic")
    assert "metadata.topic a" in text
    assert "Slices" in page(alice, made["id"], query="by=metadata.topic")
    assert report(alice, made["id"])["slices"] is None


def test_gates_about_it_are_listed(alice: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, n=20), [{"name": "a", "kind": "push"}])
    Runner(alice, made).run()
    gate = {
        "candidate": {"experiment_id": made["id"], "config": "a"},
        "rules": [{"metric": "accuracy", "at_least": 0.5}],
    }
    ok(alice.post("/v1/gates", gate | {"name": HOSTILE[:50]}))

    found = report(alice, made["id"])["gates"]
    assert found == ok(alice.get(f"/v1/gates?experiment_id={made['id']}"))["gates"]
    assert [one["outcome"] for one in found] == ["pass"]
    assert {tag for tag, _ in Tags(page(alice, made["id"])).tags} <= ALLOWED
    assert "| pass |" in page(alice, made["id"], "md")


def test_components_stand_by_mode(alice: Caller) -> None:
    metrics: list[Any] = [EXACT, {**EXACT, "name": "found", "component": "retriever"}]
    examples = [{"input": f"{i}", "expected": {"output": "x", "retriever": {"output": "x"}}} for i in range(6)]
    metrics[0] = {**EXACT, "sample": {"gold": "/expected/output"}}
    made = make_experiment(alice, make_dataset(alice, examples), [{"name": "a", "kind": "push"}], metrics=metrics)
    Runner(alice, made).run(
        lambda example: {"output": "x", "retriever": {"output": "x" if example["pos"] % 2 else "y"}}
    )

    assert "| a | retriever | found | integrated | 0.50 |" in page(alice, made["id"], "md")
    assert "By component" in page(alice, made["id"])


def test_what_was_asked_is_in_it(module_alice: Caller, made: Any) -> None:
    found = report(module_alice, made["id"])

    assert (found["plan"]["seed"], found["dataset"]["version"], len(found["dataset"]["content_hash"])) == (5, 1, 64)
    assert found["target_snapshot"]["k=7"]["parameters"] == {"k": 7, "model": {"name": "m"}}


@pytest.mark.parametrize("format", ["html", "md"])
def test_all_forms_show_the_same_numbers(module_alice: Caller, made: Any, format: str) -> None:
    text = page(module_alice, made["id"], format)

    from evalsvc.reports.words import format_verdict, interval_text, value_text

    for config in live(module_alice, made["id"])["configs"]:
        for shown in config["metrics"].values():
            assert value_text(shown) in text
            assert interval_text(shown) in text
        assert format_verdict(config["versus_leader"]) in text


def test_the_page_loads_and_runs_nothing(module_alice: Caller, made: Any) -> None:
    answer = module_alice.get(f"/v1/experiments/{made['id']}/report?format=html")
    found = Tags(answer.content.decode())

    assert {tag for tag, _ in found.tags} <= ALLOWED
    names = {name for _, attributes in found.tags for name in attributes}
    assert not names & {"src", "href", "style", "srcset", "action"}
    assert not [name for name in names if name.startswith("on")]
    assert not re.search(r"url\(|@import|https?:", answer.content.decode())
    policy = answer["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert policy.endswith("sandbox")
    assert answer["X-Content-Type-Options"] == "nosniff"


def test_a_screen_reader_finds_its_way(module_alice: Caller, made: Any) -> None:
    found = Tags(page(module_alice, made["id"])).tags

    counts = {tag: sum(1 for one, _ in found if one == tag) for tag in ("table", "caption", "svg", "h1")}
    assert counts["table"] == counts["caption"] > 5
    assert counts["h1"] == 1
    assert all(attributes.get("scope") in ("col", "row") for tag, attributes in found if tag == "th")
    assert all(attributes["role"] == "img" for tag, attributes in found if tag == "svg")
    assert sum(1 for tag, _ in found if tag == "title") == counts["svg"] + 1
    assert next(attributes for tag, attributes in found if tag == "html")["lang"] == "en"


def test_hostile_texts_stay_texts(alice: Caller) -> None:
    examples = [{"id": f"{i}{HOSTILE}"[:200], "input": HOSTILE, "expected": f"x{i}"} for i in range(12)]
    dataset_id = make_dataset(alice, examples)
    metrics = [{**EXACT, "name": f"m{HOSTILE}"[:100]}]
    configs = [{"name": f"{name}<b>|@x"[:100], "kind": "push", "parameters": {"p": HOSTILE + name}} for name in "ab"]
    made = make_experiment(alice, dataset_id, configs, metrics=metrics)
    for i in (0, 1):
        work_off(Runner(alice, made, i), answer_of(3 + i, said=HOSTILE), fails=True)

    found = Tags(page(alice, made["id"]))
    assert {tag for tag, _ in found.tags} <= ALLOWED
    assert HOSTILE in found.text
    text = page(alice, made["id"], "md")
    assert "<script" not in text
    assert "@everyone" not in text
    assert not re.search(r"(?<!\\)[<`]", text)
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} <= {4, 5, 6, 7, 8, 9, 10}


def test_headers_lose_their_values(alice: Caller) -> None:
    dataset_id = make_dataset(alice, n=3)
    parameters = {"url": "https://example.com/a", "headers": {"Authorization": "Bearer sk-hidden"}, "body": "{{input}}"}
    configs = [{"name": "app", "kind": "http", "parameters": parameters}]
    made = make_experiment(alice, dataset_id, configs, start=False)

    found = report(alice, made["id"])
    assert found["target_snapshot"]["app"]["parameters"]["headers"] == {"Authorization": ""}
    for format in ("json", "md", "html"):
        assert "sk-hidden" not in page(alice, made["id"], format)


def test_a_draft_and_three_rows_have_reports(alice: Caller) -> None:
    dataset_id = make_dataset(alice, n=3)
    made = make_experiment(alice, dataset_id, [{"name": "a", "kind": "push"}, {"name": "b", "kind": "push"}])

    summary = report(alice, made["id"])["summary"]
    assert (summary["leader"], summary["tied"]) == (None, [])
    assert "No config leads yet" in page(alice, made["id"])
    for i in (0, 1):
        Runner(alice, made, i).run()
    assert "| inconclusive |" in page(alice, made["id"], "md")
    assert "Tie on accuracy: a, b." in page(alice, made["id"])


def test_a_page_stays_below_a_megabyte() -> None:
    from evalsvc.reports.page.elements import element
    from evalsvc.reports.page.html import LARGEST, render_page
    from evalsvc.reports.page.room import PageRoom

    assert len(render_page(large_report())) <= LARGEST
    assert PageRoom().smaller().rows < PageRoom().rows
    assert element("p", "<&>") == "<p>&lt;&amp;&gt;</p>"


def large_report() -> dict[str, Any]:
    """A report of 256 configs by 50 metrics, all texts as long as they may be."""
    from datetime import UTC, datetime

    from evalsvc.experiments.api.answers.runs import Plan, PlannedBudget, PlannedMetric

    text = "&" * 2000
    shown = {"value": 0.123456, "lower": 0.1, "upper": 0.2, "n": 100, "n_error": 0, "covers": "new data", "level": 0.95}
    shown["rows"] = {"n": 100}
    names = [f"{i} {'&' * 90}" for i in range(50)]
    blank: dict[str, Any] = dict.fromkeys(PlannedMetric.__struct_fields__)
    planned = [PlannedMetric(**blank | {"name": name, "source": "score", "higher_is_better": True}) for name in names]
    nothing: dict[str, Any] = dict.fromkeys(Plan.__struct_fields__)
    plan = Plan(
        **nothing
        | {"metrics": planned, "primary_metric": names[0], "level": 0.95, "policy": "manual", "seed": 0}
        | {"budget": PlannedBudget(queries=None, cost=None, seconds=None)}
    )
    configs = [
        {"id": str(i), "name": f"{i} {'<' * 90}", "state": "completed", "cost": 1.0, "versus_leader": None}
        | {"metrics": dict.fromkeys(names, shown), "by_component": {"a": {"integrated": dict.fromkeys(names, shown)}}}
        for i in range(256)
    ]
    score = {"value": 1.0, "error_code": None}
    example: dict[str, Any] = {"config": "a", "example_id": text, "input": text, "expected": text, "output": text}
    example |= {"scores": dict.fromkeys(names, score)}
    head = {
        "id": "1",
        "name": text,
        "state": "done",
        "started_at": None,
        "finished_at": None,
        "n_queries": 1,
        "cost": 1,
    }
    return {
        "generated_at": datetime.now(UTC),
        "summary": {"leader": None, "tied": [], "confirmation": None},
        "plan": plan,
        "dataset": {"name": text, "version": 1, "n_examples": 10, "content_hash": "0" * 64},
        "live": {"experiment": head, "configs": configs, "leader": None},
        "pareto": None,
        "why_no_pareto": None,
        "sweep": {
            "knobs": [text] * 8,
            "rows": [{"config_id": str(i), "config": text, "values": {text: text}} for i in range(256)],
        },
        "decisions": [],
        "n_decisions": 0,
        "slices": None,
        "gates": [],
        "components": None,
        "comparisons": [],
        "measured": {},
        "errors": [],
        "worst_examples": [example] * 50,
        "instructive_examples": [example | {"answers": [example] * 4}] * 50,
        "warnings": [{"metric": text, "warning": text, "configs": [text] * 256}] * 500,
    }


def test_readers_may_read_it(bob: Caller, alice: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, n=3), [{"name": "a", "kind": "push"}])

    assert bob.get(f"/v1/experiments/{made['id']}/report").status_code == 200


def test_strangers_find_nothing(charlie: Caller, made: Any) -> None:
    assert_problem(charlie.get(f"/v1/experiments/{made['id']}/report?format=html"), "not_found")


def test_another_format_is_refused(module_alice: Caller, made: Any) -> None:
    assert_problem(module_alice.get(f"/v1/experiments/{made['id']}/report?format=pdf"), "validation_failed", "/format")


def test_a_report_and_a_bundle_count_as_ten_requests(module_alice: Caller, made: Any) -> None:
    path = f"/v1/experiments/{made['id']}"
    for name in ("report", "bundle"):
        before, answer = module_alice.get(path), module_alice.get(f"{path}/{name}")
        answer.close()
        assert answer.status_code == 200
        counts = [int(found.headers["x-ratelimit-monthly-remaining-requests"]) for found in (before, answer)]
        # A few more may have been counted ahead, for requests that come soon.
        assert 10 <= counts[0] - counts[1] <= 10 + 2 * MOST
