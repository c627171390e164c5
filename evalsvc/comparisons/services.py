"""Operations on comparisons. Each judgement is a row that is written once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models import Count
from django.db.models.functions import Now

from evalsvc.accounts.models import Account
from evalsvc.accounts.services import record_audit
from evalsvc.comparisons.judgements import store
from evalsvc.comparisons.judgements.schedule import Pair, PairSchedule, Pick, pairs_of_design
from evalsvc.comparisons.judges.people import judge_by_people, list_review_picks
from evalsvc.comparisons.judges.resolver import compute_judge_digest, resolve_judge
from evalsvc.comparisons.models import Judgement, OutputComparison
from evalsvc.comparisons.ranking import load_judgement_set, ranking_view
from evalsvc.comparisons.selectors import get_comparison, outcome_rows
from evalsvc.experiments.models import Config, ExperimentItem, ExperimentPlan, Output
from evalsvc.experiments.selectors import list_configs
from evalsvc.rest.problems import FieldError, Invalid, NotFound
from evalsvc.stats.ranking.ranks import Ranking, rank
from evalsvc.stats.ranking.selection import (
    FIRST_ROUND,
    is_close_enough,
    is_first_settled,
    look_level,
    most_looks,
    next_pairs,
    round_size,
)
from evalsvc.tenancy.scope import account_scope

MAX_CONFIGS, MAX_JUDGEMENTS = 64, 100_000
LOOK_DRAWS = 2000


def create_comparison(
    *, account: Account, epoch: str | None, plan: ExperimentPlan, body: Mapping[str, Any], actor: str
) -> tuple[OutputComparison, bool]:
    """Compare existing outputs; return the comparison, and whether the experiment got a new metric to score them.

    Raises Invalid with pointers. Which pairs are judged on which examples follows from the seed.
    """
    configs = _configs(account, plan, body)
    previous = _previous(account, body.get("previous_id"))
    plans = [plan, *_other_plans(plan, configs)]
    judge, is_added = resolve_judge(account=account, epoch=epoch, plans=plans, wanted=body["judge"], actor=actor)
    comparison = OutputComparison(
        account=account,
        experiment_id=plan.pk,
        name=body.get("name") or plan.experiment.name,
        configs=[config.pk for config in configs],
        judge=judge,
        judge_digest=compute_judge_digest(judge),
        design=body["design"],
        budget=body.get("budget"),
        half_width=body.get("half_width"),
        level=body["level"],
        seed=body["seed"],
        previous=previous,
    )
    picks = _picks(comparison)
    _check(comparison, n_most=len(picks))
    comparison.save(force_insert=True)
    comparison.refresh_from_db()
    _open_first(comparison, picks)
    record_audit(account=account, actor=actor, action="comparison.created", target=comparison.name)
    return comparison, is_added


def _check(comparison: OutputComparison, *, n_most: int) -> None:
    """Refuse what leaves nothing to judge, or too much, or begins with the judgements of another judge."""
    if not n_most:
        raise Invalid(FieldError("/configs", "No example has outputs of two of these configs yet."))
    if min(n_most, comparison.budget or n_most) > MAX_JUDGEMENTS:
        detail = f"These are {n_most} judgements, and at most {MAX_JUDGEMENTS} are made; give a `budget`."
        raise Invalid(FieldError("/budget", detail))
    if comparison.previous is not None and comparison.previous.judge_digest != comparison.judge_digest:
        detail = "It was judged by another judge, so none of its judgements hold here."
        raise Invalid(FieldError("/previous_id", detail))


def stop_comparison(*, account: Account, id: int, actor: str) -> OutputComparison:
    """Stop judging; what is judged stays, and is ranked. One that has ended stays as it is."""
    comparison = get_comparison(account=account, id=id, lock=True)
    if comparison.state == OutputComparison.State.RUNNING:
        Judgement.objects.filter(comparison_id=id, state=Judgement.State.OPEN).delete()
        _end(comparison, OutputComparison.State.STOPPED, None)
        record_audit(account=account, actor=actor, action="comparison.stopped", target=comparison.name)
    return comparison


def delete_comparison(*, account: Account, id: int, actor: str) -> None:
    """Delete a comparison with its judgements; those that were taken over from it stay where they are."""
    comparison = get_comparison(account=account, id=id, lock=True)
    record_audit(account=account, actor=actor, action="comparison.deleted", target=comparison.name)
    comparison.delete()


def advance_comparison(*, account_id: int, id: int) -> bool:
    """Judge what needs no external judge, open the next round, or finish; return whether a judge has work to do."""
    with account_scope(account_id):
        rows = OutputComparison.objects.select_for_update().filter(account_id=account_id, id=id)
        comparison = rows.filter(state=OutputComparison.State.RUNNING).first()
        if comparison is None:
            return False
        while True:
            _judge_locally(comparison)
            if Judgement.objects.filter(comparison_id=id, state=Judgement.State.OPEN).exists():
                return not (comparison.is_by_scores or comparison.is_by_people)
            if not _next_round(comparison):
                return False


def _judge_locally(comparison: OutputComparison) -> None:
    if comparison.is_by_scores:
        store.judge_by_scores(comparison)
        store.mark_deleted_outputs(comparison)
    elif comparison.is_by_people:
        judge_by_people(comparison)


def _configs(account: Account, plan: ExperimentPlan, body: Mapping[str, Any]) -> list[Config]:
    all_configs = list(list_configs(account=account, experiment_id=plan.pk))
    names: Sequence[str] = body.get("configs") or [config.name for config in all_configs]
    by_name = _configs_elsewhere(account, plan, names)
    by_name |= {name: config for config in all_configs for name in (str(config.pk), config.name)}
    unknown = [
        FieldError(
            f"/configs/{i}",
            f"The experiment has no config {name!r}; of other experiments over the same version of the dataset,"
            " configs are named by their ids.",
        )
        for i, name in enumerate(names)
        if name not in by_name
    ]
    if unknown:
        raise Invalid(*unknown)
    configs = list(dict.fromkeys(by_name[name] for name in names))
    if not 2 <= len(configs) <= MAX_CONFIGS:
        raise Invalid(FieldError("/configs", f"Between 2 and {MAX_CONFIGS} configs can be compared."))
    return _baseline_first(configs, by_name, body)


def _configs_elsewhere(account: Account, plan: ExperimentPlan, names: Sequence[str]) -> dict[str, Config]:
    """Return configs by their ids, of all experiments over the plan's version of the dataset."""
    ids = [int(name) for name in names if name.isascii() and name.isdigit() and int(name) < 2**63]
    rows = Config.objects.filter(
        account=account, pk__in=ids, experiment__plan__dataset_version_id=plan.dataset_version_id
    )
    return {str(row.pk): row for row in rows.exclude(state=Config.State.DELETED)}


