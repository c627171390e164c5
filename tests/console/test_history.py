"""The pages of histories: their numbers are the API's, whatever is asked, and nobody else's."""

from __future__ import annotations

import csv
import io
import re
from typing import Any

import pytest
from django.utils import timezone

from evalsvc.console.pages.history.words import format_warning_list
from evalsvc.evaluations.search.asked import read_filters
from evalsvc.reports.words import estimate_words, interval_text, value_text
from evalsvc.tenancy.scope import account_scope
from tests.conftest import Caller
from tests.console.conftest import Visitor
from tests.evaluations.histories import insert
from tests.factories import ok

EVALUATOR, PROFILE = "exact-match-2026-11-28", "patronus:exact-match"
NAMES = {"evaluator": EVALUATOR, "profile": PROFILE}
MIXED = [1.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0] * 8


def api(caller: Caller, **query: Any) -> dict[str, Any]:
    from urllib.parse import urlencode

    return dict(ok(caller.get(f"/v1/history?{urlencode({**NAMES, **query})}")))


def shown(reader: Visitor, **query: str) -> str:
    return reader.text("histories/one", **NAMES, **query)


QUESTIONS: list[dict[str, str]] = [
    {},
    {"strategy": "wilson", "level": "0.9"},
    {"strategy": "clopper-pearson", "of": "pass", "since.scores": "20"},
    {"scope.app": "shop", "level": "0.99"},
    {"of": "score", "since": "2026-01-02T00:00:00+00:00"},
    {"since.revision": "2"},
    {"scope.app": "nowhere"},
]


@pytest.mark.parametrize("query", QUESTIONS)
def test_each_number_is_the_api_s(alice: Caller, reader: Visitor, query: dict[str, str]) -> None:
    insert(alice, MIXED, app="shop", revision=1)
    insert(alice, [1.0, 1.0, 0.0], app="desk", revision=2)

    said, text = api(alice, **query), shown(reader, **query)

    interval = said["confidence_interval"]
    assert f"n = {interval['n']}" in text
    if interval["lower"] is None:
        assert interval["reason"] in text
        return
    assert interval_text(interval) in text
    value = said["pass_rate"] if interval["of"] == "pass" else said["mean"]
    assert f'<span class="value">{value_text({**interval, "value": value})}</span>' in text
    assert f"{100 * interval['alpha']:g} %" in text and interval["method"].replace("_", " ") in text


def test_the_running_band_ends_in_the_number(alice: Caller) -> None:
    from evalsvc.catalog.resolve import resolve
    from evalsvc.evaluations.history.course import compute_course
    from evalsvc.evaluations.history.selection import read_window
    from evalsvc.evaluations.wire.interval_request import IntervalOptions

    insert(alice, MIXED)
    ask = IntervalOptions(strategy="wilson", level=0.9)
    with account_scope(alice.account.pk):
        run = resolve(account_id=alice.account.pk, epoch=None, evaluator=EVALUATOR, profile=PROFILE)
        course = compute_course(ask, run.family, read_window(alice.account.pk, (EVALUATOR, PROFILE), ask, {}))

    interval, last = api(alice, strategy="wilson", level=0.9)["confidence_interval"], course.running[-1]
    assert (last.lower, last.upper, last.n) == (interval["lower"], interval["upper"], interval["n"])
    assert [part.n for part in course.parts] == [21, 22, 21] and len(course.running) == 24
    assert course.parts[0].mean == sum(MIXED[:21]) / 21


def test_what_the_api_refuses_is_told_at_its_field(alice: Caller, reader: Visitor) -> None:
    insert(alice, MIXED)

    text = shown(reader, level="7", **{"since.scores": "1"})

    assert "A confidence level lies between" in text and "A whole number between" in text
    assert "this page uses the defaults" in text


def test_warnings_are_plain_words(alice: Caller, reader: Visitor) -> None:
    insert(alice, [1.0] * 150 + [0.0] * 100)

    text = shown(reader)

    assert "autocorrelated" in api(alice)["confidence_interval"]["warnings"]
    assert "Consecutive scores are correlated" in text


def test_revisions_are_lines(alice: Caller, reader: Visitor) -> None:
    insert(alice, MIXED, revision=1)
    insert(alice, MIXED, revision=2)

    text = shown(reader, x="n")

    assert "revision 2" in text and "several revisions" in text
    assert "Only the newest revision" in text


