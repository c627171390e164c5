"""The simulated tables of the docs: of today's code, kept promises, and the same figures from another seed."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from benchmarks import racing, simulate
from benchmarks.simulate import PAGE, digest_of, drifted, section_of, simulated, with_section
from benchmarks.simulations import FAMILIES
from benchmarks.simulations.report import Exact, Missing, Ratio, Share, Table

OTHER_SEED = 7
# Half a minute; the others take a few seconds together.
LONG = "rankings"


def printed(page: str, family: str) -> list[list[list[str]]]:
    """Return the cells of each table that the page holds for a family."""
    section = section_of(page, family)
    assert section is not None
    blocks = re.findall(r"(?:^\|.*\|$\n?)+", section[1], re.MULTILINE)
    return [
        [[cell.strip() for cell in line.strip("|\n").split("|")] for line in block.splitlines()] for block in blocks
    ]


def test_the_tables_are_of_todays_code() -> None:
    assert drifted(PAGE.read_text(encoding="utf-8")) == [], "run `make simulate`"


@pytest.mark.parametrize(
    "family", [pytest.param(name, marks=pytest.mark.slow) if name == LONG else name for name in FAMILIES]
)
def test_a_twentieth_from_another_seed_agrees_and_keeps_the_promises(family: str) -> None:
    shown = printed(PAGE.read_text(encoding="utf-8"), family)

    tables = simulated(family, 1 / 20, OTHER_SEED)

    assert [len(table.rows) for table in tables] == [len(cells) - 2 for cells in shown]
    for table, cells in zip(tables, shown, strict=True):
        assert tuple(cells[0]) == table.head
        for (names, figures), line in zip(table.rows, cells[2:], strict=True):
            assert tuple(line[: len(names)]) == names
            for figure, text in zip(figures, line[len(names) :], strict=True):
                assert figure.agrees(text), f"{table.title} {names}: {figure}, and the page says {text}"
        assert table.broken() == []


@pytest.mark.slow
def test_a_twentieth_of_the_races_agrees_and_keeps_the_promises() -> None:
    (cells,) = printed(PAGE.read_text(encoding="utf-8"), "epsilons")
    shown = {line[1]: line[2] for line in cells[2:] if line[0] == racing.SCENARIOS[0].name}
    n = simulate.N_RACES // 20

    lines = racing.epsilon_lines(n, simulate.N_WORKERS, (None, 0.03), racing.SCENARIOS[:1], seed=OTHER_SEED)

    for line in lines:
        queries, error = map(float, shown[str(line.epsilon or "none")].split(" ± "))
        assert abs(line.queries - queries) <= 4 * error * (simulate.N_RACES / n) ** 0.5
        most, _ = racing.GOALS["race_default", line.epsilon]
        assert queries <= most
        assert line.kept >= 1 - 2 / n


def test_a_changed_formula_is_drift_and_a_changed_comment_import_or_local_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for part in ("evalsvc/stats", "benchmarks/simulations"):
        shutil.copytree(simulate.ROOT / part, tmp_path / part, ignore=shutil.ignore_patterns("__pycache__"))
    before, others = digest_of("pairs"), digest_of("measured")
    monkeypatch.setattr(simulate, "ROOT", tmp_path)
    paired = tmp_path / "evalsvc" / "stats" / "pairs" / "paired.py"
    text = paired.read_text(encoding="utf-8")

    assert digest_of("pairs") == before
    paired.write_text(f'"""Said otherwise."""\n# And so on.\n\n{text}', encoding="utf-8")
    assert digest_of("pairs") == before
    paired.write_text(f"{text}\n\nimport statistics", encoding="utf-8")
    assert digest_of("pairs") == before
    assert "added" in text
    paired.write_text(re.sub(r"\badded\b", "extra", text), encoding="utf-8")
    assert digest_of("pairs") == before
    paired.write_text(text.replace("2.0 * added", "3.0 * added"), encoding="utf-8")
    assert digest_of("pairs") != before
    # Quantiles do not go by paired differences.
    assert digest_of("measured") == others


def test_a_section_is_replaced_and_the_rest_of_the_page_is_not() -> None:
    page = "above\n<!-- make simulate: pairs 00ff -->\n\nold\n\n<!-- /make simulate: pairs -->\nbelow\n"

    changed = with_section(page, "pairs", "abcd", "| new |")

    assert section_of(changed, "pairs") == ("abcd", "| new |")
    assert changed.startswith("above\n")
    assert changed.endswith("below\n")
    with pytest.raises(SystemExit, match="no markers for means"):
        with_section(page, "means", "abcd", "")


def test_figures_know_their_promises_and_their_noise() -> None:
    assert str(Share(190, 200)) == "95.0% ± 1.6"
    assert str(Share(0, 200)) == "0.0% ± 0.5"
    assert not Share(900, 1000, least=0.94).is_kept()
    assert Share(930, 1000, least=0.94).is_kept()
    assert not Share(80, 1000, most=0.05).is_kept()
    assert Share(96, 100).agrees("95.0% ± 0.5")
    assert not Share(60, 100).agrees("95.0% ± 0.5")
    assert str(Exact(0.94123)) == "94.1%"
    assert Exact(0.94123).agrees("94.1%")
    assert not Exact(0.943).agrees("94.1%")
    assert Exact(0.95, least=0.94).is_kept()
    assert not Exact(0.939, least=0.94).is_kept()
    assert Ratio(1.1).agrees("1.00")
    assert not Ratio(2.0).agrees("1.00")
    assert Missing().agrees("-")
    figures = (Share(190, 200, least=0.9), Exact(0.97, least=0.9), Ratio(1.0))
    table = Table(
        "T.", "P.", ("a", "b", "c", "d"), ((("x",), figures), (("y",), (Share(100, 200, least=0.9), *figures[1:])))
    )
    assert table.broken() == ["T. y: 50.0% ± 3.5"]
    assert table.markdown() == (
        "**T.** P.\n\n| a | b | c | d |\n| --- | ---: | ---: | ---: |\n"
        "| x | 95.0% ± 1.6 | 97.0% | 1.00 |\n| y | 50.0% ± 3.5 | 97.0% | 1.00 |\n\n"
        "Nominal and, at worst, measured: b at least 90 %, 50.0% ± 3.5 (y); c at least 90 %, 97.0% (x).\n"
    )
