"""From the names in a request to what runs: every way to name an evaluator and a profile."""

from __future__ import annotations

import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from evalsvc.accounts.access.rate_limiter import count_requests
from evalsvc.catalog import resolve as resolve_module
from evalsvc.catalog.managed import managed_profiles
from evalsvc.catalog.models import Evaluator
from evalsvc.catalog.resolve import OwnCatalog, ResolvedEvaluator, UnresolvedEvaluator, load_own_catalog, resolve
from evalsvc.catalog.services import archive_profile, create_profile, revise_profile, save_evaluator, switch_evaluator
from evalsvc.tenancy import rows
from evalsvc.tenancy.scope import account_scope
from evaluators.registry import all_evaluators, families
from tests.conftest import Caller, wait_until

EXACT, NORMALISED, METRICS = "exact-match-2026-11-28", "exact-match-normalised-2026-11-28", "metrics-2026-11-28"


def found(caller: Caller, evaluator: str, profile: str | None = None, epoch: str | None = None) -> ResolvedEvaluator:
    return resolve(account_id=caller.account.pk, epoch=epoch, evaluator=evaluator, profile=profile)


def code(caller: Caller, evaluator: str, profile: str | None = None) -> str:
    with pytest.raises(UnresolvedEvaluator) as caught:
        found(caller, evaluator, profile)
    assert caught.value.message
    return caught.value.code


def own(caller: Caller, name: str, base: str = EXACT, **fields: Any) -> Evaluator:
    row = Evaluator(evaluator_id=name, base=base, name=name, **fields)
    return save_evaluator(account=caller.account, evaluator=row, actor="test")


def profile(caller: Caller, name: str, metric: str = "bleu") -> Any:
    made = create_profile(
        account=caller.account, family="metrics", name=name, settings={"metric": metric}, actor="test"
    )
    return made.profile


def revise(caller: Caller, row: Any, metric: str) -> None:
    revise_profile(account=caller.account, profile=row, settings={"metric": metric}, actor="test")


WITH_PROFILES = [family for family in families() if family.managed_profiles]


@pytest.mark.parametrize(
    ("family", "spec"),
    [pair for pair in all_evaluators() if pair[0] in WITH_PROFILES],
    ids=lambda value: getattr(value, "id", ""),
)
def test_a_managed_evaluator_answers_to_its_id_and_its_aliases(alice: Caller, family: Any, spec: Any) -> None:
    wanted = None if spec.default_profile else family.managed_profiles[0].name
    for name in (spec.id, *spec.aliases):
        run = found(alice, name, wanted)
        assert (run.evaluator_id, run.spec, run.family) == (spec.id, spec, family)
        assert run.profile.family == family.name


@pytest.mark.parametrize("family", WITH_PROFILES, ids=lambda family: family.name)
def test_a_family_s_name_means_its_first_evaluator(alice: Caller, family: Any) -> None:
    run = found(alice, family.name, family.managed_profiles[0].name)

    assert run.spec == family.evaluators[0]


@pytest.mark.parametrize(
    "name", ["", "nobody", "EXACT-MATCH", "exact-match ", "exact-match-2026", "patronus:exact-match"]
)
def test_nothing_else_is_an_evaluator(alice: Caller, name: str) -> None:
    assert code(alice, name) == "unknown_evaluator"


@pytest.mark.parametrize(
    ("name", "profile"),
    [
        ("mrr", "mrr"), ("MAP", "map"), ("recall", "recall"), ("recall_single_hit", "recall-single-hit"),
        ("ndcg@10", "ndcg-at-10"), ("f1", "compute-squad-f1"), ("em", "compute-squad-em"), ("squad_f1", "compute-squad-f1"),
        ("bleu", "compute-bleu"), ("rouge", "compute-rouge"), ("rougeL", "compute-rouge"), ("sas", "compute-sas"),
    ],
)  # fmt: skip
def test_a_metric_answers_to_its_own_name(alice: Caller, name: str, profile: str) -> None:
    run = found(alice, name)

    assert (run.spec.id, run.profile.name) == (METRICS, f"patronus:{profile}")


