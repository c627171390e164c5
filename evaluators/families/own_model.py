"""Own model: models in folders of the operator, which run on the cpu lane."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from evaluators.base import EvaluatorSpec, Family, Field, Lane, ManagedProfile, Sample, Score, Settings
from evaluators.cards.texts import plain as card_texts
from evaluators.classification.comparison import get_threshold, name_fields
from evaluators.classification.folder import ModelFolder
from evaluators.settings import THRESHOLD, object_schema
from evaluators.values import ALL_PARTS, GENERATED, JSONValue
from evaluators.veto import VETO

FOLDER = "folder"


class OwnModel(Family):
    """Score by the models of folders, each of them an evaluator; there is one instance for all folders."""

    name = "own-model"
    description = "Scores by a model of your own, in a folder of the server."
    question = "Does it meet my criteria?"
    lane = Lane.CPU
    binary = False
    required_fields = ()
    optional_fields = (Field.INPUT, Field.OUTPUT, Field.CONTEXT)
    accepts_own_profiles = True
    cards = card_texts.OWN_MODEL
    settings_schema = object_schema(
        {
            "pass_threshold": {**THRESHOLD, "description": "The lowest score that passes. Default: the folder's own."},
            "veto": VETO,
        }
    )
    managed_profiles = (ManagedProfile("own-model", "As the folder of the model says."),)

    def __init__(self, folders: Sequence[ModelFolder]) -> None:
        self._folders: Mapping[str, ModelFolder] = {folder.id: folder for folder in folders}
        self.evaluators = tuple(build_spec(folder) for folder in folders)

    def fields_for(self, settings: Settings) -> tuple[Field, ...]:
        """Need the texts that the model is given."""
        return name_fields(self._folder(settings).settings)

    def reads(self, settings: Settings) -> tuple[Field, ...]:
        """Name the texts that the model is given."""
        return self.fields_for(settings)

    def threshold_for(self, sample: Sample, settings: Settings) -> float | None:
        """Return the profile's threshold, else the folder's."""
        return get_threshold({**self._folder(settings).settings, **settings})

    def score(self, sample: Sample, settings: Settings, *, explain: bool = True) -> Score:
        """Run the model over every window. Raises CannotScore for a folder or an answer that cannot be used."""
        from evaluators.classification.onnx_model import load_model, score_by_model

        folder = self._folder(settings)
        return score_by_model(load_model(folder), sample, {**folder.settings, **settings}, explain=explain)

    def warm_up(self) -> None:
        """Load every model, so that a worker pays before it takes work."""
        from evaluators.classification.onnx_model import load_model

        for folder in self._folders.values():
            load_model(folder)

    def _folder(self, settings: Settings) -> ModelFolder:
        return self._folders.get(str(settings.get(FOLDER))) or next(iter(self._folders.values()))


def build_spec(folder: ModelFolder) -> EvaluatorSpec:
    """Return the evaluator of a folder; its alias is the id without the date."""
    about, task = folder.about, folder.settings["task"]
    fixed: dict[str, JSONValue] = {FOLDER: folder.id}
    alias = folder.id.rsplit("-", 3)[0]
    return EvaluatorSpec(
        id=folder.id,
        name=about.name or alias,
        description=about.description or f"A model of the operator for {task}, under the licence {about.licence}.",
        aliases=(alias,),
        default_profile="own-model",
        settings=fixed,
        formula=f"the probability of the good label; passes from {get_threshold(folder.settings):g}",
        output_types=(GENERATED,),
        components=ALL_PARTS,
    )
