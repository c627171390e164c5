"""Reads of evals, runs and files, always for one account. Missing and foreign ids are the same NotFound."""

from __future__ import annotations

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Now

from evalsvc.accounts.models import Account
from evalsvc.experiments.models import Config
from evalsvc.openai_evals.models import Eval, EvalFile, EvalRun
from evalsvc.rest.problems import NotFound

EVAL, RUN, ITEM, FILE = "eval_", "evalrun_", "outputitem_", "file-"
"""What ids begin with."""
EVAL_TAG = "eval"
"""The tag of the experiments of runs."""
State, StopReason = Config.State, Config.StopReason
_by_user = Q(state=State.STOPPED, stop_reason=StopReason.USER)
_has_outputs = Q(n_ok__gt=0) | Q(n_error__gt=0)
STATUSES = {
    "queued": Q(state=State.QUEUED) | Q(state=State.RUNNING) & ~_has_outputs,
    "in_progress": Q(state=State.RUNNING) & _has_outputs,
    "completed": Q(state=State.COMPLETED),
    "canceled": _by_user,
    "failed": Q(state=State.FAILED) | Q(state=State.STOPPED) & ~_by_user,
}
"""The status of a run, by what is true of its config."""


def get_status(config: Config) -> str:
    """Return the status of a run by the state of its config."""
    if config.state == Config.State.STOPPED:
        return "canceled" if config.stop_reason == Config.StopReason.USER else "failed"
    if config.state == Config.State.RUNNING:
        return "in_progress" if config.n_ok or config.n_error else "queued"
    return {Config.State.COMPLETED: "completed", Config.State.QUEUED: "queued"}.get(
        Config.State(config.state), "failed"
    )


def parse_id(text: str, prefix: str) -> int:
    """Return the number in an id. Raises NotFound for a text that is none."""
    digits = text.removeprefix(prefix)
    if not text.startswith(prefix) or not (digits.isascii() and digits.isdigit()) or len(digits) > 19:
        raise NotFound()
    return min(int(digits), 2**63 - 1)


def list_evals(*, account: Account) -> QuerySet[Eval]:
    """Return the account's evals."""
    return Eval.objects.filter(account=account)


def get_eval(*, account: Account, id: str, lock: bool = False) -> Eval:
    """Return an eval of the account."""
    rows = list_evals(account=account).filter(id=parse_id(id, EVAL))
    found = (rows.select_for_update() if lock else rows).first()
    if found is None:
        raise NotFound()
    return found


def list_runs(*, account: Account, eval_id: int, status: str | None = None) -> QuerySet[EvalRun]:
    """Return the runs of an eval."""
    runs = EvalRun.objects.filter(account=account, eval_id=eval_id)
    if status is not None:
        configs = Config.objects.filter(STATUSES[status], experiment_id=OuterRef("experiment_id"), arrival=1)
        runs = runs.filter(Exists(configs))
    return runs.select_related("experiment__plan", "eval")


def get_run(*, account: Account, eval_id: int, id: str) -> EvalRun:
    """Return a run of an eval."""
    run = list_runs(account=account, eval_id=eval_id).filter(id=parse_id(id, RUN)).first()
    if run is None:
        raise NotFound()
    return run


def find_run(*, account: Account, experiment_id: int) -> EvalRun | None:
    """Return the run whose experiment this is."""
    runs = EvalRun.objects.filter(account=account, experiment_id=experiment_id)
    return runs.select_related("experiment__plan", "eval").first()


def get_run_config(run: EvalRun) -> Config:
    """Return the config of a run: the first of its experiment, whatever people have added to that."""
    return Config.objects.get(experiment_id=run.experiment_id, arrival=1)


def list_files(*, account: Account) -> QuerySet[EvalFile]:
    """Return the account's files that have not expired, without their content."""
    rows = EvalFile.objects.filter(Q(expires_at=None) | Q(expires_at__gt=Now()), account=account)
    return rows.defer("content")


def get_file(*, account: Account, id: str) -> EvalFile:
    """Return a file of the account."""
    file = list_files(account=account).filter(id=parse_id(id, FILE)).first()
    if file is None:
        raise NotFound()
    return file
