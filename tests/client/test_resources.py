"""The nouns of the service in the client: Alice makes them, Bob may look, Charlie finds nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from evalsvc.client import Client, ForbiddenError, InvalidError, NotFoundError
from evalsvc.client.showing.records import Listing, ServiceObject
from tests.client.capitals import EXPECTED, INPUTS, knows
from tests.conftest import Caller

EXAMPLES = [{"id": "it", "input": "Italy", "expected": "Rome"}, {"id": "fr", "input": "France", "expected": "Paris"}]


@pytest.fixture
def reader(web: str, bob: Caller) -> Iterator[Client]:
    """Bob's client."""
    with Client(web, bob.key) as one:
        yield one


def test_datasets_are_made_read_and_deleted(client: Client, tmp_path: Path) -> None:
    made = client.datasets.create("capitals", EXAMPLES, description="Two of them")
    second = client.datasets.add_version(made, [EXAMPLES[0], {"id": "es", "input": "Spain", "expected": "Madrid"}])

    assert (made.version.number, made.version.n_examples, second.number) == (1, 2, 2)
    assert [one.name for one in client.datasets.list()] == ["capitals"]
    assert [one.number for one in client.datasets.versions(made)] == [2, 1]
    assert [one["input"] for one in client.datasets.examples(made, 1)] == ["Italy", "France"]
    assert [one["input"] for one in client.datasets.examples(made)] == ["Italy", "Spain"]
    difference = client.datasets.diff(made)
    assert (difference.n_added, difference.n_removed, difference.n_unchanged) == (1, 1, 1)
    path = client.datasets.download(made, tmp_path / "capitals.jsonl", 1)
    assert [json.loads(line)["id"] for line in path.read_text().splitlines()] == ["it", "fr"]
    assert client.datasets.update(made, name="cities").name == "cities"
    client.datasets.delete(made)
    assert client.datasets.find("cities") is None


def test_a_file_is_imported_with_its_columns_named(client: Client, tmp_path: Path) -> None:
    path = tmp_path / "fragen.csv"
    path.write_text("Frage,Antwort\nItalien,Rom\n", encoding="utf-8")
    made = client.datasets.import_file(path, mapping={"input": "Frage", "expected": "Antwort"})

    assert (made.name, made.version.format) == ("fragen", "csv")
    assert [one["expected"] for one in client.datasets.examples(made)] == ["Rom"]


def test_a_bad_row_is_named_with_what_to_do(client: Client) -> None:
    with pytest.raises(InvalidError) as caught:
        client.datasets.create("bad", [{"input": "a"}, {"expected": "b"}])

    assert caught.value.errors[0].pointer.startswith("/file/line/2")
    assert caught.value.remedy
    with pytest.raises(ValueError, match=r"\.xlsx"):
        client.datasets.download("1", "a.xlsx")


def test_whoever_reads_may_look_and_strangers_find_nothing(client: Client, reader: Client, stranger: Client) -> None:
    made = client.datasets.create("capitals", EXAMPLES)

    assert reader.datasets.get(made).name == "capitals"
    with pytest.raises(ForbiddenError):
        reader.datasets.delete(made)
    assert list(stranger.datasets.list()) == []
    with pytest.raises(NotFoundError):
        stranger.datasets.get(made)
    with pytest.raises(NotFoundError):
        list(stranger.datasets.examples(made))


def test_evaluators_are_made_changed_and_run(client: Client, reader: Client) -> None:
    client.profiles.create("metrics", "near", {"metric": "squad_f1", "pass_threshold": 0.8})
    made = client.evaluators.create("near", "metrics-2026-11-28", default_criteria="near", aliases=["squad"])

    assert (made.name, made.base, made.evaluator_family, made.aliases) == ("near", made.base, "metrics", ["squad"])
    assert next(iter(client.evaluators.list())).id == "near"
    assert client.evaluate("squad", output="Paris", gold_answer="Paris").passed is True
    assert client.evaluators.update(made, aliases=["nearly"]).aliases == ["nearly"]
    found = reader.evaluators.get("nearly")
    assert (found.id, found.default_criteria, found.card is None) == ("near", "near", False)
    with pytest.raises(ForbiddenError):
        reader.evaluators.update(made, name="other")
    with pytest.raises(InvalidError, match="/base"):
        client.evaluators.create("far", "metrics")


