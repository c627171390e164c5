"""How results show themselves: intervals drawn, everything escaped, nothing that runs; tables and plots."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from evalsvc.client import (
    Client,
    Comparison,
    ConfigurationError,
    EvaluateResult,
    EvaluationResult,
    History,
    Interval,
    Live,
    Metric,
    Metrics,
    Row,
    RowScore,
    Verdict,
)
from evalsvc.client.showing.charts import DrawnInterval, render_table
from tests.client.capitals import EXPECTED, INPUTS, knows
from tests.client.reading import Reader

HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>&"
ALLOWED = {"table", "caption", "tr", "th", "td", "p", "svg", "line", "circle"}


def metric(name: str = HOSTILE, **changes: Any) -> Metric:
    return Metric(name, **{"value": 0.5, "lower": 0.25, "upper": 0.75, "n": 4, "N": 4, "covers": HOSTILE, **changes})


def interval() -> Interval:
    return Interval(HOSTILE, 0.95, 0.2, 0.4, 0.6, 50, of="pass", scope={"app": HOSTILE})


def live() -> Live:
    config = {"id": "1", "name": HOSTILE, "state": "running", "stop_reason": HOSTILE, "metrics": {HOSTILE: {}}}
    other = {**config, "id": "2", "metrics": {HOSTILE: {"value": 3.0, "lower": 2.0, "upper": 4.0}}}
    experiment: Any = {"id": "7", "name": HOSTILE, "state": "running", "n_examples": 4, "primary_metric": HOSTILE}
    return Live.read({"experiment": experiment, "configs": [config, other], "leader": "2"})  # type: ignore[list-item]


def comparison() -> Comparison:
    ends = {"lower": -0.1, "upper": 0.3}
    found = {"delta": 0.1, **ends, "word": "better", "label": HOSTILE, "n": 4, "covers": "new data", "mean": None}
    body: Any = {
        **{name: {"name": HOSTILE + name, "experiment": "x", "experiment_id": "1"} for name in "ab"},
        "metric": HOSTILE,
        "comparison": {**found, "new_data": ends, "this_set": {"exact": False}},
        "share": 1.0,
        "warnings": [HOSTILE],
        "examples": [{"example_id": "1", "input": HOSTILE, "a": {"value": 1}, "b": {"value": 0}, "difference": 1}],
        "next_cursor": None,
    }
    return Comparison.read(body, lambda cursor: body)


def results() -> dict[str, Any]:
    row = Row("0", 0, HOSTILE, HOSTILE, HOSTILE, scores={HOSTILE: RowScore(1.0)})
    verdict = Verdict(HOSTILE, HOSTILE, "success", 1.0, True, interval=interval())
    result = EvaluationResult(HOSTILE, metrics=Metrics({HOSTILE: metric()}), rows=[row])
    return {
        "metric": metric(),
        "metrics": result.metrics,
        "interval": interval(),
        "verdict": verdict,
        "evaluate": EvaluateResult([verdict], warnings=[{"pointer": HOSTILE, "detail": HOSTILE}]),
        "history": History(HOSTILE, HOSTILE, 5, 5, 0.4, 0.4, interval(), (), None),
        "result": result,
        "live": live(),
        "standing": live().configs[1],
        "comparison": comparison(),
        "confusion": result.confusion(),
    }


@pytest.mark.parametrize("name", list(results()))
def test_hostile_names_are_shown_and_do_nothing(name: str) -> None:
    page = Reader(results()[name]._repr_html_())

    assert set(page.tags) <= ALLOWED
    assert not any(one.startswith("on") or one in ("style", "href", "src") for one in page.attributes)
    assert "<script>" in page.text
    assert "svg" in page.tags


@pytest.mark.parametrize("name", ["metrics", "evaluate", "history", "result", "live", "comparison", "confusion"])
def test_results_become_data_frames(name: str) -> None:
    pytest.importorskip("pandas")
    assert len(results()[name].to_dataframe()) == {"history": 0, "live": 2}.get(name, 1)


def test_shares_are_drawn_from_zero_to_one_and_others_on_their_own_axis() -> None:
    share = DrawnInterval("a", 0.5, 0.25, 0.75, scale="share")
    number = DrawnInterval("b", 500.0, 400.0, 600.0, scale="number")
    drawn = render_table(("x",), [[share], [number]])

    assert 'x1="42.5" y1="7.0" x2="117.5"' in drawn  # 5 + .25 * 150, 5 + .75 * 150
    assert 'x1="5.0" y1="7.0" x2="155.0"' in drawn
    assert "on an axis from 400 to 600" in drawn


def test_what_has_no_number_is_not_drawn() -> None:
    assert "<svg" not in Metrics({"m": Metric("m", None, n_na=4, N=4)})._repr_html_()
    assert "not applicable" in Metrics({"m": Metric("m", None, n_na=4, N=4)})._repr_html_()


def test_a_plot_without_matplotlib_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ConfigurationError, match="pip install matplotlib"):
        results()["result"].plot()


class Axes:
    """Notes what is drawn."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, tuple[Any, ...]]] = []

    def __getattr__(self, name: str) -> Any:
        return lambda *args, **kwargs: self.calls.append((name, args))


def test_a_plot_draws_each_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    module = type(sys)("matplotlib")
    module.pyplot = None  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "matplotlib", module)
    axes: Any = Axes()

    assert comparison().plot(axes) is axes
    assert [name for name, _ in axes.calls] == ["hlines", "plot", "axvline", "set_yticks", "invert_yaxis"]
    assert axes.calls[0][1] == (0, -0.1, 0.3)


def test_a_run_draws_itself(client: Client) -> None:
    made = client.experiment("x", {"a": knows, "b": knows}, INPUTS, EXPECTED, evaluators="exact-match", progress=False)

    assert Reader(made._repr_html_()).tags.count("svg") == 2
    assert len(made.spans()) == 2
    batch = client.evaluate_batch([{"output": "a", "gold": "a"}, {"gold": HOSTILE}], "exact-match")
    assert "1 of 2 pass everything" in Reader(batch._repr_html_()).text
    pytest.importorskip("pandas")
    assert len(batch.to_dataframe()) == 2
    assert list(made.to_dataframe()["config"]) == ["a", "b"]
