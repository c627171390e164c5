"""From the source of a run that asks a model to the parameters of a `chat` config."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evalsvc.accounts.models import Account
from evalsvc.experiments.definition.kinds import STRIP_THINKING, kind_problems
from evalsvc.experiments.definition.messages import fill_messages, list_senses, read_content
from evalsvc.experiments.definition.templates import UnknownField
from evalsvc.judges.connections.facts import ConnectionFacts
from evalsvc.judges.selectors import connection_facts, default_connection_facts
from evalsvc.openai_evals.criteria import find_model
from evalsvc.openai_evals.rows import MAX_ERRORS, Rows
from evalsvc.problems import FieldError, Invalid
from evaluators.checks.references import parse_reference
from evaluators.checks.templates import fill

SOURCE = "/data_source"
MESSAGES, SAMPLING = f"{SOURCE}/input_messages", f"{SOURCE}/sampling_params"
ROLES = ("system", "developer", "user", "assistant")
LONGEST = ("max_completion_tokens", "max_completions_tokens", "max_output_tokens", "max_tokens")
PARAMETERS = ("temperature", "top_p", "seed", "reasoning_effort", "response_format")
TOOL_FIELDS = ("name", "description", "parameters", "strict")


def asks_model(source: Mapping[str, Any]) -> bool:
    """Return whether a source has a model asked; without a model and a prompt it grades the samples that are there."""
    return source["type"] != "jsonl" and (source.get("model") or source.get("input_messages")) is not None


def build_parameters(account: Account, source: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of the config that asks the model of a source. Raises Invalid with pointers."""
    sampling = source.get("sampling_params") or {}
    if not isinstance(sampling, dict):
        raise Invalid(FieldError(SAMPLING, "An object."))
    parameters = {"messages": _read_messages(source), STRIP_THINKING: False, **_read_sampling(sampling)}
    model = source.get("model")
    asked = find_model(account, model) if isinstance(model, str) else None
    if asked is None:
        detail = f"No connection is named {model!r} or has this model, and there is no default connection to ask."
        raise Invalid(FieldError(f"{SOURCE}/model", detail))
    connection, parameters["model"] = asked
    parameters["connection"] = connection or default_connection_facts(account_id=account.pk).name
    if problems := list(kind_problems("chat", parameters)):
        raise Invalid(*(FieldError(pointer.replace("/parameters", SAMPLING), detail) for pointer, detail in problems))
    return parameters


def _read_sampling(sampling: Mapping[str, Any]) -> dict[str, Any]:
    parameters = {name: sampling[name] for name in PARAMETERS if sampling.get(name) is not None}
    if tools := sampling.get("tools"):
        parameters["tools"] = _read_tools(tools)
    longest = next((sampling[name] for name in LONGEST if sampling.get(name) is not None), None)
    if longest is not None:
        parameters["max_completion_tokens"] = longest
    text = sampling.get("text")
    if isinstance(text, Mapping) and isinstance(form := text.get("format"), Mapping):
        parameters["response_format"] = _convert_format(form)
    return parameters


def _read_tools(tools: Any) -> list[dict[str, Any]]:
    """Return tools as Chat Completions take them; those of the Responses API have the function's fields beside."""
    if not isinstance(tools, list):
        raise Invalid(FieldError(f"{SAMPLING}/tools", "A list of tools."))
    read = []
    for i, tool in enumerate(tools):
        function = tool.get("function", tool) if isinstance(tool, Mapping) and tool.get("type") == "function" else None
        if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
            raise Invalid(FieldError(f"{SAMPLING}/tools/{i}", "A tool has the type `function` and a name."))
        fields = {name: function[name] for name in TOOL_FIELDS if function.get(name) is not None}
        read.append({"type": "function", "function": fields})
    return read


def _convert_format(form: Mapping[str, Any]) -> dict[str, Any]:
    """Return the format of an answer as Chat Completions take it, from that of the Responses API."""
    if form.get("type") != "json_schema":
        return {"type": form.get("type")}
    return {"type": "json_schema", "json_schema": {name: form[name] for name in form if name != "type"}}


