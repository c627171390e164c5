"""The prompts of an evaluator, recorded from its questions about placeholder samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from evaluators.base import CannotScore, Family, Lane, Sample, Settings
from evaluators.gateway import Answer, Classification, Moderation, Question
from evaluators.judging.attachments import media_read
from evaluators.samples import build_sample
from evaluators.values import JSONValue

_TEXTS: dict[str, JSONValue] = {
    "input": "(the user input)",
    "output": "(The model output.)",
    "contexts": ["(a retrieved context)"],
    "gold": "(a gold answer)",
    "system_prompt": "(the system prompt)",
    "top_k_contexts": ["(a retrieved context)"],
    "baseline_output": "(The baseline's output.)",
    "conversation": {
        "messages": [{"role": "user", "text": "(the user's text)"}, {"role": "assistant", "text": "(the answer)"}],
        "tools": [],
        "final_state": {},
    },
    "reference": {"goal": "(the goal)", "topics": ["(a topic)"], "role": "(the role)"},
}


async def collect_prompts(family: Family, settings: Settings) -> list[Question]:
    """Return each prompt that the effective settings can send, once; none if no judge is used.

    Families build their questions from the sample, so samples with one, several, and no gold answers, and without a
    reference, are recorded.
    """
    if family.lane_of(settings) is not Lane.JUDGE:
        return []
    recorder = _Recorder()
    for sample in _samples(settings):
        if not family.missing_fields(sample, settings):
            await _ask(family, sample, settings, recorder)
    by_prompt = {
        (question.prompt_id, question.system, str(question.schema)): question for question in recorder.questions
    }
    return list(by_prompt.values())


async def _ask(family: Family, sample: Sample, settings: Settings, recorder: _Recorder) -> None:
    try:
        await family.score_with(sample, {**settings, "n_samples": 1}, recorder, explain=False)
    except CannotScore:
        # What a placeholder's verdict is does not matter.
        return


def _samples(settings: Settings) -> list[Sample]:
    texts: dict[str, JSONValue] = {**_TEXTS, **_attachments(settings)}
    sample = build_sample(texts)
    several = build_sample({**texts, "golds": ["(another gold answer)"]})
    return [sample, replace(sample, golds=None), several, replace(sample, reference=None)]


def _attachments(settings: Settings) -> dict[str, JSONValue]:
    """Return a placeholder of what the settings read, if they read anything but texts."""
    kinds = sorted(media_read(settings))
    return {"attachments": [{"media_type": kinds[0], "usage_type": "input"}]} if kinds else {}


class _Recorder:
    """A judge gateway that records its questions and returns placeholder answers that match the schema."""

    def __init__(self) -> None:
        self.questions: list[Question] = []

    async def ask(self, question: Question, settings: Settings, *, sample_number: int = 0) -> Answer:
        self.questions.append(question)
        data = {name: _fitting(inner) for name, inner in _properties(question.schema).items()}
        if question.check is not None and (lacks := question.check(data)):
            raise CannotScore("bad_output", lacks)
        return Answer(data)

    async def ask_all(self, questions: Sequence[Question], settings: Settings) -> list[Answer]:
        return [await self.ask(question, settings) for question in questions]

    async def moderate(self, text: str, settings: Settings) -> Moderation:
        raise CannotScore("not_applicable", "A moderation endpoint is asked without a prompt.")

    async def classify(self, inputs: Sequence[tuple[str, ...]], settings: Settings) -> Classification:
        raise CannotScore("not_applicable", "A classifier is asked without a prompt.")

    async def post(self, url: str, payload: Mapping[str, JSONValue], settings: Settings) -> JSONValue:
        raise CannotScore("not_applicable", "A webhook is called without a prompt.")


def _properties(schema: Mapping[str, JSONValue]) -> Mapping[str, JSONValue]:
    properties = schema.get("properties")
    return properties if isinstance(properties, Mapping) else {}


def _fitting(schema: JSONValue) -> JSONValue:
    """Return a value that satisfies a strict schema; booleans are true, which triggers the most questions."""
    if not isinstance(schema, Mapping):
        return None
    if isinstance(choices := schema.get("enum"), list):
        return choices[0]
    match schema.get("type"):
        case "object":
            return {name: _fitting(inner) for name, inner in _properties(schema).items()}
        case "array":
            return [_fitting(schema.get("items"))]
        case "boolean":
            return True
        case "number" | "integer":
            return schema.get("minimum", 0)
    return "(a statement)"
