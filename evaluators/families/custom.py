"""Custom: the account's own checks, and graders brought along from OpenAI."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

from evaluators.base import (
    AnswerText,
    EvaluatorSpec,
    Family,
    Field,
    JSONValue,
    Lane,
    ManagedProfile,
    Passage,
    Sample,
    Score,
    Settings,
    SettingsProblem,
)
from evaluators.cards.texts import plain as card_texts
from evaluators.checks.grader_settings import grader_problems
from evaluators.checks.graders import ASKING, Ask, asks_model, grade, is_grader, model_graders, uses_embedding
from evaluators.checks.kinds.numeric import NUMBERS
from evaluators.checks.outcome import Outcome
from evaluators.checks.references import fields_named, fields_named_as_json
from evaluators.checks.run import (
    TYPES,
    check_problems,
    fields_as_json,
    fields_read,
    looks_for_absence,
    needs_model,
    reads_all_golds,
    run_check,
)
from evaluators.gateway import JudgeGateway
from evaluators.judging.client import owing
from evaluators.judging.injection import injection_signs
from evaluators.judging.questions.graders import GraderAsker
from evaluators.judging.questions.plain_words import (
    CRITERIA_SETTINGS,
    criteria_fields,
    criteria_problems,
    judge_criteria,
)
from evaluators.judging.readings import sum_usage
from evaluators.judging.samples import injection_extra
from evaluators.judging.settings import EXACTING
from evaluators.settings import THRESHOLD, object_schema
from evaluators.values import ALL_PARTS, OUTPUT_TYPES

CRITERIA = "pass_criteria"
"""Words that only a judge can weigh: a profile that has them needs no `type`, and is one of the family judge."""
ANY: dict[str, JSONValue] = {}
LIST: dict[str, JSONValue] = {"type": "array"}
OBJECT: dict[str, JSONValue] = {"type": "object"}
NUMBER: dict[str, JSONValue] = {"type": "number"}
TEXT: dict[str, JSONValue] = {"type": "string"}
_MENTIONS: dict[str, JSONValue] = {
    "type": "string",
    "operation": "contains",
    "value": "{{gold}}",
    "ignore_case": True,
}

_CHECK = EvaluatorSpec(
    id="custom-2026-11-28",
    name="Custom check",
    description="The check that the profile describes.",
    aliases=("custom",),
    settings={**NUMBERS, **EXACTING},
    formula="what the check measures",
    output_types=OUTPUT_TYPES,
    components=ALL_PARTS,
)


class Custom(Family):
    """Run one check that a profile describes: of strings, patterns, JSON, numbers, likeness, or composed of others.

    The profile's `type` decides which of the settings it takes; docs/evaluators.md has them by type. OpenAI's grader
    definitions are profiles too (docs/openai-graders.md).
    """

    name = "custom"
    description = "Runs checks of your own, without a model; takes OpenAI's grader definitions too."
    question = "Does it meet my criteria?"
    lane = Lane.INLINE
    binary = False
    by_verdict = True
    required_fields = ()
    optional_fields = (Field.OUTPUT, Field.INPUT, Field.GOLD, Field.CONTEXT, Field.SYSTEM_PROMPT)
    accepts_own_profiles = True
    profiles_decide = True
    cards = card_texts.CUSTOM
    settings_schema = object_schema(
        {
            "type": {**TEXT, "description": f"One of {', '.join(TYPES)}, or the type of one of OpenAI's graders."},
            "name": {**TEXT, "description": "What to call the check in results."},
            "field": {**TEXT, "description": "The input that is judged: output (the default), input, gold, ..."},
            "operation": {**TEXT, "description": "What a string or numeric check does."},
            "value": {**ANY, "description": "What to compare with; texts may name {{gold}} and other inputs."},
            "values": {**LIST, "description": "Several such texts."},
            "min_chars": {"type": "integer", "minimum": 0},
            "max_chars": {"type": "integer", "minimum": 0},
            "ignore_case": {"type": "boolean"},
            "whole_words": {"type": "boolean", "description": "Of strings: find a text only as whole words."},
            "pattern": {**TEXT, "description": "A regular expression of RE2."},
            "mode": {**TEXT, "description": "search (the default), fullmatch or not."},
            "schema": {**OBJECT, "description": "JSON Schema, draft 2020-12 or 7."},
            "min": NUMBER,
            "max": NUMBER,
            "tolerance": {**NUMBER, "minimum": 0},
            "pick": {**TEXT, "description": "Which number of the text: last (the default), first or only."},
            "metric": {**TEXT, "description": "The measure of a similarity check."},
            "of": {**TEXT, "description": "What a count check counts: matches, chars, words, sentences or texts."},
            "each": {"type": "boolean", "description": "Count in every context by itself."},
            "unit": {**TEXT, "description": "Of duplication: sentences (the default) or words."},
            "n_words": {"type": "integer", "minimum": 2, "description": "Of duplication by words: how many in a row."},
            "beta": {**NUMBER, "description": "Of highlight: how much recall weighs against precision."},
            "checks": {**LIST, "description": "What all, any and weighted are composed of."},
            "weights": {**LIST, "description": "One number for each check of weighted."},
            "pass_threshold": {**NUMBER, "description": THRESHOLD["description"]},
            "input": {**ANY, "description": "Of OpenAI's graders: a template, or messages."},
            "reference": {**TEXT, "description": "Of OpenAI's graders: a template."},
            "evaluation_metric": {**TEXT, "description": "Of text_similarity."},
            "graders": {**OBJECT, "description": "Of multi."},
            "calculate_output": {**TEXT, "description": "Of multi."},
            "model": {**TEXT, "description": "Of score_model and label_model."},
            "range": {**LIST, "description": "Of score_model."},
            "labels": {**LIST, "description": "Of label_model."},
            "passing_labels": {**LIST, "description": "Of label_model."},
            "sampling_params": {**OBJECT, "description": "Of score_model and label_model."},
            **{
                name: setting
                for name, setting in CRITERIA_SETTINGS.items()
                if name not in ("labels", "pass_threshold", "unit", "veto")
            },
        }
    )
    managed_profiles = (
        ManagedProfile(
            "not-empty",
            "Passes when the output has a character that is not space.",
            {"type": "regex", "pattern": r"[^\s\pZ]"},
        ),
        ManagedProfile("parses-as-json", "Passes when the output is JSON and nothing else.", {"type": "json"}),
        ManagedProfile(
            "no-duplication", "Passes when no sentence of the output is said twice.", {"type": "duplication"}
        ),
        ManagedProfile(
            "mentions-gold-answer",
            "Passes when the output contains the gold answer as whole words, whatever the case.",
            {**_MENTIONS, "whole_words": True},
            earlier=(_MENTIONS,),
        ),
    )
    evaluators = (
        _CHECK,
        _CHECK.former(
            id="custom-2026-11-20",
            name="Custom check, earlier",
            description="The same, but numeric checks read runs of digits only: 3/4 is 4.",
        ),
    )

    def check_settings(self, settings: Settings) -> list[SettingsProblem]:
        """List all problems of a check, including those of its members and its schema."""
        if CRITERIA in settings:
            problems = criteria_problems(settings)
        else:
            problems = grader_problems(settings) if is_grader(settings) else check_problems(settings)
        found = {problem.pointer for problem in problems}
        fixed = [
            SettingsProblem(f"/{name}", "is set by the evaluator's id") for name in _CHECK.settings if name in settings
        ]
        return [*problems, *(problem for problem in fixed if problem.pointer not in found)]

    def lane_of(self, settings: Settings) -> Lane:
        """Return the judge lane for a check that queries a judge, the worker lane for one that needs the sentence
        model.
        """
        if CRITERIA in settings or (is_grader(settings) and asks_model(settings)):
            return Lane.JUDGE
        embeds = uses_embedding(settings) if is_grader(settings) else needs_model(settings)
        return Lane.CPU if embeds else Lane.INLINE

    def fields_for(self, settings: Settings) -> tuple[Field, ...]:
        """Name the inputs that the check reads, itself or by a template."""
        if CRITERIA in settings:
            return criteria_fields(settings)
        if "type" not in settings:
            return ()
        fields = fields_named(settings) if is_grader(settings) else fields_read(settings)
        return tuple(field for field in self.optional_fields if field in fields)

    def reads(self, settings: Settings) -> tuple[Field, ...]:
        """Name what the check names: it looks at nothing else, but criteria show a judge all there is."""
        if CRITERIA in settings:
            return super().reads(settings)
        return tuple(field for field in self.fields_for(settings) if field not in _fields_as_json(settings))

    def missing_fields(self, sample: Sample, settings: Settings) -> list[Field]:
        """As every family, but that an object is there where JSON is read, and that a row has columns of its own."""
        missing = super().missing_fields(_parse_json_fields(sample, settings), settings)
        return [name for name in missing if name not in _fields_in_row(sample, settings)]

    def find_unread_fields(self, sample: Sample, settings: Settings) -> list[Field]:
        """As every family, but for what is read from the row."""
        unread = super().find_unread_fields(sample, settings)
        return [name for name in unread if name not in _fields_in_row(sample, settings)]

    def score(self, sample: Sample, settings: Settings, *, explain: bool = True) -> Score:
        """Run the check. Raises CannotScore("missing_input") or ("input_too_long") where that cannot be done."""
        return _score(_check_versions(settings, _parse_json_fields(sample, settings), None), explain=explain)

    async def score_with(
        self, sample: Sample, settings: Settings, gateway: JudgeGateway, *, explain: bool = True
    ) -> Score:
        """Evaluate by the profile's criteria, as the family judge does, or run a grader that queries a model."""
        if CRITERIA in settings:
            return await judge_criteria(sample, settings, gateway, explain=explain)
        asker = GraderAsker(gateway, settings)
        with owing(asker.answers):
            sample_read = _parse_json_fields(sample, settings)
            graders = [
                grader for version in _versions(settings, sample_read) for grader in model_graders(settings, version)
            ]
            outcome = _check_versions(settings, sample_read, (await asker.ask_all(graders)).__getitem__)
        extra: dict[str, JSONValue] = {
            **injection_extra(injection_signs([sample.output or ""])),
            "answers": [dict(answer.data) for answer in asker.answers],
            "judge": sum_usage(asker.answers),
        }
        return _score(outcome, explain=explain, more=extra)

    def warm_up(self) -> None:
        """Import RE2 and the readers of JSON Schema."""
        self.score(Sample(output="{}"), {"type": "json", "schema": {"pattern": "warm"}})


