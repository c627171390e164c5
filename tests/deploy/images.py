"""The images that tests deploy: the product's own, built without a network, and stand-ins for official ones."""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import tempfile
from pathlib import Path

from scripts import deploy_test
from tests.conftest import CHECKOUT
from tests.deploy.containers import HOME, debian_image, podman

OFFICIAL_PYTHON = "docker.io/library/python:3.13-slim-trixie"
SOURCES = (
    "deploy/image",
    "requirements",
    "scripts",
    "evalsvc",
    "evaluators",
    "docs",
    "manage.py",
    "LICENSE",
    "pyproject.toml",
)


@functools.cache
def python_image() -> str:
    """Return a Debian with its Python, under the name of the official image that the Dockerfile builds on."""
    podman("tag", debian_image("trixie", "ca-certificates", "python3", "python3-venv"), OFFICIAL_PYTHON)
    return OFFICIAL_PYTHON


@functools.cache
def wheels() -> Path:
    """Return a folder with the wheels of the locks, for the Python of the image; fetched once."""
    locks = [CHECKOUT / "requirements" / name for name in ("runtime.txt", "models.txt", "https.txt", "dev.txt")]
    named = hashlib.sha256(b"".join(path.read_bytes() for path in locks)).hexdigest()[:12]
    folder = HOME / f"wheels-{named}"
    if not (folder / "complete").exists():
        folder.mkdir(parents=True, exist_ok=True)
        podman(
            "run", "--rm", "--network=host", *_trust(), "--volume", f"{CHECKOUT}:/src:ro",
            "--volume", f"{folder}:/src/deploy/image/wheels", python_image(),
            "sh", "-c", "python3 -m venv /tmp/v && /src/deploy/image/fetch-wheels /tmp/v/bin/python",
        )  # fmt: skip
        (folder / "complete").touch()
    return folder


def _trust() -> list[str]:
    """Give a container the package index that this machine's pip is set to."""
    options: list[str] = []
    for name in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_TRUSTED_HOST", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY"):
        if name in os.environ:
            options += ["--env", name]
    authorities = Path("/etc/ssl/certs/ca-certificates.crt")
    if authorities.exists():
        options += ["--volume", f"{authorities}:{authorities}:ro"]
    configuration = Path("/etc/pip.conf")
    if configuration.exists():
        options += ["--volume", f"{configuration}:{configuration}:ro"]
    return options


@functools.cache
def app_image() -> str:
    """Return the product's image, built without a network from what the checkout holds; built once for one content."""
    image = _built("evalsvc")
    podman("tag", image, "localhost/evalsvc:test")
    return image


@functools.cache
def proxy_image() -> str:
    """Return the image of the proxy, built likewise."""
    return _built("evalsvc-proxy", "--target=proxy")


@functools.cache
def single_image() -> str:
    """Return the image that runs the whole service in one container, built likewise."""
    return _built("evalsvc-single", "--target=single")


def _built(name: str, *options: str) -> str:
    image = f"localhost/{name}:{_digest()[:12]}"
    if podman("image", "exists", image, check=False).returncode != 0:
        base = python_image()
        wheels()
        with tempfile.TemporaryDirectory(dir=HOME) as folder:
            context = Path(folder)
            _copy_sources(context)
            podman(
                "build", "--network=none", "--format=docker", "--build-arg", f"BASE={base}", *options,
                "--file", context / "deploy/image/Dockerfile", "--tag", image, context, timeout=1800,
            )  # fmt: skip
    return image


def _digest() -> str:
    whole = hashlib.sha256()
    for path in deploy_test.files(CHECKOUT, SOURCES):
        whole.update(f"{path.relative_to(CHECKOUT)}\n".encode() + path.read_bytes())
    return whole.hexdigest()


def _copy_sources(context: Path) -> None:
    for name in SOURCES:
        source, target = CHECKOUT / name, context / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", "*.whl"))
        else:
            shutil.copy(source, target)
    for wheel in wheels().glob("*.whl"):
        os.link(wheel, context / "deploy/image/wheels" / wheel.name)
