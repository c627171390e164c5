"""What configs have answered: question, expected, answer, scores, and what failed with its remedy."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import render

from evalsvc.codes import EVALUATION_ERRORS
from evalsvc.console.access import PageRequest, console_page
from evalsvc.console.pages.compare.diff import cut_text
from evalsvc.console.pages.compare.examples import ScoreMark, build_mark
from evalsvc.console.pages.evaluations.detail import write_transcript
from evalsvc.console.parts.addresses import address_with, choice, page_address, trace_address
from evalsvc.console.parts.calls import ApiCall
from evalsvc.console.parts.forms.fields import FormField
from evalsvc.experiments.definition.conversations import ENDED_BY
from evalsvc.experiments.definition.fields.mapper import OUTPUT
from evalsvc.experiments.models import Config, ExperimentPlan
from evalsvc.experiments.reporting.results import OutputSelection, check_selection, page_of_outputs
from evalsvc.experiments.selectors import get_plan, list_configs
from evalsvc.reports.words import format_value
from evalsvc.rest.bodies.scalars import is_bigint
from evalsvc.rest.problems import NotFound
from evaluators.conversations.reader import is_message_log, read_conversation
from evaluators.conversations.transcript import Unreadable

ON_A_PAGE = 25
STATUSES = {
    "": "all",
    "failed": "output failed",
    "error": "score failed",
    "not_applicable": "score not applicable",
    "undecided": "undecided",
    "pending": "not scored yet",
    "ok": "answered and scored",
}
RETRY = "Retry with `POST /v1/experiments/{id}/retry`."
OWN = "Reported by your own program."
REMEDIES = {
    "timeout": "The model timed out: ask for shorter output or raise the connection's timeout.",
    "rate_limited": "The provider's rate limit was exceeded: lower the connection's limits, or raise the provider's.",
    "refused": "The provider rejected the call. Check the key, the model name and the parameters.",
    "bad_output": "The output has the wrong format: make the prompt or the output schema clearer.",
    "connection": "The provider is unreachable: check the connection's URL.",
    "bug": "The code that produces outputs failed; see the message.",
    "simulated_user": "The simulated user failed, not the config: see the message, or use another model for it.",
}
ENDS = {
    "script": "its script",
    "stop": "the simulated user",
    "max_turns": "the limit of turns",
    "tool_calls": "a call of a tool",
    "error": "an error",
}
"""What ends a conversation."""
ORDERS = {"": "newest first", "lowest": "lowest score first", "highest": "highest score first"}


@dataclass(frozen=True, slots=True)
class OutputCard:
    """One answer."""

    id: str
    config: str
    key: str
    place: int
    input: str
    expected: str
    answer: str
    failure: str
    remedy: str
    marks: Sequence[tuple[ScoreMark, str]]
    """Each score, and what can be done about one that failed."""
    facts: str
    trace: str
    trace_address: str


@console_page()
def outputs(request: PageRequest, id: int) -> HttpResponse:
    """Show the answers of one config, or of all."""
    account = request.visitor.account
    plan = get_plan(account=account, id=id)
    configs = list(list_configs(account=account, experiment_id=id))
    config = _get_config(request, configs)
    selection = _parse_selection(request, plan, config)
    check_selection(plan, selection)
    cursor = request.GET.get("cursor")
    rows, following = page_of_outputs(account, plan, selection, limit=ON_A_PAGE, cursor=cursor)
    query = {
        "config_id": selection.config_id,
        "status": selection.status,
        "order_by": selection.order_by,
        "limit": ON_A_PAGE,
    }
    context = {
        "plan": plan,
        "config": config,
        "cards": [_card(row, selection.metric or plan.primary_metric, _get_push_names(configs)) for row in rows],
        "fields": _fields(request, plan, configs, config),
        "is_narrowed": selection.status is not None,
        "next": address_with(request, cursor=following) if following else "",
        "first": address_with(request) if cursor else "",
        "compare": _compare_address(plan, config, configs),
        "call": ApiCall("GET", f"/v1/experiments/{id}/results", query),
    }
    return render(request, "console/experiments/outputs.html", context)


def _get_config(request: PageRequest, configs: Sequence[Config]) -> Config | None:
    text = request.GET.get("config", "")
    if not text:
        return None
    match = next((candidate for candidate in configs if is_bigint(text) and candidate.pk == int(text)), None)
    if match is None:
        raise NotFound
    return match


def _metric(request: PageRequest, plan: ExperimentPlan) -> str:
    return choice(request, "metric", tuple(row["name"] for row in plan.metrics), plan.primary_metric)


def _parse_selection(request: PageRequest, plan: ExperimentPlan, config: Config | None) -> OutputSelection:
    metric, order = _metric(request, plan), choice(request, "sort", tuple(ORDERS), "")
    return OutputSelection(
        config_id=config.pk if config else None,
        status=choice(request, "show", tuple(STATUSES), "") or None,
        order_by={"lowest": metric, "highest": f"-{metric}"}.get(order),
    )


def _fields(
    request: PageRequest, plan: ExperimentPlan, configs: Sequence[Config], config: Config | None
) -> list[FormField]:
    config_options = [("", "all"), *((str(other.pk), other.name) for other in configs)]
    fields = [
        FormField("config", "Config", "select", value=str(config.pk) if config else "", options=config_options),
        FormField("show", "Show", "select", value=request.GET.get("show", ""), options=list(STATUSES.items())),
        FormField("sort", "Order", "select", value=request.GET.get("sort", ""), options=list(ORDERS.items())),
    ]
    if len(plan.metrics) > 1:
        options = [(row["name"], row["name"]) for row in plan.metrics]
        fields.append(FormField("metric", "By metric", "select", value=_metric(request, plan), options=options))
    return fields


def _compare_address(plan: ExperimentPlan, config: Config | None, configs: Sequence[Config]) -> str:
    """Return where a config is compared with the baseline, or with the first of the others."""
    others = [candidate for candidate in configs if config is not None and candidate.pk != config.pk]
    if config is None or not others:
        return ""
    other = next((candidate for candidate in others if candidate.name == plan.baseline), others[0])
    return f"{page_address('console_compare')}?a={config.pk}&b={other.pk}"


def _get_push_names(configs: Sequence[Config]) -> set[str]:
    """Name the configs that the caller's own program answers."""
    return {config.name for config in configs if config.kind == Config.Kind.PUSH}


