"""Send requests to judges by the library `openai`. Import this only where it is used: it takes a second and 35 MB."""

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
from evalsvc.judges.calls.errors import read_error
from evalsvc.judges.calls.responses import from_outbound
from evalsvc.judges.connections.facts import ConnectionFacts
from evalsvc.judges.failures import CallFailed
from evalsvc.outbound.allowance import Allowance
from evalsvc.outbound.failures import OutboundFailed
from evalsvc.outbound.for_libraries import HTTP_ERRORS, Answer, Letter, async_http_client, build_letter

MAX_BYTES = 4 * 1024 * 1024
MAX_LETTERS = 256
Pairs: TypeAlias = tuple[tuple[str, str], ...]
# By the endpoint, its key, its headers, its query and the path.
Key: TypeAlias = tuple[str, str, Pairs, Pairs, str]
_letters: BoundedCache[Key, Letter] = BoundedCache(MAX_LETTERS)


async def send(connection: ConnectionFacts, path: str, body: Mapping[str, object], *, seconds: float) -> bytes:
    """Post JSON to a path of the endpoint, once, and return the body of its answer. Raises CallFailed.

    The library builds the first request to a path. Later requests are copies of it (a `Letter`) with another body:
    building one takes the library longer than the rest of the call.
    """
    headers, query = tuple(connection.headers.items()), tuple(connection.query.items())
    key = (connection.base_url, connection.key, headers, query, path)
    try:
        with Allowance(seconds=seconds, max_bytes=MAX_BYTES):
            content = orjson.dumps(body)
            if (letter := _letters.get(key)) is not None:
                return _read_content(await letter.send(content))
            client = _client(connection.base_url, connection.key, headers, query)
            # Not the library's own response models: they take longer than the rest, and do not fit every endpoint.
            response = await client.post(path, cast_to=Answer, content=content, options=_options(connection))
            _letters.put(key, build_letter(response.request))
            return response.content
    except OutboundFailed as exc:
        raise from_outbound(exc) from None
    except openai.APIStatusError as exc:
        answer = exc.response
        raise read_error(answer.status_code, answer.headers, answer.content, secrets=connection.secrets) from None
    except (openai.OpenAIError, *HTTP_ERRORS, TypeError, ValueError) as exc:
        # TypeError and ValueError: a body that cannot be written as JSON.
        raise CallFailed(failures.BUG, f"The call could not be made: {type(exc).__name__}.") from None


def _read_content(answer: Answer) -> bytes:
    """Return the content of an answer. Raises APIStatusError, as the library would, when its status is an error."""
    if answer.is_success:
        return answer.content
    raise openai.APIStatusError(f"HTTP {answer.status_code}", response=answer, body=None)


def _options(connection: ConnectionFacts) -> RequestOptions:
    # For a connection that lacks a key the header is omitted, unless the connection's own headers contain it.
    header_names = {name.lower() for name in connection.headers}
    return {} if connection.key or "authorization" in header_names else {"headers": {"Authorization": Omit()}}


@lru_cache(maxsize=256)
def _client(base_url: str, key: str, headers: Pairs, query: Pairs) -> AsyncOpenAI:
    # The client reads these variables, and would send the operator's settings to a server that an account chose.
    for name in [name for name in os.environ if name.startswith("OPENAI_")]:
        del os.environ[name]
    client = AsyncOpenAI(
        api_key=key or "none",
        base_url=base_url,
        max_retries=0,
        timeout=None,
        http_client=async_http_client(),
        default_headers=dict(headers),
        default_query=dict(query),
    )
    # Set here, or each of the first calls starts a thread to detect the platform.
    client._platform = "Unknown"
    return client
