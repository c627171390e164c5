"""The library `openai` at work. Import this where it is used: it costs a process of its own a second and 35 MB."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import lru_cache
from typing import TypeAlias

import openai
import orjson
from openai import AsyncOpenAI, Omit, RequestOptions

from evalsvc.infra.cache import BoundedCache
from evalsvc.judges import failures
from evalsvc.judges.calls.reading import from_outbound, from_status
from evalsvc.judges.connections.facts import ConnectionFacts
from evalsvc.judges.failures import CallFailed
from evalsvc.outbound.allowance import Allowance
from evalsvc.outbound.failures import OutboundFailed
from evalsvc.outbound.for_libraries import HTTP_ERRORS, Answer, Letter, async_http_client, letter_of

MAX_BYTES = 4 * 1024 * 1024
MAX_LETTERS = 256
Key: TypeAlias = tuple[str, str, tuple[tuple[str, str], ...], str]
_letters: BoundedCache[Key, Letter] = BoundedCache(MAX_LETTERS)


async def send(connection: ConnectionFacts, path: str, body: Mapping[str, object], *, seconds: float) -> bytes:
    """Post JSON to a page of the endpoint once and return what it answers; raises CallFailed.

    The library writes the first letter to a page; the others are copies of it with other contents, as to write one
    takes it longer than all the rest of a call.
    """
    headers = tuple(connection.headers.items())
    key = (connection.base_url, connection.key, headers, path)
    try:
        with Allowance(seconds=seconds, max_bytes=MAX_BYTES):
            content = orjson.dumps(body)
            if (letter := _letters.get(key)) is not None:
                return _opened(await letter.send(content))
            client = _client(connection.base_url, connection.key, headers)
            # The client's own models cost more time than all the rest and know fewer endpoints than we meet.
            response = await client.post(path, cast_to=Answer, content=content, options=_options(connection))
            _letters.put(key, letter_of(response.request))
            return response.content
    except OutboundFailed as exc:
        raise from_outbound(exc) from None
    except openai.APIStatusError as exc:
        raise from_status(exc, secrets=(connection.key, *connection.headers.values())) from None
    except (openai.OpenAIError, *HTTP_ERRORS, TypeError, ValueError) as exc:
        # TypeError and ValueError: a body that cannot be written as JSON.
        raise CallFailed(failures.BUG, f"The call could not be made: {type(exc).__name__}.") from None


def _opened(answer: Answer) -> bytes:
    """Return the content of an answer; raises what the library would for one that is no success."""
    if answer.is_success:
        return answer.content
    try:
        said = orjson.loads(answer.content)
    except orjson.JSONDecodeError:
        said = answer.text.strip()
    detail = said.get("error", said) if isinstance(said, dict) else said
    raise openai.APIStatusError(f"Error code: {answer.status_code}", response=answer, body=detail)


def _options(connection: ConnectionFacts) -> RequestOptions:
    # Without a key there is nothing to authorise with, unless one of the headers does it.
    named = {name.lower() for name in connection.headers}
    return {} if connection.key or "authorization" in named else {"headers": {"Authorization": Omit()}}


@lru_cache(maxsize=256)
def _client(base_url: str, key: str, headers: tuple[tuple[str, str], ...]) -> AsyncOpenAI:
    # The client would send the operator's own settings along, to whatever server an account names.
    for name in [name for name in os.environ if name.startswith("OPENAI_")]:
        del os.environ[name]
    client = AsyncOpenAI(
        api_key=key or "none",
        base_url=base_url,
        max_retries=0,
        timeout=None,
        http_client=async_http_client(),
        default_headers=dict(headers),
    )
    # Or its first calls would each start a thread to find it out.
    client._platform = "Unknown"
    return client
