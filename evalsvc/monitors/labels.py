"""What an evaluator had said of what people label: the other side of an agreement."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import Q

from evalsvc.evaluations.ingest.labels import EVALUATION, LOG, TRACE, build_evaluator_id
from evalsvc.evaluations.models import Evaluation
from evalsvc.monitors.models import Monitor

LabelKey = tuple[str, str]


def get_history(monitor: Monitor) -> tuple[str, str]:
    """Return the evaluator id and the profile name of the scores that a monitor reads: its own, or the labels'."""
    if monitor.labels is not None:
        return build_evaluator_id(monitor.labels), ""
    return monitor.evaluator_id, monitor.profile_name


def find_verdicts(monitor: Monitor, label_ids: Sequence[int]) -> dict[int, bool]:
    """Return the verdict of a monitor's evaluator for each label of an evaluation, log or trace that has one.

    Of several verdicts the newest of before the label counts, so that reading the label again gives the same one.
    """
    labels = Evaluation.objects.filter(account_id=monitor.account_id, id__in=label_ids)
    keys = {}
    for id, log_id, trace_id, details in labels.values_list("id", "log_id", "trace_id", "details"):
        of = details or {}
        kind = of.get("resource_type", LOG)
        reference = {LOG: log_id, TRACE: trace_id, EVALUATION: of.get("reference")}.get(kind)
        if reference is not None:
            keys[id] = (kind, reference)
    verdicts = _list_verdicts(monitor, set(keys.values()))
    found = {}
    for id, key in keys.items():
        before = [(of, passed) for of, passed in verdicts.get(key, ()) if of < id]
        if before and (newest := max(before)[1]) is not None:
            found[id] = newest
    return found


def _list_verdicts(monitor: Monitor, keys: set[LabelKey]) -> dict[LabelKey, list[tuple[int, bool | None]]]:
    wanted = {kind: [reference for of, reference in keys if of == kind] for kind in (LOG, TRACE, EVALUATION)}
    rows = Evaluation.objects.filter(
        Q(log_id__in=wanted[LOG]) | Q(trace_id__in=wanted[TRACE]) | Q(id__in=[int(id) for id in wanted[EVALUATION]]),
        account_id=monitor.account_id, evaluator_id=monitor.evaluator_id, profile_name=monitor.profile_name,
        captured=True,
    )  # fmt: skip
    verdicts: dict[LabelKey, list[tuple[int, bool | None]]] = {}
    for id, log_id, trace_id, passed in rows.values_list("id", "log_id", "trace_id", "passed"):
        for key in ((LOG, log_id), (TRACE, trace_id), (EVALUATION, str(id))):
            if key in keys:
                verdicts.setdefault(key, []).append((id, passed))
    return verdicts