def _read_messages(source: Mapping[str, Any]) -> list[dict[str, Any]] | str:
    """Return the messages of a config, or the name of the column that has them."""
    messages = source.get("input_messages")
    if not isinstance(messages, Mapping):
        raise Invalid(FieldError(MESSAGES, "An object with `type`, and `template` or `item_reference`."))
    if messages.get("type") == "item_reference":
        return _read_item_reference(messages.get("item_reference"))
    if messages.get("type") != "template":
        raise Invalid(FieldError(f"{MESSAGES}/type", "It is `template` or `item_reference`."))
    template = messages.get("template")
    if not isinstance(template, list) or not template:
        raise Invalid(FieldError(f"{MESSAGES}/template", "A list of messages."))
    return [_read_message(message, f"{MESSAGES}/template/{i}") for i, message in enumerate(template)]


def _read_item_reference(reference: Any) -> str:
    pointer = f"{MESSAGES}/item_reference"
    if not isinstance(reference, str) or not reference:
        raise Invalid(FieldError(pointer, "The column with the messages, such as `item.messages`."))
    return _convert_template("{{" + reference.strip().removeprefix("{{").removesuffix("}}") + "}}", pointer)


def _read_message(message: Any, pointer: str) -> dict[str, Any]:
    if not isinstance(message, Mapping) or message.get("role") not in ROLES:
        raise Invalid(FieldError(f"{pointer}/role", f"A message has a role: {', '.join(ROLES)}."))
    try:
        content = read_content(message.get("content"))
    except ValueError as exc:
        raise Invalid(FieldError(f"{pointer}/content", str(exc))) from None
    return {"role": message["role"], "content": _convert_templates(content, f"{pointer}/content")}


def _convert_templates(content: Any, pointer: str) -> Any:
    if isinstance(content, str):
        return _convert_template(content, pointer)
    if isinstance(content, Mapping):
        return {name: _convert_templates(value, pointer) for name, value in content.items()}
    return [_convert_templates(part, pointer) for part in content] if isinstance(content, list) else content


def check_messages(
    account: Account, parameters: Mapping[str, Any], rows: Rows, items: Sequence[Mapping[str, Any]]
) -> None:
    """Check what a config of a run asks for each row. Raises Invalid where a model would be sent what it cannot read.

    Messages that come from a column are checked in each row.
    """
    facts = connection_facts(account_id=account.pk, ref=parameters["connection"])
    if not isinstance(parameters["messages"], str):
        if missing := find_missing_sense(facts, parameters["messages"]):
            raise Invalid(FieldError(f"{MESSAGES}/template", missing))
        return
    errors = []
    for i, item in enumerate(items):
        try:
            missing = find_missing_sense(facts, fill_messages(parameters["messages"], {"input": item}))
        except UnknownField as exc:
            missing = str(exc)
        if missing:
            errors.append(rows.locate(i, "/item", missing))
        if len(errors) == MAX_ERRORS:
            break
    if errors:
        raise Invalid(*errors)


def find_missing_sense(facts: ConnectionFacts, messages: object) -> str | None:
    """Return what is wrong with messages that a connection is not marked as able to read; None for others."""
    missing = [sense for sense in list_senses(messages) if not getattr(facts, sense)]
    return f"The connection {facts.name} is not marked with `{missing[0]}`." if missing else None


def _convert_template(text: str, pointer: str) -> str:
    """Return a template with the names that configs of experiments know: `{{item.a[0]}}` is `{{input.a.0}}`."""

    def convert(token: str) -> str:
        try:
            reference = parse_reference(token)
        except ValueError as exc:
            raise Invalid(FieldError(pointer, f"It {exc}.")) from None
        if reference.column is None:
            raise Invalid(FieldError(pointer, "A prompt names columns of the row; there is no sample yet."))
        return "{{" + ".".join(["input", reference.column, *map(str, reference.path)]) + "}}"

    return fill(text, convert)
