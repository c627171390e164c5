"""Find a family by name, and an evaluator by its dated id or an alias."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path

from evaluators.base import EvaluatorSpec, Family
from evaluators.families.classifier import Classifier
from evaluators.families.custom import Custom
from evaluators.families.exact_match import ExactMatch
from evaluators.families.judge import Judge
from evaluators.families.judge_conversation import ConversationJudge
from evaluators.families.judge_pairwise import PairwiseJudge
from evaluators.families.metrics import Metrics
from evaluators.families.phi import Phi
from evaluators.families.pii import Pii
from evaluators.families.rag_metrics import RagMetrics
from evaluators.families.retrieval.answer_relevance import AnswerRelevance
from evaluators.families.retrieval.context_relevance import ContextRelevance
from evaluators.families.retrieval.context_sufficiency import ContextSufficiency
from evaluators.families.retrieval.hallucination import Hallucination
from evaluators.families.toxicity import Toxicity
from evaluators.families.trajectory import Trajectory
from evaluators.families.webhook import Webhook
from evaluators.folders import load_folders
from evaluators.plugins import BrokenPlugin, installed, load_plugins

# One line per family. What a family loads, it loads at its first score or in `warm_up`, so this stays cheap to import.
_FAMILIES: tuple[Family, ...] = (
    ExactMatch(),
    Metrics(),
    Pii(),
    Toxicity(),
    Phi(),
    Judge(),
    PairwiseJudge(),
    ConversationJudge(),
    RagMetrics(),
    Classifier(),
    Webhook(),
    Custom(),
    Hallucination(),
    AnswerRelevance(),
    ContextRelevance(),
    ContextSufficiency(),
    Trajectory(),
)


_model_root: Path | None = None


def use_models(root: Path | None) -> None:
    """Read models from the folders in `root` from now on; the registry is built again at its next use."""
    global _built, _model_root
    with _building:
        _model_root, _built = root, None


class UnknownFamily(KeyError):
    """No family has this name."""

    def __str__(self) -> str:
        return f"no evaluator family is named {self.args[0]!r}"


@dataclass(frozen=True, slots=True)
class _Registry:
    families: tuple[Family, ...]
    by_name: dict[str, Family]
    evaluators: dict[str, tuple[Family, EvaluatorSpec]]
    broken: tuple[BrokenPlugin, ...]


def families() -> tuple[Family, ...]:
    """List every family, in the order that the API shows them: our own, then those of other packages."""
    return _registry().families


def list_broken_plugins() -> tuple[BrokenPlugin, ...]:
    """List the families of other packages that were left out, each with the reason."""
    return _registry().broken


def get_family(name: str) -> Family:
    """Return the family of this name, or raise UnknownFamily."""
    family = _registry().by_name.get(name)
    if family is None:
        raise UnknownFamily(name)
    return family


def all_evaluators() -> tuple[tuple[Family, EvaluatorSpec], ...]:
    """List every runnable evaluator with its family."""
    return tuple((family, spec) for family in families() for spec in family.evaluators)


def find_evaluator(id_or_alias: str) -> tuple[Family, EvaluatorSpec] | None:
    """Resolve a dated id, an alias or a bare family name (its first evaluator); None when nothing answers to it."""
    return _registry().evaluators.get(id_or_alias)


def evaluator_names() -> tuple[str, ...]:
    """List everything that `find_evaluator` answers to."""
    return tuple(_registry().evaluators)


_built: _Registry | None = None
# Reentrant: a package can access the registry while it is being imported.
_building = threading.RLock()


def _registry() -> _Registry:
    """Build the registry at its first use, once: other packages are imported here, and not with this module."""
    global _built
    if _built is None:
        with _building:
            if _built is None:
                _built = _build()
    return _built


def _build() -> _Registry:
    own, broken = load_folders(_model_root, _FAMILIES)
    plugins = load_plugins(installed(), (*_FAMILIES, *own))
    every = (*_FAMILIES, *own, *plugins.families)
    return _Registry(every, {family.name: family for family in every}, _index_names(every), (*broken, *plugins.broken))


def _index_names(every: tuple[Family, ...]) -> dict[str, tuple[Family, EvaluatorSpec]]:
    names: dict[str, tuple[Family, EvaluatorSpec]] = {}
    for family in every:
        for spec in family.evaluators:
            for name in (spec.id, *spec.aliases):
                if name in names:
                    raise ValueError(f"two evaluators answer to {name!r}")
                names[name] = (family, spec)
    for family in every:
        names.setdefault(family.name, (family, family.evaluators[0]))
    return names