def test_profiles_are_revised_and_archived(client: Client) -> None:
    made = client.profiles.create("metrics", "close", {"metric": "squad_f1", "pass_threshold": 0.8})
    again = client.profiles.revise("close", {"metric": "squad_f1", "pass_threshold": 0.9})

    assert (made.revision, again.revision, client.profiles.get("close").config["pass_threshold"]) == (1, 2, 0.9)
    assert [one.name for one in client.profiles.list(managed=False)] == ["close"]
    assert len(list(client.profiles.list(name="close", all_revisions=True))) == 2
    client.profiles.archive("close")
    assert [one.name for one in client.profiles.list(managed=False, archived=True)] == ["close"]
    with pytest.raises(KeyError, match="no profile 'close'"):
        client.profiles.get("close")


def test_connections_never_show_their_key(client: Client) -> None:
    made = client.connections.create(
        "house", base_url="https://llm.example.com/v1", model="small-1", key="sk-0123456789abcdefghij", rpm=500
    )

    assert (made.key_set, made.key_last4, made.rpm) == (True, "ghij", 500)
    assert "0123456789" not in repr(made.raw)
    assert client.connections.update(made, rpm=None).rpm is None
    assert [one.name for one in client.connections.list()] == ["house"]
    client.connections.delete(made)
    assert client.connections.list().first() is None


def test_captured_evaluations_are_found(client: Client) -> None:
    client.evaluate("exact-match", output="Rome", gold="Rome", app="shop", capture="all")
    client.evaluate("exact-match", output="Lyon", gold="Paris", app="shop", capture="all")
    low = {"field": "score", "operation": "lt", "value": 0.5}

    assert len(list(client.evaluations.search(app="shop", page_size=1))) == 2
    (found,) = client.evaluations.search(low, app="shop", passed=False)
    assert (found.score, found.passed, client.evaluations.get(found).id) == (0.0, False, found.id)
    client.evaluations.delete(found)
    assert client.evaluations.delete_all(app="shop") == 1
    with pytest.raises(InvalidError, match="filter"):
        client.evaluations.delete_all()


def test_saved_searches_find_what_they_find_now(client: Client, reader: Client, stranger: Client) -> None:
    made = client.saved_searches.create("failures", {"app": "shop", "result": "fail"})
    found = reader.saved_searches.evaluations(made)
    assert list(found) == []
    client.evaluate("exact-match", output="Lyon", gold="Paris", app="shop", capture="all")

    assert [one.passed for one in found] == [False]
    assert client.saved_searches.update(made, query={"min": 0.5}).query == {"min": "0.5"}
    assert client.saved_searches.update(made, name="good").name == "good"
    assert [one.name for one in reader.saved_searches.list()] == ["good"]
    assert list(found) == []
    with pytest.raises(ForbiddenError):
        reader.saved_searches.delete(made)
    with pytest.raises(NotFoundError):
        stranger.saved_searches.get(made)
    client.saved_searches.delete(made)
    assert client.saved_searches.list().first() is None


def test_scores_from_elsewhere_are_brought_in_once(client: Client) -> None:
    rows: list[dict[str, object]] = [
        {"evaluator_id": "tone", "log_id": "a", "score_raw": 1, "pass": True, "app": "letters"},
        {"evaluator_id": "tone", "log_id": "b"},
    ]
    first, second = client.evaluations.import_results(rows), client.evaluations.import_results(rows)

    assert [(row["log_id"], reason.split(":")[0]) for row, reason in first.refused] == [("b", "/score_raw")]
    assert [id for _, id in first.kept] == [id for _, id in second.kept]
    assert [one.evaluator_id for one in client.evaluations.search(app="letters")] == ["external:tone"]


