"""Text metrics: how much of the gold answer the output shares."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass

from evaluators.base import (
    CannotScore,
    EvaluatorSpec,
    Family,
    Field,
    JSONValue,
    Lane,
    ManagedProfile,
    Sample,
    Score,
    Settings,
    SettingsProblem,
)
from evaluators.settings import THRESHOLD, number_setting, object_schema, settings_problems
from evaluators.text.bleu import sentence_bleu
from evaluators.text.overlap import Overlap, rouge_l, rouge_n, squad_exact, squad_f1
from evaluators.text.tokens import UnicodeTokenizer

MAX_CHARS = 1_000_000
"""Output and gold answer together. The API refuses requests well below this."""


@dataclass(frozen=True, slots=True)
class _Measured:
    value: float
    because: str
    extra: dict[str, JSONValue]


class Metrics(Family):
    """Compute BLEU, ROUGE or a SQuAD score between output and gold answer.

    The managed profiles always pass, since no cut-off suits every task; a profile of your own sets `pass_threshold`.
    """

    name = "metrics"
    description = "Measures the overlap of output and gold answer: BLEU, ROUGE, SQuAD exact match and F1."
    lane = Lane.INLINE
    binary = False
    required_fields = (Field.OUTPUT, Field.GOLD)
    accepts_own_profiles = True
    settings_schema = object_schema(
        {
            "metric": {
                "type": "string",
                "enum": ["bleu", "rouge1", "rouge2", "rougeL", "squad_em", "squad_f1"],
                "description": "What to compute. The ROUGE metrics score their F-measure.",
            },
            "pass_threshold": {
                **THRESHOLD,
                "description": "The lowest score that passes; without it, every score does.",
            },
        },
        required=["metric"],
    )
    managed_profiles = (
        ManagedProfile("compute-bleu", "Sentence BLEU, rounded to two decimals. Always passes.", {"metric": "bleu"}),
        ManagedProfile("compute-rouge", "ROUGE-L F-measure. Always passes.", {"metric": "rougeL"}),
        ManagedProfile("compute-squad-em", "SQuAD exact match. Always passes.", {"metric": "squad_em"}),
        ManagedProfile("compute-squad-f1", "SQuAD token F1. Always passes.", {"metric": "squad_f1"}),
    )
    evaluators = (
        EvaluatorSpec(
            id="metrics-2026-11-01",
            name="Text metrics",
            description="The metric that the profile names; 1 is full agreement with the gold answer.",
            aliases=("metrics",),
        ),
    )

    def check_settings(self, settings: Settings) -> list[SettingsProblem]:
        """Check that the metric is known and the threshold lies between 0 and 1."""
        return settings_problems(settings, self.settings_schema)

    def score(self, sample: Sample, settings: Settings, *, explain: bool = True) -> Score:
        """Compute the profile's metric. Raises CannotScore("input_too_long") where the work would have no bound."""
        output, gold = sample.output or "", sample.gold or ""
        if len(output) + len(gold) > MAX_CHARS:
            raise _too_long(f"Output and gold answer are longer than {MAX_CHARS} characters together.")
        metric = str(settings["metric"])
        measured = _METRICS[metric](output, gold)
        threshold = number_setting(settings, "pass_threshold")
        return Score(
            value=measured.value,
            passed=threshold is None or measured.value >= threshold,
            explanation=_explain(measured, threshold) if explain else None,
            extra={"metric": metric, **measured.extra},
        )

    def warm_up(self) -> None:
        """Import sacrebleu."""
        sentence_bleu("warm", "up")


def _explain(measured: _Measured, threshold: float | None) -> str:
    if threshold is None:
        return f"{measured.because}."
    verdict = "reaches" if measured.value >= threshold else "is below"
    return f"{measured.because}, which {verdict} the threshold of {threshold:g}."


def _too_long(detail: str) -> CannotScore:
    return CannotScore("input_too_long", detail)


def _bleu(output: str, gold: str) -> _Measured:
    found = sentence_bleu(output, gold)
    # Two decimals are what clients of this metric know from its published example; `extra` has the rest.
    value = round(found.score, 2)
    because = f"BLEU is {value:.2f} for {found.n_output} output tokens against {found.n_gold} gold tokens"
    parts = asdict(found) | {"precisions": list(found.precisions)}
    return _Measured(value, because, {"bleu": parts})


def _rouge(metric: str) -> Callable[[str, str], _Measured]:
    def measure(output: str, gold: str) -> _Measured:
        tokenize = UnicodeTokenizer().tokenize
        said, wanted = tokenize(output), tokenize(gold)
        found = {
            "rouge1": rouge_n(said, wanted, 1),
            "rouge2": rouge_n(said, wanted, 2),
            "rougeL": rouge_l(said, wanted),
        }
        chosen = found[metric]
        if chosen is None:
            raise _too_long("ROUGE-L needs the product of output and gold words to stay under ten thousand million.")
        extra: dict[str, JSONValue] = {name: _parts(each) for name, each in found.items()}
        extra |= {"n_output": len(said), "n_gold": len(wanted)}
        return _Measured(chosen.f1, f"{_NAMES[metric]} F-measure is {_shares(chosen)}", extra)

    return measure


def _squad_em(output: str, gold: str) -> _Measured:
    value = squad_exact(output, gold)
    verb = "equals" if value else "differs from"
    return _Measured(value, f"The output {verb} the gold answer under SQuAD normalisation", {"squad_em": value})


def _squad_f1(output: str, gold: str) -> _Measured:
    found = squad_f1(output, gold)
    return _Measured(found.f1, f"SQuAD F1 is {_shares(found)}", {"squad_f1": _parts(found)})


def _parts(found: Overlap | None) -> dict[str, JSONValue] | None:
    return None if found is None else {"precision": found.precision, "recall": found.recall, "f1": found.f1}


def _shares(found: Overlap) -> str:
    return f"{found.f1:.2f} (precision {found.precision:.2f}, recall {found.recall:.2f})"


_NAMES = {"rouge1": "ROUGE-1", "rouge2": "ROUGE-2", "rougeL": "ROUGE-L"}
_METRICS: dict[str, Callable[[str, str], _Measured]] = {
    "bleu": _bleu,
    "rouge1": _rouge("rouge1"),
    "rouge2": _rouge("rouge2"),
    "rougeL": _rouge("rougeL"),
    "squad_em": _squad_em,
    "squad_f1": _squad_f1,
}