def test_two_apps_are_compared(alice: Caller, reader: Visitor) -> None:
    from evalsvc.stats.formulas.differences import difference_of_intervals
    from evalsvc.stats.formulas.intervals import wilson

    insert(alice, [1.0] * 56 + [0.0] * 14, app="a")
    insert(alice, [1.0] * 48 + [0.0] * 32, app="b")

    text = shown(reader, strategy="wilson", **{"scope.app": "a", "vs.app": "b"})

    _, (low, high) = difference_of_intervals((56 / 70, wilson(56, 70)), (48 / 80, wilson(48, 80)))
    assert estimate_words(None, low, high)[1] in text and "app a against app b" in text


def test_a_comparison_says_that_the_other_side_counts_alike(alice: Caller, reader: Visitor) -> None:
    """The scores of `b` were drawn with unequal probabilities, those of `a` were not."""
    insert(alice, MIXED, app="a")
    insert(alice, MIXED, app="b", probability=0.1)
    insert(alice, MIXED, app="b")

    warning = "Rules drew the scores with unequal probabilities"
    assert warning in shown(reader, strategy="wilson", **{"scope.app": "a", "vs.app": "b"})
    assert warning not in shown(reader, strategy="wilson", **{"scope.app": "a"})
    assert warning not in shown(reader, **{"scope.app": "a", "vs.app": "b"})


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({}, "Choose an app on both sides"),
        ({"include_experiments": "none"}, "Choose an app on both sides"),
        ({"scope.tags.team": "x"}, "Choose an app on both sides"),
        ({"level": "7", "scope.app": "a"}, "Choose an app on both sides"),
        ({"scope.app": "b"}, "Choose a different app than the one shown"),
    ],
)
def test_an_app_is_not_compared_with_what_holds_it(
    alice: Caller, reader: Visitor, asked: dict[str, str], said: str
) -> None:
    """Of overlapping samples the difference looks smaller than it is, and its interval is of independent ones."""
    insert(alice, MIXED, app="a")
    insert(alice, MIXED, app="b")

    text = shown(reader, **asked, **{"vs.app": "b"})

    assert said in text and "against app b" not in text
    assert ("this page uses the defaults" in text) == ("level" in asked)


@pytest.mark.parametrize("include", ["", "none", "promoted", "all"])
def test_both_sides_hold_the_same_of_experiments(alice: Caller, reader: Visitor, include: str) -> None:
    for app in ("a", "b"):
        insert(alice, [1.0] * 20 + [0.0] * 20, app=app)
        insert(alice, [1.0] * 20, app=app, source="experiment")

    text = shown(reader, include_experiments=include, **{"scope.app": "a", "vs.app": "b"})

    panel = text.split('id="h-compared"')[1].split("</section>")[0]
    assert '<span class="value">0.00</span>' in panel.split("Difference")[1]


def test_before_is_compared_with_after(alice: Caller, reader: Visitor) -> None:
    insert(alice, MIXED)

    text = shown(reader, **{"vs.before": "2026-01-05T00:00"})

    assert "since 2026-01-05 00:00 UTC against before" in text and "Both sides need a confidence interval" in text


def test_an_empty_window_says_so(alice: Caller, reader: Visitor) -> None:
    assert "No scores in this window" in shown(reader)
    assert "No scores yet" in reader.text("histories")


def test_scores_made_elsewhere_are_shown(alice: Caller, reader: Visitor) -> None:
    insert(alice, [1.0, 2.0, 5.0], evaluator_id="external:mine", profile_name="")

    text = reader.text("histories/one", evaluator="external:mine")

    assert "No active evaluator or profile has these names" in text and "n = 3" in text


def test_the_list_has_each_history_with_its_interval(alice: Caller, reader: Visitor) -> None:
    insert(alice, MIXED)
    insert(alice, [1.0, 2.0, 5.0], evaluator_id="external:mine", profile_name="")

    text = reader.text("histories")

    interval = api(alice)["confidence_interval"]
    assert interval_text(interval) in text
    assert "external:mine" in text and "Next page" not in text


