"""The messages of `chat` configs: templates, or the name of a column that holds them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from evalsvc.experiments.definition.templates import UnknownField, field_value, fill_text, get_sole_name

AUDIO_FORMATS = ("wav", "mp3")
TEXTS = ("text", "input_text", "output_text")
EXPECTED = (
    "It has to be a list of objects with `role` and `content`, a text or a list of texts, pictures and recordings."
)
CALLS = ("tool_calls", "tool_call_id", "name")
"""What messages of a conversation with tools have besides."""


class NoMessages(UnknownField):
    """The column that a config takes its messages from holds something else in this example."""

    def __init__(self, name: str, detail: str) -> None:
        super().__init__(name)
        self.args = (f"The messages are taken from `{name}`, and it holds none. {detail}",)


def messages_problem(messages: object) -> str | None:
    """Return what is wrong with the `messages` of a config."""
    if isinstance(messages, str):
        if get_sole_name(messages) is None:
            return "A text has to name the column with the messages and nothing else, such as `{{input.messages}}`."
        return None
    if not isinstance(messages, list) or not messages or not all(_has_members(message) for message in messages):
        return "`messages` is a list of objects with `role` and `content`."
    try:
        read_messages(messages)
    except ValueError as exc:
        return f"`messages`: {exc}"
    return None


def _has_members(message: object) -> bool:
    return isinstance(message, Mapping) and set(message) == {"role", "content"}


def fill_messages(messages: Any, fields: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return messages with their templates filled, or those of the column that is named, whose texts are data.

    Raises UnknownField.
    """
    if not isinstance(messages, str):
        return [{**message, "content": read_content(_fill_content(message["content"], fields))} for message in messages]
    name = get_sole_name(messages) or ""
    try:
        return read_messages(field_value(name, fields))
    except ValueError as exc:
        raise NoMessages(name, str(exc)) from None


def _fill_content(content: Any, fields: Mapping[str, Any]) -> Any:
    if isinstance(content, str):
        return fill_text(content, fields)
    if isinstance(content, Mapping):
        return {name: _fill_content(value, fields) for name, value in content.items()}
    return [_fill_content(part, fields) for part in content] if isinstance(content, list) else content


def read_messages(value: object) -> list[dict[str, Any]]:
    """Return messages in the form of Chat Completions; a text is one message of the user. Raises ValueError.

    The parts of the Responses API are converted.
    """
    if isinstance(value, str):
        return [{"role": "user", "content": value}]
    if not isinstance(value, list) or not value:
        raise ValueError(EXPECTED)
    return [_read_message(message) for message in value]


def _read_message(message: object) -> dict[str, Any]:
    if not isinstance(message, Mapping) or not isinstance(message.get("role"), str):
        raise ValueError(EXPECTED)
    more = {name: message[name] for name in CALLS if message.get(name) is not None}
    content = message.get("content")
    if content is None and more:
        return {"role": message["role"], "content": None, **more}
    return {"role": message["role"], "content": read_content(content), **more}


def read_content(content: object) -> str | list[dict[str, Any]]:
    """Return a content as a text, or as parts where not all of it is text. Raises ValueError."""
    parts = [_read_part(part) for part in (content if isinstance(content, list) else [content])]
    if not parts:
        raise ValueError(EXPECTED)
    if all(part["type"] == "text" for part in parts):
        return "\n".join(part["text"] for part in parts if part["text"] or len(parts) == 1)
    return parts


def _read_part(part: object) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    if not isinstance(part, Mapping):
        raise ValueError(EXPECTED)
    kind, sound = part.get("type"), part.get("input_audio")
    if kind in TEXTS and isinstance(part.get("text"), str):
        return {"type": "text", "text": part["text"]}
    if kind in ("input_image", "image_url"):
        return _read_image(part)
    if kind == "input_audio" and isinstance(sound, Mapping) and isinstance(sound.get("data"), str):
        if sound.get("format") not in AUDIO_FORMATS:
            raise ValueError(f"The `format` of a recording is {' or '.join(AUDIO_FORMATS)}.")
        return {"type": "input_audio", "input_audio": {"data": sound["data"], "format": sound["format"]}}
    raise ValueError(EXPECTED)


def _read_image(part: Mapping[str, Any]) -> dict[str, Any]:
    image = part.get("image_url")
    fields = image if isinstance(image, Mapping) else {"url": image, "detail": part.get("detail")}
    if not isinstance(fields.get("url"), str):
        raise ValueError("A picture has its `image_url`, a text.")
    detail = {"detail": fields["detail"]} if isinstance(fields.get("detail"), str) else {}
    return {"type": "image_url", "image_url": {"url": fields["url"], **detail}}


def list_senses(messages: object) -> Iterator[str]:
    """Yield what messages ask of a connection besides reading: `sees_images`, `hears_audio`."""
    if not isinstance(messages, list):
        return
    kinds = {
        part["type"]
        for message in messages
        if isinstance(message["content"], list)
        for part in message["content"]
        if isinstance(part, Mapping)
    }
    if "image_url" in kinds:
        yield "sees_images"
    if "input_audio" in kinds:
        yield "hears_audio"


def show_messages(messages: list[dict[str, Any]]) -> list[dict[str, str]]:
    """Return messages with texts as contents, where other parts are named by their types."""
    return [{"role": message["role"], "content": _show_content(message.get("content"))} for message in messages]


def _show_content(content: Any) -> str:
    if not isinstance(content, list):
        return content or ""
    return "\n".join(part["text"] if part["type"] == "text" else f"[{part['type']}]" for part in content)
