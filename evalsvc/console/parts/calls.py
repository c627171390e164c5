"""The call of the API that gives what a page shows: as curl and as Python. A key's place is marked, never filled in."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest

from evalsvc.rest.bodies.names import first_invisible_char

KEY = "EVALSVC_API_KEY"


@dataclass(frozen=True, slots=True)
class ApiCall:
    """A call: its path below the service's address, its parameters, and its body."""

    method: str
    path: str
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Any = None

    @property
    def target(self) -> str:
        """The path with its parameters; those without a value are left out."""
        encoded = urlencode({key: value for key, value in self.query.items() if value not in (None, "")}, doseq=True)
        return f"{self.path}?{encoded}" if encoded else self.path


def shell_word(text: str) -> str:
    """Return a text as one word of a shell.

    A terminal obeys the control characters that are pasted into it, inside quotes too: one ends the line, and what
    follows is a command. Others turn around what one sees. They become escapes, which bash and zsh read.
    """
    if first_invisible_char(text) is None:
        return shlex.quote(text)
    return "$'" + "".join(_escaped(char) for char in text) + "'"


def _escaped(char: str) -> str:
    if char in "\\'":
        return f"\\{char}"
    return char if first_invisible_char(char) is None else f"\\U{ord(char):08x}"


def json_word(body: object) -> str:
    """Return a JSON document as one word of a shell, likewise; its own escapes do it."""
    text = json.dumps(body, ensure_ascii=False)
    return shlex.quote("".join(char if first_invisible_char(char) is None else json.dumps(char)[1:-1] for char in text))


def base_address(request: HttpRequest) -> str:
    """Return the address of the service as the person's browser knows it."""
    return request.build_absolute_uri("/").rstrip("/")


def as_curl(request: HttpRequest, call: ApiCall) -> str:
    """Return the call for a shell; the key is taken from the environment."""
    lines = [f'curl -H "X-API-KEY: ${KEY}"']
    if call.method != "GET":
        lines[0] = f'curl -X {call.method} -H "X-API-KEY: ${KEY}"'
    if call.body is not None:
        lines[0] += " -H 'Content-Type: application/json'"
        lines.append(f"  -d {json_word(call.body)}")
    lines.append(f"  {shell_word(base_address(request) + call.target)}")
    return " \\\n".join(lines)


def as_python(request: HttpRequest, call: ApiCall) -> str:
    """Return the call for Python, with httpx, which the client needs as well."""
    json_argument = f",\n    json={call.body!r}" if call.body is not None else ""
    return (
        "import os, httpx\n\n"
        f"answer = httpx.request({call.method!r}, {base_address(request) + call.target!r},\n"
        f"    headers={{'X-API-KEY': os.environ['{KEY}']}}{json_argument})\n"
        "print(answer.json())"
    )