def test_a_weighted_history_is_the_api_s_everywhere(alice: Caller, reader: Visitor) -> None:
    """90 of 100 at the rate .1, then 20 of 40 at 1: the page, its parts and the list weigh."""
    insert(alice, [1.0] * 90 + [0.0] * 10, probability=0.1)
    insert(alice, [1.0, 0.0] * 20, probability=1.0)

    interval, text, listed = api(alice)["confidence_interval"], shown(reader), reader.text("histories")

    assert interval["median"] == pytest.approx((900 + 20) / 1040)
    for page in (text, listed):
        assert f'<span class="value">{value_text(interval, "median")}</span>' in page
        assert interval_text(interval) in page
    assert f"140 scores, weighted, worth {round(interval['rows']['n_eff'])} of equal weight" in text
    named = shown(reader, strategy="wilson")
    assert "Rules drew the scores with unequal probabilities" in named
    assert '<span class="value">0.786</span>' in named


def test_few_effective_scores_are_told_as_such(alice: Caller, reader: Visitor) -> None:
    insert(alice, [1.0] * 8 + [0.0] * 2, probability=0.01)
    insert(alice, [1.0, 0.0] * 20, probability=1.0)

    assert "Worth fewer than 30 scores of equal weight" in shown(reader)


def test_the_list_is_paged_by_name(alice: Caller, reader: Visitor) -> None:
    for i in range(22):
        insert(alice, [1.0], evaluator_id=f"external:{i:02}", profile_name="")

    text = reader.text("histories")
    assert "external:19" in text and "external:20" not in text
    cursor = text.split('rel="next" href="')[1].split("cursor=")[1].split('"')[0]
    assert "external:21" in reader.client.get(reader.at(f"histories?cursor={cursor}")).content.decode()


def test_the_file_has_the_scores_of_the_window(alice: Caller, reader: Visitor) -> None:
    insert(alice, [1.0, 0.0], app="=SUM(A1)")
    insert(alice, [0.0], app="desk")

    answer = reader.get("histories/one.csv", **NAMES, **{"scope.app": "=SUM(A1)"})

    rows = list(csv.DictReader(io.StringIO(answer.content.decode())))
    assert [row["score"] for row in rows] == ["0.0", "1.0"]
    assert rows[0]["app"] == "'=SUM(A1)"
    assert [row["verdict"] for row in rows] == ["fail", "pass"]


def test_a_stranger_sees_none_of_it(alice: Caller, stranger: Visitor) -> None:
    insert(alice, MIXED)

    assert "No scores in this window" in shown(stranger)
    assert EVALUATOR not in stranger.text("histories")


def test_hostile_names_are_text(alice: Caller, reader: Visitor) -> None:
    name = "<script>alert(1)</script>"
    insert(alice, MIXED, evaluator_id=f"external:{name}", profile_name=name, app=name)

    for text in (reader.text("histories"), reader.text("histories/one", evaluator=f"external:{name}", profile=name)):
        assert name not in text and "&lt;script&gt;" in text
    assert reader.get("histories/one").status_code == 404


def test_it_asks_little(alice: Caller, reader: Visitor) -> None:
    insert(alice, MIXED)
    for i in range(10):
        insert(alice, [1.0, 2.0], evaluator_id=f"external:{i}", profile_name="")

    assert reader.n_queries("histories") <= 15
    assert reader.n_queries("histories/one", **NAMES, **{"scope.app": "desk", "vs.app": "shop"}) <= 15


def behind(caller: Caller, text: str, first: int, last: int) -> tuple[list[str], int]:
    """Send the form below the chart: from the edge of one part to that of another. Returns ids, and how many scores."""
    form = text.split("data-brush", 1)[1].split("</form>")[0]
    hidden = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', form))
    options = [re.findall(r'value="(\d+)" data-place="(\d+)"', part) for part in form.split("<select")[1:]]
    (begin, from_place), (end, to_place) = options[0][first], options[1][last]
    asked = read_filters({**hidden, "first": begin, "last": end}, timezone.now())
    assert asked.errors == {}
    found = ok(caller.post("/v1/evaluations/search", {"filters": asked.filters, "limit": 500}))["evaluations"]
    return [one["id"] for one in found], int(to_place) - int(from_place) + 1