def test_an_own_evaluator_outranks_the_name_of_a_metric(alice: Caller) -> None:
    row = own(alice, "mrr")

    assert found(alice, "mrr").spec.id == EXACT
    switch_evaluator(account=alice.account, evaluator=row, is_enabled=False, actor="test")
    assert code(alice, "mrr") == "evaluator_disabled"
    assert code(alice, "recall", "compute-bleu") == "unknown_evaluator"


def test_a_near_name_of_a_metric_is_suggested(alice: Caller) -> None:
    with pytest.raises(UnresolvedEvaluator, match="Did you mean `recall"):
        found(alice, "recal")


def test_what_the_id_promises_is_part_of_what_runs(alice: Caller) -> None:
    assert found(alice, EXACT).settings != found(alice, NORMALISED).settings


@pytest.mark.parametrize("empty", [None, ""])
def test_no_profile_means_the_default_or_a_question_back(alice: Caller, empty: str | None) -> None:
    assert found(alice, EXACT, empty).profile.name == "patronus:exact-match"
    assert code(alice, METRICS, empty) == "profile_required"
    with pytest.raises(UnresolvedEvaluator, match="patronus:compute-bleu"):
        found(alice, METRICS, empty)


@pytest.mark.parametrize("spelling", ["patronus:hallucination", "system:hallucination", "hallucination:1"])
def test_a_managed_profile_answers_to_its_aliases(alice: Caller, spelling: str) -> None:
    assert found(alice, "lynx", spelling).profile.name == "patronus:detect-rag-hallucination"


@pytest.mark.parametrize("name", sorted(managed_profiles()))
def test_all_spellings_of_a_managed_profile_are_one(alice: Caller, name: str) -> None:
    row = managed_profiles()[name]
    last = len(row.revisions)
    for bare in (name, f"patronus:{name}", f"system:{name}"):
        for spelling in (bare, f"{bare}:{last}"):
            state = found(alice, row.family.name, spelling).profile
            assert (state.id, state.name, state.revision) == (row.id, row.name, last)
            assert dict(state.settings) == dict(row.settings)
        first = found(alice, row.family.name, f"{bare}:1").profile
        assert (first.revision, dict(first.settings)) == (1, dict(row.revisions[0]))


@pytest.mark.parametrize(
    "spelling",
    [
        "patronus:mine",
        "system:mine",
        "mine:0",
        "mine:3",
        "mine:1:1",
        "mine:-1",
        "mine:1 ",
        "mine:\u0661",
        "Mine",
        " mine",
        "mine:" + "9" * 9,
        "mine:" + "9" * 400,
        "mine:",
        ":1",
        ":",
        "patronus:",
        "patronus::1",
        "compute-bleu:0",
    ],
)
def test_what_looks_like_a_profile_and_is_none(alice: Caller, spelling: str) -> None:
    row = profile(alice, "mine")
    revise(alice, row, "squad_f1")

    assert code(alice, METRICS, spelling) == "unknown_profile"


def test_each_revision_runs_as_it_was_and_the_bare_name_is_the_last(alice: Caller) -> None:
    row = profile(alice, "mine", "bleu")
    revise(alice, row, "squad_em")
    revise(alice, row, "squad_f1")

    states = {name: found(alice, METRICS, name).profile for name in ("mine:1", "mine:2", "mine:3", "mine", "mine:003")}
    assert [state.settings["metric"] for state in states.values()] == ["bleu", "squad_em", *["squad_f1"] * 3]
    assert [state.revision for state in states.values()] == [1, 2, 3, 3, 3]
    assert {(state.id, state.name) for state in states.values()} == {(row.id, "mine")}


