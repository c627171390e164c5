"""The text metrics by name: a value, why, and the parts it is made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TypeAlias, TypeVar

from evaluators import budget
from evaluators.base import CannotScore, JSONValue
from evaluators.text.metrics.bleu import sentence_bleu
from evaluators.text.metrics.chrf import sentence_chrf
from evaluators.text.metrics.cosine import embedding_cosines
from evaluators.text.metrics.edits import levenshtein_ratio
from evaluators.text.metrics.overlap import NONE, Overlap, rouge_l, rouge_n, squad_exact, squad_f1, wordless
from evaluators.text.tokens import UnicodeTokenizer

Each = TypeVar("Each")
Golds: TypeAlias = Sequence[str]
"""The accepted answers, one at least."""
MAX_EMBEDDED = 100


@dataclass(frozen=True, slots=True)
class MeasuredText:
    """A metric's value, the beginning of a sentence that explains it, and its parts."""

    value: float
    because: str
    extra: dict[str, JSONValue]


def one_by_one(each: Iterable[Each]) -> Iterator[Each]:
    """Go through what costs time one by one, while there is time. Raises CannotScore("input_too_long")."""
    for item in each:
        budget.check()
        yield item


def too_long(detail: str) -> CannotScore:
    """Return the error for input whose processing time is unbounded."""
    return CannotScore("input_too_long", detail)


def _bleu(output: str, golds: Golds) -> MeasuredText:
    bleu = sentence_bleu(output, golds)
    # Two decimals are what clients of this metric know from its published example; `extra` has the rest.
    value = round(bleu.score, 2)
    because = f"BLEU is {value:.2f} for {bleu.n_output} output tokens against {bleu.n_gold} gold tokens"
    parts = asdict(bleu) | {"precisions": list(bleu.precisions)}
    return MeasuredText(value, because, {"bleu": parts, **_references(golds)})


def _rouge(metric: str) -> Callable[[str, Golds], MeasuredText]:
    def measure(output: str, golds: Golds) -> MeasuredText:
        tokenize = UnicodeTokenizer().tokenize
        output_tokens, gold_tokens = tokenize(output), [tokenize(gold) for gold in golds]
        texts = list(zip(golds, gold_tokens, strict=True))
        scores = {
            name: [
                of(output_tokens, words) if output_tokens or words else wordless(output, gold)
                for gold, words in one_by_one(texts)
            ]
            for name, of in _ROUGES.items()
        }
        # Each metric has its own nearest gold answer, as in rouge-score's `score_multi`.
        nearest = {name: None if None in values else _best(values) for name, values in scores.items()}
        index = nearest[metric]
        if index is None:
            raise too_long("ROUGE-L needs the product of output and gold words to stay under ten thousand million.")
        best = scores[metric][index]
        extra: dict[str, JSONValue] = {
            name: None if nearest[name] is None else _parts(values[nearest[name] or 0])
            for name, values in scores.items()
        }
        extra |= {"n_output": len(output_tokens), "n_gold": len(gold_tokens[index]), **_nearest(golds, index)}
        return MeasuredText(_f1(best), f"{_NAMES[metric]} F-measure is {_shares(best)}", extra)

    return measure


def _best(found: Sequence[Overlap | None]) -> int:
    """Return the place of the highest F-measure, the first of equal ones."""
    return max(range(len(found)), key=lambda index: _f1(found[index]))


def _f1(found: Overlap | None) -> float:
    return 0.0 if found is None else found.f1


def _squad_em(output: str, golds: Golds) -> MeasuredText:
    values = [squad_exact(output, gold) for gold in one_by_one(golds)]
    value, index = max(values), values.index(max(values))
    verb = "equals" if value else "differs from"
    because = f"The output {verb} {_the_gold(golds)} under SQuAD normalisation"
    return MeasuredText(value, because, {"squad_em": value, **_nearest(golds, index)})


def _squad_f1(output: str, golds: Golds) -> MeasuredText:
    scores = [squad_f1(output, gold) for gold in one_by_one(golds)]
    index = _best(scores)
    best = scores[index]
    return MeasuredText(best.f1, f"SQuAD F1 is {_shares(best)}", {"squad_f1": _parts(best), **_nearest(golds, index)})


def _chrf(output: str, golds: Golds) -> MeasuredText:
    value = sentence_chrf(output, golds)
    return MeasuredText(value, f"The chrF score is {value:.2f}", {"chrf": value, **_references(golds)})


def _levenshtein(output: str, golds: Golds) -> MeasuredText:
    ratios = [levenshtein_ratio(output, gold) for gold in one_by_one(golds)]
    values = [ratio for ratio in ratios if ratio is not None]
    if len(values) < len(ratios):
        raise too_long("Levenshtein needs the product of the two lengths to stay under twenty thousand million.")
    value, index = max(values), values.index(max(values))
    extra: dict[str, JSONValue] = {"n_output": len(output), "n_gold": len(golds[index]), **_nearest(golds, index)}
    return MeasuredText(value, f"The Levenshtein ratio is {value:.2f}", extra)


def _sas(output: str, golds: Golds) -> MeasuredText:
    if len(golds) > MAX_EMBEDDED:
        raise too_long(f"Semantic similarity reads at most {MAX_EMBEDDED} accepted answers.")
    cosines = embedding_cosines(output, golds)
    index = cosines.index(max(cosines))
    value = max(cosines[index], 0.0)
    because = f"The semantic similarity is {value:.2f}"
    return MeasuredText(value, because, {"cosine": cosines[index], **_nearest(golds, index)})


def _nearest(golds: Golds, index: int) -> dict[str, JSONValue]:
    """Return which of several accepted answers the value is of."""
    return {"gold_index": index} if len(golds) > 1 else {}


def _references(golds: Golds) -> dict[str, JSONValue]:
    """Return how many accepted answers the value is of, where the metric takes all of them together."""
    return {"references": len(golds)} if len(golds) > 1 else {}


def _the_gold(golds: Golds) -> str:
    return "the gold answer" if len(golds) == 1 else "an accepted answer"


def _parts(found: Overlap | None) -> dict[str, JSONValue] | None:
    return None if found is None else {"precision": found.precision, "recall": found.recall, "f1": found.f1}


def _shares(found: Overlap | None) -> str:
    found = found or NONE
    return f"{found.f1:.2f} (precision {found.precision:.2f}, recall {found.recall:.2f})"


_NAMES = {"rouge1": "ROUGE-1", "rouge2": "ROUGE-2", "rougeL": "ROUGE-L"}
_ROUGES: dict[str, Callable[[list[str], list[str]], Overlap | None]] = {
    "rouge1": lambda said, wanted: rouge_n(said, wanted, 1),
    "rouge2": lambda said, wanted: rouge_n(said, wanted, 2),
    "rougeL": rouge_l,
}
TEXT_METRICS: dict[str, Callable[[str, Golds], MeasuredText]] = {
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