def _other_plans(plan: ExperimentPlan, configs: Sequence[Config]) -> list[ExperimentPlan]:
    ids = {config.experiment_id for config in configs} - {plan.pk}
    return list(ExperimentPlan.objects.filter(pk__in=ids).order_by("pk"))


def _baseline_first(configs: list[Config], by_name: Mapping[str, Config], body: Mapping[str, Any]) -> list[Config]:
    name, is_wanted = body.get("baseline"), body["design"] == OutputComparison.Design.BASELINE
    if (name is not None) != is_wanted:
        raise Invalid(FieldError("/baseline", "The design `baseline` needs one, and others have none."))
    if name is None:
        return configs
    if by_name.get(name) not in configs:
        raise Invalid(FieldError("/baseline", f"No config that is compared is named {name!r}."))
    baseline = by_name[name]
    return [baseline, *(config for config in configs if config != baseline)]


def _previous(account: Account, id: int | None) -> OutputComparison | None:
    if id is None:
        return None
    try:
        return get_comparison(account=account, id=id)
    except NotFound:
        raise Invalid(FieldError("/previous_id", "There is no such comparison.")) from None


def _build_schedule(comparison: OutputComparison) -> PairSchedule:
    rows = Output.objects.filter(config_id__in=comparison.configs).values_list("config_id", "example_id")
    items = ExperimentItem.objects.filter(experiment_id=comparison.experiment_id).values_list("example_id", "pos")
    positions = dict(items)
    positions_by_config: dict[int, set[int]] = {config: set() for config in comparison.configs}
    for config, example_id in rows:
        if example_id in positions:
            positions_by_config[config].add(positions[example_id])
    pairs = pairs_of_design(comparison.design, comparison.configs)
    return PairSchedule(
        pairs, {config: frozenset(positions) for config, positions in positions_by_config.items()}, abs(comparison.seed)
    )


def _picks(comparison: OutputComparison) -> list[Pick]:
    """Return all that could be judged, in the order in which it would be."""
    if not comparison.is_by_people:
        return list(_build_schedule(comparison).rounds())
    if comparison.design == OutputComparison.Design.ACTIVE:
        raise Invalid(FieldError("/design", "A review has drawn its pairs already; take `all` or `baseline`."))
    return list_review_picks(comparison)