def test_an_archived_profile_runs_in_none_of_its_revisions(alice: Caller) -> None:
    row = profile(alice, "mine")
    revise(alice, row, "squad_f1")
    archive_profile(account=alice.account, profile=row, now=row.created_at, actor="test")

    assert {code(alice, METRICS, name) for name in ("mine", "mine:1", "mine:2")} == {"unknown_profile"}


def test_a_profile_of_another_family_is_unknown_here(alice: Caller) -> None:
    profile(alice, "mine")

    assert code(alice, EXACT, "mine") == "unknown_profile"
    assert code(alice, EXACT, "compute-bleu") == "unknown_profile"


def test_an_own_evaluator_answers_to_its_id_and_its_aliases_as_itself(alice: Caller) -> None:
    own(alice, "strict", NORMALISED, aliases=["s1", "s 2"])

    for name in ("strict", "s1", "s 2"):
        run = found(alice, name)
        assert (run.evaluator_id, run.spec.id) == ("strict", NORMALISED)
        assert run.settings == found(alice, NORMALISED).settings
    assert found(alice, NORMALISED).evaluator_id == NORMALISED


@pytest.mark.parametrize(("default", "revision"), [("mine", 2), ("mine:1", 1), ("compute-rouge", 1)])
def test_an_own_evaluator_brings_its_default_and_a_named_profile_outranks_it(
    alice: Caller, default: str, revision: int
) -> None:
    row = profile(alice, "mine")
    revise(alice, row, "squad_f1")
    own(alice, "ours", METRICS, default_profile=default)

    assert found(alice, "ours").profile == found(alice, METRICS, default).profile
    assert found(alice, "ours").profile.revision == revision
    assert found(alice, "ours", "compute-bleu").profile.name == "patronus:compute-bleu"
    assert code(alice, METRICS) == "profile_required"


def test_a_row_under_a_managed_id_speaks_for_every_name_of_it(alice: Caller) -> None:
    own(alice, METRICS, METRICS, default_profile="compute-rouge")

    for name in (METRICS, "metrics"):
        assert found(alice, name).profile.name == "patronus:compute-rouge"


def test_switched_off_is_off_by_every_name_and_for_this_account_only(alice: Caller, charlie: Caller) -> None:
    row = own(alice, "strict", aliases=["s"])
    switch_evaluator(account=alice.account, evaluator=row, is_enabled=False, actor="test")
    managed = Evaluator.objects.get(account=None, evaluator_id=METRICS)
    switch_evaluator(account=alice.account, evaluator=managed, is_enabled=False, actor="test")

    assert {code(alice, name) for name in ("strict", "s", METRICS, "metrics")} == {"evaluator_disabled"}
    assert found(alice, EXACT).evaluator_id == EXACT
    assert found(charlie, METRICS, "compute-bleu").evaluator_id == METRICS


def test_another_account_s_names_are_unknown(alice: Caller, charlie: Caller) -> None:
    own(alice, "strict", aliases=["s"])
    profile(alice, "mine")

    assert {code(charlie, name) for name in ("strict", "s")} == {"unknown_evaluator"}
    assert {code(charlie, METRICS, name) for name in ("mine", "mine:1")} == {"unknown_profile"}


def test_two_accounts_mean_their_own_by_one_name(alice: Caller, charlie: Caller) -> None:
    ids = set()
    for caller, metric, base in ((alice, "bleu", EXACT), (charlie, "squad_f1", NORMALISED)):
        profile(caller, "mine", metric)
        own(caller, "strict", base)
    for caller, metric, base in ((alice, "bleu", EXACT), (charlie, "squad_f1", NORMALISED)):
        state = found(caller, METRICS, "mine").profile
        ids.add(state.id)
        assert state.settings["metric"] == metric
        assert found(caller, "strict").spec.id == base
    assert len(ids) == 2