@pytest.mark.parametrize("query", [{}, {"scope.app": "shop"}, {"of": "score", "scope.tags.tier": "gold"}])
def test_a_span_of_the_chart_leads_to_exactly_its_evaluations(
    alice: Caller, reader: Visitor, query: dict[str, str]
) -> None:
    """What has no score, and what is of another app, profile or tag, stays out."""
    ids = []
    for i in range(30):
        tags = {"tier": "gold" if i % 2 else "tin"}
        label = None if i % 7 == 6 else "x" if i % 3 else "y"
        results = ok(alice.evaluate("exact-match", app="shop" if i % 2 else "desk", label=label, output="x", tags=tags))
        kept = results["results"][0]
        if label is not None and (i % 2 or not query):
            ids.append(kept["evaluation_id"])
    text = shown(reader, **query)

    found, n = behind(alice, text, 2, -2)
    at = ids.index(found[-1])
    assert n == len(found) > 5
    assert found[::-1] == ids[at : at + n]
    every, n_all = behind(alice, text, 0, -1)
    assert every[::-1] == ids and n_all == len(ids)


def test_the_page_of_a_span_says_its_n(alice: Caller, reader: Visitor) -> None:
    for _ in range(3):
        alice.evaluate("exact-match", app="shop", label="x", output="x")
    form = shown(reader).split("data-brush", 1)[1].split("</form>")[0]
    ends = re.findall(r'value="(\d+)" data-place', form)
    text = reader.text("evaluations", first=ends[1], last=ends[-1], scored="pass", **NAMES)

    assert "2 evaluations of this span" in text
    assert reader.get("evaluations", first=ends[-1], last=ends[0]).status_code == 422


def test_scores_that_are_no_evaluations_have_no_span(alice: Caller, reader: Visitor) -> None:
    insert(alice, MIXED, source="import")

    assert "data-brush" not in shown(reader) and "there are no evaluations to open" in shown(reader)


@pytest.mark.parametrize(("n", "n_parts"), [(1, 1), (17, 1), (39, 1), (40, 2), (73, 3), (480, 24), (900, 24)])
def test_parts_have_twenty_scores_at_least(alice: Caller, reader: Visitor, n: int, n_parts: int) -> None:
    insert(alice, ([1.0, 0.0, 1.0] * n)[:n])
    text = shown(reader)
    assert text.split('id="h-parts"')[1].count("<tr") - 1 == n_parts
    assert ("per window" in text) == (n_parts > 1)


def test_the_axis_of_a_distribution_ends_where_scores_do(alice: Caller, reader: Visitor) -> None:
    insert(alice, [1.0, 0.0])
    chart = shown(reader).split("Distribution of the scores", 1)[1]
    ticks = re.findall(r"<text[^>]*y=\"188[^>]*>([^<]*)</text>", chart)
    assert (ticks[0], ticks[-1]) == ("0", "1"), ticks


def test_one_score_stands_on_its_own_day(alice: Caller, reader: Visitor) -> None:
    insert(alice, [1.0])
    text = shown(reader)
    said = re.search(r"how sure it is.{0,300}?(1 score; 95 % for new data)", text, re.DOTALL)
    ticks = re.findall(r"<text[^>]*>([^<]*)</text>", text)
    assert said is not None and "1 neighbouring parts" not in text
    assert any(re.fullmatch(r"\d\d:\d\d", tick) for tick in ticks), ticks


def test_equal_scores_are_no_certainty(alice: Caller, reader: Visitor) -> None:
    insert(alice, [1.0] * 20)
    found = api(alice, strategy="full-history")["confidence_interval"]
    ends = interval_text(found["advice"])
    assert found["lower"] == found["upper"] and ends == "[0.832, 1.000]"
    for text in (shown(reader, strategy="full-history"), shown(reader), reader.text("histories")):
        assert ends in text and "[1, 1]" not in text
    compared = shown(reader, **{"vs.before": "2000-01-01T00:00:00+00:00"})
    assert "[0, 0]" not in compared


def test_a_large_mean_is_written_like_its_interval(alice: Caller, reader: Visitor) -> None:
    insert(alice, [1e11, 2e11, 4e11] * 4, evaluator_id="external:large", profile_name="")
    text = reader.text("histories")
    assert "2.333e+11" in text and "000\u202f000" not in text


def test_a_list_says_doubts_in_words() -> None:
    assert (
        format_warning_list({"warnings": ["n<30", "degenerate", "mixed_sources"]}) == "n<30, all equal, mixed sources"
    )
    assert format_warning_list({}) == "none"
