"""A request's body as the application reads it: what goes wrong is one error, and what is unread is known."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from gunicorn.http.body import Body, ChunkedReader
from gunicorn.http.errors import NoMoreData, ParseException

from evalsvc.ops.serving.drain import draining
from evalsvc.ops.serving.pace import MOST_TAKEN_IN, PacedUnreader
from evalsvc.rest.basics.body_errors import BodyBroken

Application = Callable[[dict[str, Any], Callable[..., object]], Iterable[bytes]]


class TrackedBody:
    """`wsgi.input`."""

    def __init__(self, body: Body) -> None:
        self._body = body
        # gunicorn has two kinds of bodies: chunked, and of a given length, which can be 0.
        is_chunked = isinstance(body.reader, ChunkedReader)
        self._announced: int | None = None if is_chunked else body.reader.length
        self._unreader: PacedUnreader | None = None if is_chunked else body.reader.unreader
        self._n_read = 0
        self._has_ended = False
        self._has_failed = False

    def read(self, size: int = -1) -> bytes:
        """Return so many bytes, or fewer at the end."""
        data = self._try_read(self._body.read, size)
        return self._count_read(data, is_end=size < 0 or len(data) < size)

    def readline(self, size: int = -1) -> bytes:
        """Return a line."""
        data = self._try_read(self._body.readline, size)
        return self._count_read(data, is_end=not data and size != 0)

    def __iter__(self) -> TrackedBody:
        return self

    def __next__(self) -> bytes:
        if line := self.readline():
            return line
        raise StopIteration

    def is_over(self) -> bool:
        """Return whether the next request can follow on this connection: all of this body has come."""
        if self._has_failed:
            return False
        if self._announced is None or self._unreader is None:
            return self._has_ended
        n_left = self._announced - self._n_read
        return n_left == 0 or self._is_received(n_left - self._body.buf.getbuffer().nbytes, self._unreader)

    @staticmethod
    def _is_received(n_bytes: int, unreader: PacedUnreader) -> bool:
        n_left = n_bytes - unreader.n_buffered()
        if 0 < n_left <= MOST_TAKEN_IN:
            unreader.take_in(n_left)
        return n_bytes <= min(unreader.n_buffered(), MOST_TAKEN_IN)

    def _try_read(self, read: Callable[[int], bytes], size: int) -> bytes:
        try:
            return read(size)
        except (ParseException, NoMoreData) as exc:
            self._has_failed = True
            raise BodyBroken(f"The body cannot be read: {type(exc).__name__}.") from None
        except ConnectionError:
            self._has_failed = True
            raise ended_early() from None
        except OSError:
            self._has_failed = True
            raise

    def _count_read(self, data: bytes, *, is_end: bool) -> bytes:
        self._n_read += len(data)
        self._has_ended |= is_end
        if is_end and self._announced is not None and self._n_read < self._announced:
            self._has_failed = True
            raise ended_early()
        return data


def ended_early() -> BodyBroken:
    """Return the error for a sender that disconnected."""
    return BodyBroken("The body ends before its announced length.")


def close_if_unread(application: Application) -> Application:
    """Wrap an application to read bodies as TrackedBody, and close connections with an unread body.

    This is decided before the response headers are sent: a client reuses a connection unless they announce its end.
    """

    def answer(environ: dict[str, Any], start_response: Callable[..., object]) -> Iterable[bytes]:
        response = start_response.__self__  # type: ignore[attr-defined]  # gunicorn's Response
        body = TrackedBody(environ["wsgi.input"])
        environ["wsgi.input"] = body

        def begin(status: str, headers: list[tuple[str, str]], exc_info: object = None) -> object:
            # While draining, close every connection: the next request on it would come too late.
            if draining.is_on() or not body.is_over():
                response.force_close()
            return start_response(status, headers, exc_info)

        return application(environ, begin)

    return answer
