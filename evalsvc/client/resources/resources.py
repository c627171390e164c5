"""The nouns of the service as attributes of the client."""

from __future__ import annotations

from evalsvc.client.resources.annotations import AnnotationsApi
from evalsvc.client.resources.benchmarks import BenchmarksApi
from evalsvc.client.resources.comparisons import ComparisonsApi
from evalsvc.client.resources.connections import ConnectionsApi
from evalsvc.client.resources.datasets import DatasetsApi
from evalsvc.client.resources.evaluations import EvaluationsApi
from evalsvc.client.resources.evaluators import EvaluatorsApi
from evalsvc.client.resources.experiments import StoredExperiments
from evalsvc.client.resources.gates import GatesApi
from evalsvc.client.resources.monitors import AlarmsApi, MonitorsApi
from evalsvc.client.resources.profiles import ProfilesApi
from evalsvc.client.resources.reviews import ReviewsApi
from evalsvc.client.resources.rules import RulesApi
from evalsvc.client.resources.saved_searches import SavedSearchesApi
from evalsvc.client.service.service import Service


class Resources(Service):
    """The part of the client that lists, makes and changes what the account has."""

    @property
    def datasets(self) -> DatasetsApi:
        """Lists of examples, frozen by version."""
        return DatasetsApi(self._transport)

    @property
    def evaluators(self) -> EvaluatorsApi:
        """What can be run, and evaluators of the account's own."""
        return EvaluatorsApi(self._transport)

    @property
    def profiles(self) -> ProfilesApi:
        """Named settings of evaluators."""
        return ProfilesApi(self._transport)

    @property
    def connections(self) -> ConnectionsApi:
        """LLMs that evaluators call."""
        return ConnectionsApi(self._transport)

    @property
    def evaluations(self) -> EvaluationsApi:
        """What was captured, and scores that were made elsewhere."""
        return EvaluationsApi(self._transport)

    @property
    def saved_searches(self) -> SavedSearchesApi:
        """Filters of evaluations under a name, as the account shares them."""
        return SavedSearchesApi(self._transport)

    @property
    def annotations(self) -> AnnotationsApi:
        """Questions that people answer, and their labels."""
        return AnnotationsApi(self._transport)

    @property
    def experiments(self) -> StoredExperiments:
        """Experiments of the service, including those of other clients."""
        return StoredExperiments(self._transport)

    @property
    def gates(self) -> GatesApi:
        """Decisions about candidates."""
        return GatesApi(self._transport)

    @property
    def reviews(self) -> ReviewsApi:
        """Questions to people."""
        return ReviewsApi(self._transport)

    @property
    def comparisons(self) -> ComparisonsApi:
        """Judgements of pairs, and rankings."""
        return ComparisonsApi(self._transport)

    @property
    def benchmarks(self) -> BenchmarksApi:
        """Frozen questions, and their answers over time."""
        return BenchmarksApi(self._transport)

    @property
    def rules(self) -> RulesApi:
        """Rules that score live spans."""
        return RulesApi(self._transport)

    @property
    def monitors(self) -> MonitorsApi:
        """Histories that are watched for a change."""
        return MonitorsApi(self._transport)

    @property
    def alarms(self) -> AlarmsApi:
        """Changes that monitors have detected."""
        return AlarmsApi(self._transport)