def _fields_as_json(settings: Settings) -> set[Field]:
    if CRITERIA in settings or "type" not in settings:
        return set()
    return fields_named_as_json(settings) if is_grader(settings) else fields_as_json(settings)


def _fields_in_row(sample: Sample, settings: Settings) -> set[Field]:
    """Return the inputs that a grader reads from the columns of the sample's row, and from nowhere else."""
    if not sample.item or not is_grader(settings):
        return set()
    return fields_named(settings) - fields_named(settings, sample.item)


def _parse_json_fields(sample: Sample, settings: Settings) -> Sample:
    """Replace values that are not text with their JSON in the fields that the check parses as JSON.

    The check parses the JSON again; the text itself is never compared.
    """
    if not sample.unread or not (fields := _fields_as_json(settings) & set(sample.unread)):
        return sample
    texts = {field: json.dumps(sample.unread[field].value, ensure_ascii=False) for field in fields}
    gold = texts.get(Field.GOLD)
    return replace(
        sample,
        input=texts.get(Field.INPUT, sample.input),
        output=texts.get(Field.OUTPUT, sample.output),
        golds=sample.golds if gold is None else (AnswerText(gold),),
        system_prompt=texts.get(Field.SYSTEM_PROMPT, sample.system_prompt),
        contexts=(Passage(texts[Field.CONTEXT]),) if Field.CONTEXT in texts else sample.contexts,
        unread={field: invalid for field, invalid in sample.unread.items() if field not in fields},
    )


