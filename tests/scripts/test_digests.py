"""`make digests` against a local registry that wants a token, as the public ones do."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from scripts import digests
from scripts.commits import CHECKOUT

INDEX = json.dumps({"schemaVersion": 2, "mediaType": digests.MANIFESTS[0], "manifests": []}).encode()
DIGEST = f"sha256:{hashlib.sha256(INDEX).hexdigest()}"
OLD = f"sha256:{'0' * 64}"


class Registry(BaseHTTPRequestHandler):
    """It knows `library/postgres:18`, for who brings the token that it gives to anybody."""

    def do_GET(self) -> None:
        host, (path, _, query) = self.headers["Host"], self.path.partition("?")
        if path == "/token":
            asks_to_pull = query.startswith("service=registry.test&scope=repository%3Alibrary%2F")
            self.answer(200 if asks_to_pull else 400, b'{"token": "t"}')
        elif path == "/v2/library/html/manifests/18":
            self.answer(200, b"<html>Sign in</html>")
        elif self.headers.get("Authorization") != "Bearer t":
            scope = f"repository:{path.removeprefix('/v2/').partition('/manifests/')[0]}:pull"
            challenge = f'Bearer realm="http://{host}/token",service="registry.test",scope="{scope}"'
            self.answer(401, b"{}", challenge)
        elif path == "/v2/library/postgres/manifests/18" and digests.MANIFESTS[0] in self.headers["Accept"]:
            self.answer(200, INDEX)
        else:
            self.answer(404, b"{}")

    def answer(self, status: int, content: bytes, challenge: str = "") -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        if challenge:
            self.send_header("WWW-Authenticate", challenge)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *arguments: Any) -> None:
        pass


@pytest.fixture
def host() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Registry)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def write(root: Path, image: str, base: str) -> tuple[Path, Path]:
    compose, dockerfile = root / "deploy/compose/compose.yaml", root / "deploy/image/Dockerfile"
    for path in (compose, dockerfile):
        path.parent.mkdir(parents=True, exist_ok=True)
    compose.write_text(f"services:\n  web:\n    image: evalsvc:${{VERSION}}\n  postgres:\n    image: {image}\n")
    dockerfile.write_text(f"ARG BASE={base}\n\nFROM ${{BASE}} AS layout\n")
    return compose, dockerfile


@pytest.mark.parametrize("before", ["", f"@{OLD}"])
def test_each_image_is_pinned_where_it_is_named(tmp_path: Path, host: str, before: str) -> None:
    image = f"{host}/library/postgres:18"
    compose, dockerfile = write(tmp_path, image + before, image)

    assert digests.update(tmp_path) == [f"{image}@{DIGEST}"]
    assert f"\n    image: {image}@{DIGEST}\n" in compose.read_text()
    assert "    image: evalsvc:${VERSION}\n" in compose.read_text()
    assert dockerfile.read_text() == f"ARG BASE={image}@{DIGEST}\n\nFROM ${{BASE}} AS layout\n"
    assert digests.unpinned(tmp_path) == []


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("library/unknown:18", "could not be looked up: HTTP Error 404"),
        ("library/html:18", "does not answer as a registry does"),
    ],
)
def test_nothing_is_written_where_one_cannot_be_looked_up(tmp_path: Path, host: str, name: str, reason: str) -> None:
    compose, dockerfile = write(tmp_path, f"{host}/library/postgres:18", f"{host}/{name}")
    before = compose.read_text(), dockerfile.read_text()

    with pytest.raises(digests.Unresolved, match=reason):
        digests.update(tmp_path)
    assert (compose.read_text(), dockerfile.read_text()) == before


def test_an_image_without_a_digest_or_a_registry_is_found(tmp_path: Path) -> None:
    write(tmp_path, "postgres:18", f"docker.io/library/python:3.13@{OLD}")

    assert digests.unpinned(tmp_path) == ["postgres:18"]
    with pytest.raises(digests.Unresolved, match="postgres:18 does not name registry, repository and tag"):
        digests.update(tmp_path)


def test_a_comment_beside_an_image_hides_nothing(tmp_path: Path) -> None:
    write(tmp_path, "docker.io/library/postgres:18 # the newest", f"docker.io/library/python:3.13@{OLD}")

    assert digests.unpinned(tmp_path) == ["docker.io/library/postgres:18"]


def test_an_image_in_a_stage_is_found(tmp_path: Path) -> None:
    _, dockerfile = write(tmp_path, f"docker.io/library/postgres:18@{OLD}", f"docker.io/library/python:3.13@{OLD}")
    dockerfile.write_text(dockerfile.read_text() + "FROM docker.io/library/golang:1.26 AS tools\nFROM tools AS more\n")

    assert digests.unpinned(tmp_path) == ["docker.io/library/golang:1.26"]


def test_every_image_that_is_deployed_is_pinned() -> None:
    named = [image for path in digests.files(CHECKOUT) for image in digests.images(path.read_text())]

    assert len(named) == 6
    assert digests.unpinned(CHECKOUT) == []
