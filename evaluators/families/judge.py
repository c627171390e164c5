"""Judge: does the sample meet criteria written in plain words?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from evaluators.base import (
    EvaluatorSpec,
    Family,
    Field,
    Lane,
    Sample,
    Score,
    Settings,
    SettingsProblem,
)
from evaluators.cards.texts import plain as card_texts
from evaluators.gateway import JudgeGateway
from evaluators.judging.attachments import media_read
from evaluators.judging.criteria import MANAGED
from evaluators.judging.forms import is_csv, is_json
from evaluators.judging.questions.plain_words import (
    CRITERIA_SETTINGS,
    WORDS,
    criteria_fields,
    criteria_problems,
    judge_criteria,
)
from evaluators.judging.settings import EXACTING, find_before_exacting, find_before_strict
from evaluators.score_map import SCORE_MAP
from evaluators.settings import object_schema
from evaluators.values import ALL_PARTS, GENERATED, SAMPLED

_BY_JUDGE = EvaluatorSpec(
    id="judge-2026-11-30",
    name="Judge",
    description="An LLM of your choice decides by criteria in plain words.",
    aliases=("judge", "judge-small", "judge-large", "glider"),
    settings=EXACTING,
    formula="the judge's verdict by the profile's criteria",
    output_types=(GENERATED,),
    components=ALL_PARTS,
    judge_calls=SAMPLED,
)


def _build_attachment_spec(name: str, attachments: str, title: str, description: str, *aliases: str) -> EvaluatorSpec:
    return replace(
        _BY_JUDGE,
        id=f"{name}-2026-11-30",
        name=title,
        description=description,
        aliases=(name, *aliases),
        settings={**EXACTING, "attachments": attachments},
    )


_BY_IMAGE = _build_attachment_spec(
    "judge-image",
    "images",
    "Judge, images",
    "An LLM of your choice that sees attached images decides by criteria in plain words.",
    "judge-image-small",
    "judge-image-large",
)
_BY_AUDIO = _build_attachment_spec(
    "judge-audio",
    "recordings",
    "Judge, recordings",
    "An LLM of your choice that hears attached recordings decides by criteria in plain words.",
)
_BY_ANY = _build_attachment_spec(
    "judge-mm",
    "any",
    "Judge, multimodal",
    "An LLM of your choice that sees and hears what is attached decides by criteria in plain words.",
)


class Judge(Family):
    """Evaluate a sample against the profile's criteria with an LLM; two managed profiles only parse the output.

    The criteria are the account's own text and are trusted; the sample is not, and is passed to the judge as data. The
    score is the judge's, limited to the proportion of the requirements that it marked as met; or that of a rubric or a
    label.
    """

    name = "judge"
    description = "Judges a sample by criteria in plain words, with a rubric or labels; asks an LLM of yours."
    question = "Does it meet my criteria?"
    lane = Lane.JUDGE
    binary = False
    by_verdict = True
    required_fields = ()
    optional_fields = tuple(WORDS.values())
    accepts_own_profiles = True
    profiles_decide = True
    cards = card_texts.JUDGE
    settings_schema = object_schema(
        {
            **CRITERIA_SETTINGS,
            "score_map": SCORE_MAP,
            "check": {
                "type": "string",
                "enum": ["json", "csv"],
                "description": "A form to check by parsing, in place of criteria.",
            },
        }
    )
    managed_profiles = MANAGED
    evaluators = (
        _BY_JUDGE,
        _BY_IMAGE,
        _BY_AUDIO,
        _BY_ANY,
        find_before_exacting(_BY_JUDGE, "judge-2026-11-23"),
        find_before_exacting(_BY_IMAGE, "judge-image-2026-11-23"),
        find_before_exacting(_BY_AUDIO, "judge-audio-2026-11-23"),
        find_before_exacting(_BY_ANY, "judge-mm-2026-11-23"),
        find_before_strict(_BY_JUDGE, "judge-2026-11-20"),
    )

    def check_settings(self, settings: Settings) -> list[SettingsProblem]:
        """Check that there are criteria or a form to check, and that a rubric or labels make sense."""
        return super().check_settings(settings) if "check" in settings else criteria_problems(settings)

    def lane_of(self, settings: Settings) -> Lane:
        """Return the request lane for profiles that only parse, the judge lane for those that query an LLM."""
        return Lane.INLINE if "check" in settings else Lane.JUDGE

    def fields_for(self, settings: Settings) -> tuple[Field, ...]:
        """Name the fields that the criteria speak of."""
        return (Field.OUTPUT,) if "check" in settings else criteria_fields(settings)

    def reads(self, settings: Settings) -> tuple[Field, ...]:
        """Name what is judged: a form is that of the output, and a judge is shown all there is."""
        return self.fields_for(settings) if "check" in settings else super().reads(settings)

    def unsupported_fields(self, sample: Sample, settings: Settings) -> list[Field]:
        """Let what the evaluator's id can read pass; a form is that of the text alone."""
        read = frozenset[str]() if "check" in settings else media_read(settings)
        is_read = all(attachment.media_type in read for attachment in sample.attachments)
        return [] if is_read else super().unsupported_fields(sample, settings)

    def score(self, sample: Sample, settings: Settings, *, explain: bool = True) -> Score:
        """Check the form that the profile names."""
        form = str(settings["check"])
        passed = _FORMS[form](sample.output or "")
        because = f"The output {'is' if passed else 'is not'} valid {form.upper()}."
        return Score(float(passed), passed, because if explain else None, extra={"check": form})

    async def score_with(
        self, sample: Sample, settings: Settings, gateway: JudgeGateway, *, explain: bool = True
    ) -> Score:
        """Query an LLM. A sample without any text to judge is decided by `blank_output`, without a query."""
        if "check" in settings:
            return self.score(sample, settings, explain=explain)
        return await judge_criteria(sample, settings, gateway, explain=explain)


_FORMS: dict[str, Callable[[str], bool]] = {"json": is_json, "csv": is_csv}