def _card(row: Mapping[str, Any], metric: str, own: Collection[str]) -> OutputCard:
    is_ok = row["status"] == "ok"
    message = f": {row['error_message']}" if row["error_message"] else ""
    trace = row["trace_id"] or ""
    return OutputCard(
        id=row["id"],
        config=row["config"],
        key=row["example_id"] or "",
        place=row["pos"],
        input=cut_text(format_value(row["input"])),
        expected="" if row["expected"] is None else cut_text(format_value(row["expected"])),
        answer=_show_answer(row["output"], is_ok=is_ok),
        failure="" if is_ok else cut_text(f"{row['error_type']}{message}"),
        remedy="" if is_ok else answer_remedy(row["error_type"], is_own=row["config"] in own),
        marks=[
            (build_mark(name, score, metric), score_remedy(score["error_code"]))
            for name, score in sorted(row["scores"].items(), key=lambda one: one[0] != metric)
        ],
        facts=output_facts(row),
        trace=trace,
        trace_address=trace_address(trace or ""),
    )


def _show_answer(components: Any, *, is_ok: bool) -> str:
    """Return an answer as a text, a conversation line by line; of one that failed only what was said in it."""
    answer = components.get(OUTPUT) if isinstance(components, Mapping) else None
    if isinstance(answer, Mapping) and is_message_log(answer.get("messages")):
        with suppress(Unreadable):
            return cut_text(write_transcript(read_conversation(answer, is_part=True)))
    return cut_text(format_value(components)) if is_ok else ""


def answer_remedy(code: str | None, *, is_own: bool) -> str:
    """Return what can be done about an answer that failed; `is_own`: the caller's own program has answered."""
    if is_own:
        return f"{OWN} {RETRY}"
    return f"{REMEDIES.get(code or '', 'See the message.')} {RETRY}"


def score_remedy(code: str | None) -> str:
    """Return what can be done about a score that failed; nothing for codes that are not the service's."""
    error = EVALUATION_ERRORS.get(code or "")
    return error.remedy if error else ""


def output_facts(row: Mapping[str, Any]) -> str:
    """Return what an answer took."""
    formats = (
        ("latency_ms", "{:.0f} ms"),
        ("input_tokens", "{} tokens in"),
        ("output_tokens", "{} tokens out"),
        ("cost", f"cost {{:.4g}} {settings.CURRENCY}"),
    )
    facts = [form.format(row[name]) for name, form in formats if row[name] is not None]
    if isinstance(row["output"], Mapping) and (ended_by := row["output"].get(ENDED_BY)) in ENDS:
        facts.append(f"ended by {ENDS[ended_by]}")
    return ", ".join(facts)
