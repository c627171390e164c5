"""`make digests`: pin the images that deploy/ names to what their tags mean now. It must reach their registries.

A digest is written where the image is named (`name:tag@sha256:...`) and nowhere else. `--check` asks and writes
nothing: the exit code says whether every image is pinned. `make release` refuses one that is not.
"""

from __future__ import annotations

import argparse
import hashlib
import http.client
import json
import re
import sys
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from scripts.commits import CHECKOUT

FILES = ("deploy/compose/*.yaml", "deploy/image/Dockerfile*")
SECONDS = 30
MANIFESTS = (
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
)
_mention = re.compile(r"^(?:\s*image: *|ARG BASE=|FROM +)(?P<image>[^\s$]+)(?=\s|$)", re.MULTILINE)
_stage = re.compile(r"^FROM +\S+ +AS +(\S+)", re.MULTILINE)
_image = re.compile(r"(?P<host>[\w.:-]+)/(?P<name>[\w./-]+):(?P<tag>[\w.-]+)(?P<digest>@sha256:[0-9a-f]{64})?")
_parameter = re.compile(r'(\w+)="([^"]*)"')


class Unresolved(Exception):
    """Why an image cannot be pinned, for a person."""


def files(root: Path) -> list[Path]:
    """Return the files that name images."""
    return sorted(path for pattern in FILES for path in root.glob(pattern))


def images(text: str) -> Iterator[str]:
    """Yield the images that a file names. Ours are not among them: they are built here, and their tag is a variable.

    Nor are stages of a Dockerfile that build on one of its stages.
    """
    stages = set(_stage.findall(text))
    yield from (mention["image"] for mention in _mention.finditer(text) if mention["image"] not in stages)


def unpinned(root: Path = CHECKOUT) -> list[str]:
    """Return the images that are named without a digest, or not in full."""
    found = {image for path in files(root) for image in images(path.read_text(encoding="utf-8"))}
    return sorted(image for image in found if not ((match := _image.fullmatch(image)) and match["digest"]))


def pin(image: str) -> str:
    """Return an image with the digest that its tag has now. Raises Unresolved."""
    match = _image.fullmatch(image)
    if not match:
        raise Unresolved(f"{image} does not name registry, repository and tag.")
    host, name, tag = match["host"], match["name"], match["tag"]
    return f"{host}/{name}:{tag}@{resolve(host, name, tag)}"


def resolve(host: str, name: str, tag: str) -> str:
    """Return the digest of the manifest that a registry has under a tag: of all platforms, where it has several."""
    scheme = "http" if host.startswith(("127.0.0.1:", "localhost:")) else "https"
    registry = "registry-1.docker.io" if host == "docker.io" else host
    try:
        content = fetch(f"{scheme}://{registry}/v2/{name}/manifests/{tag}")
        is_manifest = json.loads(content)["schemaVersion"] == 2
    except OSError as exc:
        raise Unresolved(f"{host}/{name}:{tag} could not be looked up: {exc}") from exc
    except (ValueError, KeyError, TypeError, http.client.HTTPException) as exc:
        raise Unresolved(f"{registry} does not answer as a registry does.") from exc
    if not is_manifest:
        raise Unresolved(f"{host}/{name}:{tag} has a manifest of an old form.")
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def fetch(url: str) -> bytes:
    """Return a manifest; where the registry wants a token, ask for one as anybody may have it."""
    headers = {"Accept": ", ".join(MANIFESTS)}
    try:
        return read(url, headers)
    except urllib.error.HTTPError as exc:
        challenge = dict(_parameter.findall(exc.headers.get("WWW-Authenticate", "")))
        if exc.code != http.client.UNAUTHORIZED or "realm" not in challenge:
            raise
    query = urllib.parse.urlencode({key: challenge[key] for key in ("service", "scope") if key in challenge})
    token = json.loads(read(f"{challenge['realm']}?{query}", {}))
    return read(url, headers | {"Authorization": f"Bearer {token.get('token') or token['access_token']}"})


def read(url: str, headers: dict[str, str]) -> bytes:
    """Return what an address answers."""
    if not url.startswith(("https://", "http://127.0.0.1:", "http://localhost:")):
        raise Unresolved(f"{url} is not asked: it is neither https nor of this machine.")
    request = urllib.request.Request(url, headers=headers)  # noqa: S310  checked above
    with urllib.request.urlopen(request, timeout=SECONDS) as answer:  # noqa: S310
        return bytes(answer.read())


def update(root: Path = CHECKOUT) -> list[str]:
    """Pin every image to what its tag means now, and return them. Where one cannot be, nothing is written."""
    texts = {path: path.read_text(encoding="utf-8") for path in files(root)}
    pins = {image: pin(image) for text in texts.values() for image in images(text)}
    for path, text in texts.items():
        pinned = _mention.sub(lambda found: found[0].replace(found["image"], pins[found["image"]]), text)
        path.write_text(pinned, encoding="utf-8")
    return sorted(set(pins.values()))


def main() -> int:
    """Pin or check, and print the images."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="only say which images are not pinned")
    if parser.parse_args().check:
        missing = unpinned()
        for image in missing:
            print(f"{image} is not pinned: run `make digests`.")
        return 1 if missing else 0
    try:
        print(*update(), sep="\n")
    except Unresolved as unresolved:
        print(f"Nothing was written. {unresolved}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