def _check_versions(settings: Settings, sample: Sample, ask: Ask | None) -> Outcome:
    """Run a check, once for each accepted answer; the best outcome counts.

    A question to a model contains all accepted answers, and highlights of all answers are expected together. A check
    for absence must pass for every answer: the worst outcome counts.
    """
    outcomes = [_run(settings, version, ask) for version in _versions(settings, sample)]
    if len(outcomes) == 1:
        [outcome] = outcomes
        n_golds = len(sample.golds or ())
        return (
            replace(outcome, detail={**outcome.detail, "references": n_golds})
            if _reads_golds(settings, sample)
            else outcome
        )
    choose = min if _looks_for_absence(settings) else max
    index = choose(range(len(outcomes)), key=lambda index: (outcomes[index].passed, outcomes[index].value))
    return replace(outcomes[index], detail={**outcomes[index].detail, "gold_index": index})


def _versions(settings: Settings, sample: Sample) -> list[Sample]:
    """Return what a check runs on: the sample, or one with each of its accepted answers."""
    if not _reads_golds(settings, sample) or settings["type"] in ASKING or reads_all_golds(settings):
        return [sample]
    return [replace(sample, golds=(gold,)) for gold in sample.golds or ()]


def _reads_golds(settings: Settings, sample: Sample) -> bool:
    """Return whether there are several accepted answers, and the check reads them."""
    read = fields_named(settings) if is_grader(settings) else fields_read(settings)
    return len(sample.golds or ()) > 1 and Field.GOLD in read


def _looks_for_absence(settings: Settings) -> bool:
    if is_grader(settings):
        return settings.get("operation") in ("ne", "neq")
    return looks_for_absence(settings)


def _run(settings: Settings, sample: Sample, ask: Ask | None) -> Outcome:
    return grade(settings, sample, ask) if is_grader(settings) else run_check(settings, sample)


def _score(found: Outcome, *, explain: bool, more: Mapping[str, JSONValue] | None = None) -> Score:
    because = found.because[0].upper() + found.because[1:] + "."
    return Score(
        value=float(found.value),
        passed=found.passed,
        explanation=because if explain else None,
        spans=found.spans or None,
        extra={**found.detail, **(more or {})},
    )
