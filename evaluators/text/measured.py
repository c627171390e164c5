"""The text metrics by name: a value, why, and the parts it is made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass

from evaluators.base import CannotScore, JSONValue
from evaluators.text.bleu import sentence_bleu
from evaluators.text.chrf import sentence_chrf
from evaluators.text.cosine import embedding_cosine
from evaluators.text.edits import levenshtein_ratio
from evaluators.text.overlap import Overlap, rouge_l, rouge_n, squad_exact, squad_f1
from evaluators.text.tokens import UnicodeTokenizer


@dataclass(frozen=True, slots=True)
class Measured:
    """A metric's value, the start of a sentence that says why, and its parts."""

    value: float
    because: str
    extra: dict[str, JSONValue]


def too_long(detail: str) -> CannotScore:
    """Decline work that has no bound."""
    return CannotScore("input_too_long", detail)


def _bleu(output: str, gold: str) -> Measured:
    found = sentence_bleu(output, gold)
    # Two decimals are what clients of this metric know from its published example; `extra` has the rest.
    value = round(found.score, 2)
    because = f"BLEU is {value:.2f} for {found.n_output} output tokens against {found.n_gold} gold tokens"
    parts = asdict(found) | {"precisions": list(found.precisions)}
    return Measured(value, because, {"bleu": parts})


def _rouge(metric: str) -> Callable[[str, str], Measured]:
    def measure(output: str, gold: str) -> Measured:
        tokenize = UnicodeTokenizer().tokenize
        said, wanted = tokenize(output), tokenize(gold)
        found = {
            "rouge1": rouge_n(said, wanted, 1),
            "rouge2": rouge_n(said, wanted, 2),
            "rougeL": rouge_l(said, wanted),
        }
        chosen = found[metric]
        if chosen is None:
            raise too_long("ROUGE-L needs the product of output and gold words to stay under ten thousand million.")
        extra: dict[str, JSONValue] = {name: _parts(each) for name, each in found.items()}
        extra |= {"n_output": len(said), "n_gold": len(wanted)}
        return Measured(chosen.f1, f"{_NAMES[metric]} F-measure is {_shares(chosen)}", extra)

    return measure


def _squad_em(output: str, gold: str) -> Measured:
    value = squad_exact(output, gold)
    verb = "equals" if value else "differs from"
    return Measured(value, f"The output {verb} the gold answer under SQuAD normalisation", {"squad_em": value})


def _squad_f1(output: str, gold: str) -> Measured:
    found = squad_f1(output, gold)
    return Measured(found.f1, f"SQuAD F1 is {_shares(found)}", {"squad_f1": _parts(found)})


def _chrf(output: str, gold: str) -> Measured:
    value = sentence_chrf(output, gold)
    return Measured(value, f"The chrF score is {value:.2f}", {"chrf": value})


def _levenshtein(output: str, gold: str) -> Measured:
    value = levenshtein_ratio(output, gold)
    if value is None:
        raise too_long("Levenshtein needs the product of the two lengths to stay under twenty thousand million.")
    return Measured(value, f"The Levenshtein ratio is {value:.2f}", {"n_output": len(output), "n_gold": len(gold)})


def _sas(output: str, gold: str) -> Measured:
    cosine = embedding_cosine(output, gold)
    value = max(cosine, 0.0)
    return Measured(value, f"The semantic similarity is {value:.2f}", {"cosine": cosine})


def _parts(found: Overlap | None) -> dict[str, JSONValue] | None:
    return None if found is None else {"precision": found.precision, "recall": found.recall, "f1": found.f1}


def _shares(found: Overlap) -> str:
    return f"{found.f1:.2f} (precision {found.precision:.2f}, recall {found.recall:.2f})"


_NAMES = {"rouge1": "ROUGE-1", "rouge2": "ROUGE-2", "rougeL": "ROUGE-L"}
TEXT_METRICS: dict[str, Callable[[str, str], Measured]] = {
    "bleu": _bleu,
    "chrf": _chrf,
    "rouge1": _rouge("rouge1"),
    "rouge2": _rouge("rouge2"),
    "rougeL": _rouge("rougeL"),
    "levenshtein": _levenshtein,
    "sas": _sas,
    "squad_em": _squad_em,
    "squad_f1": _squad_f1,
}
