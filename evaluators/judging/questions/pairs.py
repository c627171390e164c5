"""Compare two answers in both orders, since judges tend to prefer the one that they see first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from evaluators.base import CannotScore, JSONValue, Sample, Score, Settings
from evaluators.gateway import Answer, JudgeGateway, Question, Weights
from evaluators.judging.client import Asker
from evaluators.judging.injection import injection_signs
from evaluators.judging.prompts import Data, answer_schema, question
from evaluators.judging.readings import read_reasoning, read_text, unreadable
from evaluators.judging.samples import failed_for_injection, injection_extra
from evaluators.judging.settings import answer_tokens, fails_injection, is_weighed

Roles: TypeAlias = tuple[str, str]
OUTPUT, BASELINE, TIE = "output", "baseline", "tie"
ORDERS: tuple[Roles, Roles] = ((OUTPUT, BASELINE), (BASELINE, OUTPUT))
"""Who is ANSWER A, and who is ANSWER B."""
WORTH = {OUTPUT: 1.0, TIE: 0.5, BASELINE: 0.0}

CONSISTENT = "consistent"
"""The rules since 2026-11-28: orders that disagree never pass, nor does a tie where the profile forbids ties."""

_TIE = ' "tie" is for answers of which neither is better by the criteria.'
_TASK = """\
ANSWER A and ANSWER B are two answers to the same request, which is the USER INPUT where there is one. Decide which of \
them is better by these criteria:
<<<
{criteria}
>>>
Which of them is shown first says nothing about them, and neither does their length. Compare them in `reasoning`.
`winner`: the letter of the better one.{tie}"""


@dataclass(frozen=True, slots=True)
class _Judgement:
    """The judge's decision in one order. `value` is 1 for a win of the output, 0 for a loss, or a value in between."""

    winner: str
    value: float
    reasoning: str
    chances: Mapping[str, float] | None

    def as_json(self, roles: Roles) -> JSONValue:
        extra: dict[str, JSONValue] = {"chances": dict(self.chances)} if self.chances else {}
        return {"first": roles[0], "winner": self.winner, **extra}


async def judge_pair(
    sample: Sample, settings: Settings, gateway: JudgeGateway, *, criteria: str, threshold: float, explain: bool
) -> Score:
    """Score 1 if the output wins against the baseline in both orders, 0 if it loses in both, else 0.5.

    With `score_from` set to `logprobs`, the score is the output's mean probability of winning, with a tie counted as
    half, if the endpoint returns probabilities in both orders. The judge is not queried about identical or blank
    answers.
    """
    if (decision := _undisputed(sample)) is not None:
        return _unasked(*decision, settings, threshold=threshold, explain=explain)
    signs = _signs(sample, settings)
    if signs and fails_injection(settings):
        return failed_for_injection(signs, explain=explain)
    asker = Asker(gateway, settings)
    answers = await asker.ask_all([_question(sample, settings, criteria, roles) for roles in ORDERS])
    judgements = [_read(answer, roles) for answer, roles in zip(answers, ORDERS, strict=True)]
    value, outcome = _value(judgements, settings)
    return Score(
        value=value,
        passed=value >= threshold and _may_pass(judgements[0].winner, judgements[1].winner, settings),
        explanation=_because(judgements) if explain else None,
        text_output=_winner(judgements),
        extra={**outcome, **injection_extra(signs), "judge": asker.usage()},
    )


def _undisputed(sample: Sample) -> tuple[str, str] | None:
    """Return the winner and the reason if the judge does not have to decide."""
    texts = {OUTPUT: (sample.output or "").strip(), BASELINE: (sample.baseline_output or "").strip()}
    if texts[OUTPUT] == texts[BASELINE]:
        return TIE, "The two answers are the same."
    blank = next((name for name, text in texts.items() if not text), None)
    return None if blank is None else (BASELINE if blank == OUTPUT else OUTPUT, f"The {blank} is blank.")


def _may_pass(first: str, second: str, settings: Settings) -> bool:
    """Return whether the winners of both orders allow a pass: the same one, and no tie where ties are forbidden.

    Evaluators before 2026-11-28 decide by the score alone.
    """
    if settings.get("rules") != CONSISTENT:
        return True
    return first == second and (first != TIE or bool(settings.get("allow_tie", True)))