def test_people_s_labels_are_kept_and_replaced(client: Client) -> None:
    criteria = client.annotations.create_criteria("polite", project="reviews", description="Is it?")
    client.annotations.label(criteria, True, log="log-1")
    client.annotations.label(criteria, False, log="log-1", explanation="Not at all.")

    (label,) = client.annotations.list(type="log", reference="log-1")
    assert (label.value_pass, label.value_score, label.explanation) == (False, 0.0, "Not at all.")
    assert [one.name for one in client.annotations.criteria(criteria.project_id)] == ["polite"]
    with pytest.raises(ValueError, match="one thing"):
        client.annotations.label(criteria, True, log="a", span="b")
    client.annotations.delete_criteria(criteria)
    assert client.annotations.criteria(criteria.project_id).first() is None


def test_experiments_are_found_steered_and_read(client: Client, stranger: Client) -> None:
    run = client.experiment(
        "two", {"a": knows, "b": knows}, INPUTS, EXPECTED, evaluators="exact-match", policy="manual", progress=False
    )
    found = client.experiments.list(name="two").first()
    assert found is not None
    assert (found.id, found.state) == (run.id, "done")
    assert client.experiments.metrics(found, "a")["exact-match"].value == 0.75
    worst = client.experiments.results(found, "a", order_by="exact-match").first()
    assert worst is not None
    assert (worst.output, worst.cells()["exact-match"]) == ({"output": "Barcelona"}, 0.0)
    assert client.experiments.recount(found)["equal"]
    id = client.experiments.clone(found, "a", {"k": 3}, name="c")
    assert client.experiments.stop(found, "c").config(id).state == "stopped"
    assert client.experiments.resume(found, "c").config(id).is_alive
    with pytest.raises(NotFoundError):
        stranger.experiments.get(found)
    client.experiments.delete(found)
    assert client.experiments.list(name="two").first() is None


def test_an_experiment_that_has_ended_is_amended(client: Client, reader: Client) -> None:
    run = client.experiment("amended", {"a": knows}, INPUTS, EXPECTED, evaluators="exact-match", progress=False)
    outputs = list(client.experiments.results(run.id, "a"))

    scores = {output.id: float(i) for i, output in enumerate(outputs)}
    assert client.experiments.add_scores(run.id, "stars", scores, value_range=(0, 3)) == len(outputs)
    assert client.experiments.add_scores(run.id, "stars", scores, value_range=(0, 3)) == 0
    changed = client.experiments.update(run.id, name="renamed", tags={"team": "a"})
    (added,) = client.experiments.add_configs(run.id, [{"name": "late", "kind": "push"}])

    assert client.experiments.metrics(run.id, "a")["stars"].value == 1.5
    assert (changed.name, changed.tags) == ("renamed", {"team": "a"})
    assert client.experiments.live(run.id).config("late").id == added
    with pytest.raises(ForbiddenError):
        reader.experiments.update(run.id, name="mine")
    with pytest.raises(InvalidError, match="nme"):
        client.experiments.update(run.id, nme="x")


def test_a_list_is_read_anew_and_drawn_without_running_anything() -> None:
    reads: list[int] = []

    def read() -> Iterator[ServiceObject]:
        reads.append(1)
        return iter([NamedObject(name="<script>alert(1)</script>")] * 30)

    listing = Listing(read)

    assert [len(list(listing)), len(list(listing)), len(reads)] == [30, 30, 2]
    drawn = listing._repr_html_()
    assert "<script>" not in drawn
    assert drawn.count("&lt;script&gt;") == 20
    assert "and more" in drawn


class NamedObject(ServiceObject):
    """An object with one member."""

    name: str

    def __init__(self, name: str) -> None:
        object.__setattr__(self, "name", name)

    def cells(self) -> dict[str, object]:
        """Return the member."""
        return {"name": self.name}
