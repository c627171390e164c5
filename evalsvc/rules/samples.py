"""From a span or an evaluation to the body of POST /v1/evaluate: what evaluators are sent, or why nothing is."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from evalsvc.evaluations.wire.inputs import MAX_CONTEXTS, MAX_TAGS
from evalsvc.evaluations.wire.request import read_call
from evalsvc.rest.bodies.names import find_valid_app
from evalsvc.rest.problems import FieldError, Invalid, Problem
from evalsvc.rules.bodies import SpanMapping
from evalsvc.rules.candidates import CandidateSpan
from evalsvc.rules.evaluations import Candidate, CandidateEvaluation
from evalsvc.rules.models import RuleSpan
from evalsvc.telemetry.models import Span

POINTED = ("input", "output", "contexts", "gold_answer", "system_prompt", "conversation", "reference")
MAX_TAG_VALUE = 255
RULE_TAG = "rule"
Reason = RuleSpan.Reason
Document = dict[str, Any]
INDEX = re.compile("0|[1-9][0-9]{0,8}")
"""Of a list, in a JSON pointer."""
WITH_ANY_NAME = ("attributes", "resource")
"""Objects whose members senders name, also with numbers."""
FAULTS = (
    *(TypeError, ValueError, LookupError, AttributeError, ArithmeticError, RecursionError),
    *(msgspec.MsgspecError, Problem),
)
"""What the data of a span can raise."""


class Unmappable(Exception):
    """What cannot be sent to evaluators, for one of the reasons that are counted."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason, self.detail = reason, detail


def build_sample(mapping: SpanMapping, candidate: Candidate) -> Document:
    """Return the fields of a sample. Raises Unmappable for a span without an output or a conversation."""
    if isinstance(candidate, CandidateEvaluation):
        sent = candidate.read_sample()
        return _fill(mapping, sent, {"sample": sent, "tags": candidate.request.tags or {}})
    content = candidate.content
    read = {
        "input": content.input,
        "output": content.output,
        "contexts": list(content.contexts[:MAX_CONTEXTS]) or None,
        "system_prompt": content.system,
    }
    sample = _fill(mapping, read, _describe(candidate))
    if sample.get("output") is None and sample.get("conversation") is None:
        if content.unreadable is not None:
            raise Unmappable(Reason.UNREADABLE, content.unreadable)
        raise Unmappable(Reason.NO_OUTPUT, "The span has no output.")
    if content.model is not None:
        sample["evaluated_model_selected_model"] = content.model
    return sample


def _fill(mapping: SpanMapping, read: Document, document: Document) -> Document:
    """Return what the preset reads, with what the pointers of a mapping lead to."""
    sample = dict(read) if mapping.preset == "auto" else {}
    for name in POINTED:
        if (pointer := getattr(mapping, name)) is not None:
            sample[name] = find_pointed(document, pointer)
    return {name: value for name, value in sample.items() if value is not None}


def _describe(candidate: CandidateSpan) -> Document:
    """Return the document that the pointers of a mapping are into."""
    span, content = candidate.span, candidate.content
    return {
        "name": span.name,
        "status_message": span.status_message,
        "attributes": span.attributes,
        "events": span.events,
        "resource": span.resource,
        "content": {
            "input": content.input,
            "output": content.output,
            "system": content.system,
            "contexts": list(content.contexts) or None,
            "messages": list(content.messages) or None,
            "tool_calls": list(content.tool_calls) or None,
            "model": content.model,
        },
    }


def find_pointed(document: Any, pointer: str) -> Any:
    """Return what a JSON pointer (RFC 6901) leads to; None where nothing is there."""
    for part in pointer.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(document, dict):
            document = document.get(name)
        elif isinstance(document, list):
            document = document[int(name)] if INDEX.fullmatch(name) and int(name) < len(document) else None
        else:
            return None
    return document


def check_mapping(mapping: SpanMapping) -> None:
    """Raise Invalid for pointers that RFC 6901 does not allow, and for indices that no list of a span has."""
    pointers = [(name, getattr(mapping, name)) for name in POINTED]
    details = [(name, _find_pointer_fault(pointer)) for name, pointer in pointers if pointer is not None]
    if errors := [FieldError(f"/mapping/{name}", detail) for name, detail in details if detail is not None]:
        raise Invalid(*errors)


def _find_pointer_fault(pointer: str) -> str | None:
    parts = pointer.split("/")[1:]
    if re.search("~(?![01])", pointer):
        return "In a JSON pointer `~` is written as `~0`, and `/` within a name as `~1`."
    for parent, part in zip([None, *parts], parts, strict=False):
        if re.fullmatch("[0-9]+", part) and not INDEX.fullmatch(part) and parent not in WITH_ANY_NAME:
            return f"`{part[:20]}` is no index of a list: 0, or 1 to 9 digits without a leading 0."
    return None


def build_body(
    sample: Mapping[str, Any],
    candidate: Candidate,
    *,
    evaluators: Sequence[Any],
    app: str | None,
    tags: Mapping[str, str],
) -> bytes:
    """Return the body of the call that scores a span or an evaluation."""
    body = {
        **sample,
        "evaluators": evaluators,
        "capture": "all",
        "confidence_interval_strategy": "none",
        "tags": dict(tags) or None,
        **(
            _place_evaluation(candidate, app, tags)
            if isinstance(candidate, CandidateEvaluation)
            else _place_span(candidate.span, app)
        ),
    }
    return msgspec.json.encode({name: value for name, value in body.items() if value is not None})


def _place_span(span: Span, app: str | None) -> Document:
    project = span.project_name if span.project_name and len(span.project_name) <= MAX_TAG_VALUE else None
    return {
        "app": find_valid_app(app, span.app, span.service_name),
        "project_name": project if project and len(project) <= 50 else None,
        "trace_id": span.trace_id,
        "span_id": span.span_id,
    }


def _place_evaluation(candidate: CandidateEvaluation, app: str | None, tags: Mapping[str, str]) -> Document:
    """Return the place of another evaluation of the same sample: beside the first one, with its tags that fit."""
    request, verdict = candidate.request, candidate.verdicts[0]
    first_tags = [(name, value) for name, value in (request.tags or {}).items() if name not in tags]
    return {
        "app": app or request.app,
        "project_id": request.project_id,
        "dataset_id": request.dataset_id,
        "dataset_sample_id": request.dataset_sample_id,
        "log_id": verdict.log_id,
        "trace_id": verdict.trace_id,
        "span_id": request.span_id,
        "tags": {**dict(first_tags[: max(0, MAX_TAGS - len(tags))]), **tags},
    }


def check_body(body: bytes) -> None:
    """Read a body as the API does. Raises Unmappable with the first thing that is wrong."""
    try:
        read_call(body)
    except Invalid as problem:
        raise Unmappable(Reason.INVALID, describe_problem(problem)) from None


def describe_problem(problem: Invalid) -> str:
    """Return the first error of a refused body."""
    error = problem.errors[0] if problem.errors else None
    return f"{error.pointer}: {error.detail}" if error else str(problem)


def describe_fault(fault: BaseException) -> str:
    """Return why something cannot be sent. Raises a fault that is of the service, and not of what is sent."""
    if isinstance(fault, Invalid):
        return describe_problem(fault)
    if isinstance(fault, Problem) and (fault.row.status >= 500 or fault.row.status == 429):
        raise fault
    return f"It cannot be read: {type(fault).__name__}: {fault}"