def rename_behind_the_cache(caller: Caller, name: str) -> None:
    """Change a row as no service does: without moving the epoch."""
    with account_scope(caller.account.pk):
        Evaluator.objects.filter(account=caller.account).update(evaluator_id=name)


def test_under_one_epoch_the_rows_are_read_once(alice: Caller) -> None:
    own(alice, "one")
    epoch = count_requests(alice.account.pk).epoch
    first = load_own_catalog(alice.account.pk, epoch)
    rename_behind_the_cache(alice, "two")

    assert load_own_catalog(alice.account.pk, epoch) is first
    assert found(alice, "one", epoch=epoch).evaluator_id == "one"
    assert found(alice, "two", epoch=uuid.uuid4().hex).evaluator_id == "two"


def test_without_an_epoch_nothing_is_taken_from_the_cache(alice: Caller) -> None:
    """No epoch means that Redis is away: then a change could not be noticed."""
    own(alice, "one")
    assert found(alice, "one").evaluator_id == "one"
    rename_behind_the_cache(alice, "two")

    assert found(alice, "two").evaluator_id == "two"
    assert code(alice, "one") == "unknown_evaluator"


def test_every_change_moves_the_epoch_of_its_account_alone(alice: Caller, charlie: Caller) -> None:
    theirs = count_requests(charlie.account.pk).epoch
    seen = [count_requests(alice.account.pk).epoch]
    row = profile(alice, "mine")
    seen.append(count_requests(alice.account.pk).epoch)
    revise(alice, row, "squad_f1")
    seen.append(count_requests(alice.account.pk).epoch)
    archive_profile(account=alice.account, profile=row, now=row.created_at, actor="test")
    seen.append(count_requests(alice.account.pk).epoch)
    mine = own(alice, "one")
    seen.append(count_requests(alice.account.pk).epoch)
    switch_evaluator(account=alice.account, evaluator=mine, is_enabled=False, actor="test")
    seen.append(count_requests(alice.account.pk).epoch)

    assert len(set(seen)) == len(seen)
    assert count_requests(charlie.account.pk).epoch == theirs


def test_a_default_of_another_family_does_not_run(alice: Caller) -> None:
    row = own(alice, "odd", EXACT)
    # As one that was saved before defaults were checked.
    Evaluator.objects.using("system").filter(pk=row.pk).update(default_profile="compute-bleu")

    assert code(alice, "odd") == "unknown_profile"
    assert found(alice, "odd", "exact-match").evaluator_id == "odd"


def test_what_all_find_old_at_once_is_read_once(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of threads, while Redis tells the epoch; without one nobody waits for another."""
    monkeypatch.setattr(rows, "WAIT_SECONDS", 60)
    n_threads, reads, all_there, go_on = 8, list[int](), threading.Barrier(9), threading.Event()

    def slowly(account_id: int) -> OwnCatalog:
        reads.append(account_id)
        assert go_on.wait(60)
        return OwnCatalog()

    def ask(epoch: str | None) -> OwnCatalog:
        all_there.wait(60)
        return load_own_catalog(alice.account.pk, epoch)

    monkeypatch.setattr("evalsvc.catalog.resolve._read_own", slowly)
    for epoch, n_reads in ((uuid.uuid4().hex, 1), (None, n_threads)):
        reads.clear()
        go_on.clear()
        with ThreadPoolExecutor(n_threads) as pool:
            asked = [pool.submit(ask, epoch) for _ in range(n_threads)]
            all_there.wait(60)
            wait_until(lambda n=n_reads: len(reads) == n)
            go_on.set()
            assert len({id(one.result(60)) for one in asked}) == n_reads
        assert reads == [alice.account.pk] * n_reads


def test_a_reader_that_is_stuck_holds_nobody_for_long(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "WAIT_SECONDS", 0.05)
    own(alice, "mine")
    with resolve_module._locks.turn(alice.account.pk):
        assert found(alice, "mine", epoch=uuid.uuid4().hex).evaluator_id == "mine"
