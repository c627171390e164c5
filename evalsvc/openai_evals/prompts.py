"""From the source of a run that asks a model to the parameters of a `chat` config."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalsvc.accounts.models import Account
from evalsvc.experiments.definition.kinds import STRIP_THINKING, kind_problems
from evalsvc.judges.selectors import default_connection_facts
from evalsvc.openai_evals.criteria import find_model
from evalsvc.problems import FieldError, Invalid
from evaluators.checks.references import parse_reference
from evaluators.checks.templates import fill

SOURCE = "/data_source"
MESSAGES, SAMPLING = f"{SOURCE}/input_messages", f"{SOURCE}/sampling_params"
ROLES = ("system", "developer", "user", "assistant")
TEXTS = ("input_text", "output_text", "text")
LONGEST = ("max_completion_tokens", "max_completions_tokens", "max_output_tokens", "max_tokens")
PARAMETERS = ("temperature", "top_p", "seed", "reasoning_effort", "response_format")


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
    if sampling.get("tools"):
        raise Invalid(FieldError(f"{SAMPLING}/tools", "Models are asked without tools."))
    parameters = {name: sampling[name] for name in PARAMETERS if sampling.get(name) is not None}
    longest = next((sampling[name] for name in LONGEST if sampling.get(name) is not None), None)
    if longest is not None:
        parameters["max_completion_tokens"] = longest
    text = sampling.get("text")
    if isinstance(text, Mapping) and isinstance(form := text.get("format"), Mapping):
        parameters["response_format"] = _convert_format(form)
    return parameters


def _convert_format(form: Mapping[str, Any]) -> dict[str, Any]:
    """Return the format of an answer as Chat Completions take it, from that of the Responses API."""
    if form.get("type") != "json_schema":
        return {"type": form.get("type")}
    return {"type": "json_schema", "json_schema": {name: form[name] for name in form if name != "type"}}


def _read_messages(source: Mapping[str, Any]) -> list[dict[str, str]]:
    messages = source.get("input_messages")
    if not isinstance(messages, Mapping):
        raise Invalid(FieldError(MESSAGES, "An object with `type` and `template`."))
    if messages.get("type") != "template":
        raise Invalid(FieldError(f"{MESSAGES}/type", "It is `template`; messages are not taken from a column."))
    template = messages.get("template")
    if not isinstance(template, list) or not template:
        raise Invalid(FieldError(f"{MESSAGES}/template", "A list of messages."))
    return [_read_message(message, f"{MESSAGES}/template/{i}") for i, message in enumerate(template)]


def _read_message(message: Any, pointer: str) -> dict[str, str]:
    if not isinstance(message, Mapping) or message.get("role") not in ROLES:
        raise Invalid(FieldError(f"{pointer}/role", f"A message has a role: {', '.join(ROLES)}."))
    content = message.get("content")
    parts = content if isinstance(content, list) else [content]
    texts = [_read_text(part) for part in parts]
    if not texts or None in texts:
        raise Invalid(FieldError(f"{pointer}/content", "Text; images and sound are not sent."))
    return {"role": message["role"], "content": _convert_template("\n".join(filter(None, texts)), f"{pointer}/content")}


def _read_text(part: Any) -> str | None:
    text = part.get("text") if isinstance(part, Mapping) and part.get("type") in TEXTS else part
    return text if isinstance(text, str) else None


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