def _open_first(comparison: OutputComparison, picks: Sequence[Pick]) -> None:
    n = comparison.budget or len(picks)
    if comparison.design == OutputComparison.Design.ACTIVE:
        n = min(n, FIRST_ROUND * len(pairs_of_design(comparison.design, comparison.configs)))
    store.open_judgements(comparison, picks[:n])
    _count_round(comparison)


def _next_round(comparison: OutputComparison) -> bool:
    """Open the next round of an active design; else finish. Return whether there is more to judge."""
    if comparison.design != OutputComparison.Design.ACTIVE:
        is_cut = comparison.budget is not None and _n_opened(comparison) >= comparison.budget
        _end(comparison, OutputComparison.State.FINISHED, _reason_of_end(comparison, is_cut))
        return False
    schedule = _build_schedule(comparison)
    used = _used(comparison)
    remaining = {pair: len(schedule.positions(pair)) - used.get(pair, 0) for pair in schedule.pairs}
    size = min(
        round_size(len(remaining), sum(used.values())), (comparison.budget or MAX_JUDGEMENTS) - sum(used.values())
    )
    ranking = _compute_interim_ranking(comparison, schedule)
    if reason := _why_enough(comparison, ranking, remaining, size):
        _end(comparison, OutputComparison.State.FINISHED, reason)
        return False
    allocation = _allocate_round(comparison, ranking, remaining, size)
    store.open_judgements(comparison, schedule.select_picks(allocation, used))
    _count_round(comparison)
    return True


def _reason_of_end(comparison: OutputComparison, is_cut: bool) -> str:
    is_cut = is_cut and len(_picks(comparison)) > _n_opened(comparison)
    return OutputComparison.Reason.BUDGET if is_cut else OutputComparison.Reason.ALL


def _n_opened(comparison: OutputComparison) -> int:
    return Judgement.objects.filter(comparison_id=comparison.pk).count()


def _used(comparison: OutputComparison) -> dict[Pair, int]:
    rows = Judgement.objects.filter(comparison_id=comparison.pk).values_list("first_id", "second_id")
    return {(first, second): n for first, second, n in rows.annotate(n=Count("id")).order_by()}


def _compute_interim_ranking(comparison: OutputComparison, spread: PairSchedule) -> Ranking:
    """Return the ranking at the level at which all interim analyses are valid together."""
    looks = most_looks(len(spread.pairs), max(len(spread.positions(pair)) for pair in spread.pairs))
    level = look_level(comparison.level, looks)
    matches = load_judgement_set(comparison, outcome_rows(comparison)).drawn
    return rank(matches, level=level, draws=LOOK_DRAWS, seed=abs(comparison.seed) + comparison.n_rounds)


def _why_enough(comparison: OutputComparison, ranking: Ranking, left: Mapping[Pair, int], size: int) -> str | None:
    if len(ranking.drawn) and is_first_settled(ranking):
        return OutputComparison.Reason.FIRST
    if comparison.half_width is not None and len(ranking.drawn) and is_close_enough(ranking, comparison.half_width):
        return OutputComparison.Reason.HALF_WIDTH
    if not any(left.values()):
        return OutputComparison.Reason.ALL
    return OutputComparison.Reason.BUDGET if size <= 0 else None


def _allocate_round(
    comparison: OutputComparison, ranking: Ranking, left: Mapping[Pair, int], size: int
) -> dict[Pair, int]:
    """Return how many of each pair come next; without any judgement yet, all pairs in turn."""
    if not len(ranking.drawn):
        return {pair: min(n, FIRST_ROUND) for pair, n in left.items() if n}
    place = {config: i for i, config in enumerate(comparison.configs)}
    counts_by_index = {(place[first], place[second]): n for (first, second), n in left.items()}
    allocation = next_pairs(ranking, counts_by_index, size, seed=abs(comparison.seed) + comparison.n_rounds)
    return {(comparison.configs[i], comparison.configs[j]): n for (i, j), n in allocation.items()}


def _count_round(comparison: OutputComparison) -> None:
    comparison.n_rounds += 1
    OutputComparison.objects.filter(pk=comparison.pk).update(n_rounds=comparison.n_rounds)


def _end(comparison: OutputComparison, state: str, reason: str | None) -> None:
    ranking = ranking_view(comparison)
    OutputComparison.objects.filter(pk=comparison.pk).update(
        state=state, reason=reason, ranking=ranking, finished_at=Now()
    )
    comparison.refresh_from_db()