def _unasked(winner: str, because: str, settings: Settings, *, threshold: float, explain: bool) -> Score:
    value = WORTH[winner]
    extra: dict[str, JSONValue] = {"winner": winner, "order_biased": False, "asked": False}
    passed = value >= threshold and _may_pass(winner, winner, settings)
    return Score(value, passed, because if explain else None, text_output=winner, extra=extra)


def _signs(sample: Sample, settings: Settings) -> list[str]:
    """Return the signs of injection in both answers; a baseline must not lose, or fail the output, by its own."""
    of_output = injection_signs([sample.output or ""])
    of_baseline = injection_signs([sample.baseline_output or ""])
    if of_baseline and not of_output and fails_injection(settings):
        detail = f"The baseline speaks to its judge ({', '.join(of_baseline)}), so there is nothing to compare with."
        raise CannotScore("not_applicable", detail, extra=injection_extra(of_baseline))
    return list(dict.fromkeys([*of_output, *of_baseline]))


def _question(sample: Sample, settings: Settings, criteria: str, roles: Roles) -> Question:
    options = ("A", "B", "tie") if settings.get("allow_tie", True) else ("A", "B")
    return question(
        "pairwise/1",
        task=_TASK.format(criteria=criteria, tie=_TIE if "tie" in options else ""),
        data=_data(sample, roles),
        schema=answer_schema({"winner": {"type": "string", "enum": list(options)}}),
        max_output_tokens=answer_tokens(settings, 1_024),
        weighed=Weights("winner", options) if is_weighed(settings) else None,
    )


def _data(sample: Sample, roles: Roles) -> Data:
    texts = {OUTPUT: sample.output or "", BASELINE: sample.baseline_output or ""}
    fields: list[tuple[str, str | Sequence[str] | None]] = [
        ("USER INPUT", sample.input),
        ("GOLD ANSWER", sample.gold_texts if len(sample.gold_texts) > 1 else sample.gold),
        ("RETRIEVED CONTEXT", None if sample.contexts is None else sample.context_texts),
        ("ANSWER A", texts[roles[0]]),
        ("ANSWER B", texts[roles[1]]),
    ]
    return [(name, value) for name, value in fields if value is not None]


def _read(answer: Answer, roles: Roles) -> _Judgement:
    winners = {"A": roles[0], "B": roles[1], "tie": TIE}
    winner = read_text(answer.data, "winner")
    if winner not in winners:
        raise unreadable("winner")
    chances = None if answer.chances is None else {winners[name]: chance for name, chance in answer.chances.items()}
    value = WORTH[winners[winner]] if chances is None else sum(WORTH[name] * chance for name, chance in chances.items())
    return _Judgement(winners[winner], value, read_reasoning(answer.data), chances)


def _value(judged: Sequence[_Judgement], settings: Settings) -> tuple[float, dict[str, JSONValue]]:
    """Return the score and its `extra` fields. Probabilities are used only if both orders have them."""
    orders: list[JSONValue] = [judgement.as_json(roles) for judgement, roles in zip(judged, ORDERS, strict=True)]
    extra: dict[str, JSONValue] = {
        "winner": _winner(judged),
        "order_biased": judged[0].winner != judged[1].winner,
        "orders": orders,
    }
    if not is_weighed(settings):
        return WORTH[_winner(judged)], extra
    is_told = all(judgement.chances is not None for judgement in judged)
    value = sum(judgement.value for judgement in judged) / len(judged) if is_told else WORTH[_winner(judged)]
    return value, {**extra, "score_source": "logprobs" if is_told else "answer"}


def _winner(judged: Sequence[_Judgement]) -> str:
    first, second = judged
    return first.winner if first.winner == second.winner else TIE


def _because(judged: Sequence[_Judgement]) -> str:
    first, second = judged
    if first.winner != second.winner:
        return f"The orders disagree ({first.winner} and {second.winner}), which counts as a tie. {first.reasoning}"
    return f"{_SAID[first.winner]} in both orders. With the output as ANSWER A: {first.reasoning}"


_SAID = {OUTPUT: "The output wins", BASELINE: "The baseline wins", TIE: "Neither wins"}
