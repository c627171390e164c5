"""The components of an image that no lock names."""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from scripts import base, inventory
from scripts.commits import CHECKOUT

DEP_5 = """Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/

Files: *
License: LGPL-2.1+

Files: a
License: BSD-3-clause or GPL-2

License: LGPL-2.1+
 Its text is in /usr/share/common-licenses/LGPL-2.1.
"""
BUILD_INFO = (
    "go\tgo1.26.8\npath\tcaddy\nmod\tcaddy\t(devel)\t\ndep\tcel.dev/expr\tv0.25.3\th1:A2jO=\n"
    "dep\tgithub.com/Old/Name\tv1.0.0\n=>\tgithub.com/New/Name\tv1.0.1+incompatible\th1:85+p=\n"
    "build\t-ldflags=-w\n"
)


@pytest.mark.parametrize(
    ("text", "licences"),
    [
        (DEP_5, ["BSD-3-clause or GPL-2", "LGPL-2.1+"]),
        ("See /usr/share/common-licenses/GPL-3, and /usr/share/common-licenses/GFDL-1.3.", ["GFDL-1.3", "GPL-3"]),
        ("License: a free one, of which this file is no machine-readable statement", []),
        (None, []),
    ],
)
def test_licences_are_those_of_the_copyright_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str | None, licences: list[str]
) -> None:
    monkeypatch.setattr(base, "DOCUMENTS", tmp_path)
    if text is not None:
        (tmp_path / "a").mkdir()
        (tmp_path / "a" / "copyright").write_text(text)

    assert base.read_debian_licences("a") == licences


@pytest.mark.skipif(not shutil.which("dpkg-query"), reason="needs a Debian")
def test_every_debian_package_is_listed_once_and_the_list_is_valid(tmp_path: Path) -> None:
    shown = subprocess.run(["dpkg-query", "--show"], capture_output=True, text=True, check=True).stdout
    others = [*base.list_debian_packages(), *base.list_python()]
    inventory.write_inventory(tmp_path, [CHECKOUT / "requirements" / "runtime.txt"], others=others)

    versions = {(line.partition("\t")[0].partition(":")[0], line.partition("\t")[2]) for line in shown.splitlines()}
    listed = [component for component in others if str(component["purl"]).startswith("pkg:deb/")]
    assert {(component["name"], component["version"]) for component in listed} <= versions
    assert {"apt", "dpkg", "libc6"} <= {component["name"] for component in listed}
    assert len({component["purl"] for component in others}) == len(others)
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str((tmp_path / "sbom.cdx.json").read_text()) is None
    assert "their licences: /usr/share/doc/*/copyright" in (tmp_path / "NOTICE").read_text()


def test_a_purl_has_the_source_package_and_the_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    query = tmp_path / "dpkg-query"
    query.write_text(
        "#!/bin/sh\nprintf 'libc++1\\t1:2.0-3+b1\\tamd64\\tllvm\\tinstalled\\n"
        "gone\\t1\\tamd64\\tgone\\tconfig-files\\n'\n"
    )
    query.chmod(0o755)
    (tmp_path / "os-release").write_text('ID=debian\nVERSION_ID="13"\n')
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setattr(base, "RELEASE", tmp_path / "os-release")

    [package] = base.list_debian_packages()
    assert package["purl"] == "pkg:deb/debian/libc%2B%2B1@1%3A2.0-3%2Bb1?arch=amd64&distro=debian-13&upstream=llvm"


def test_the_python_below_and_what_is_in_it_are_listed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "base_prefix", str(tmp_path))
    folder = tmp_path / f"lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"
    (folder / "Pip_Tool-1.0.dist-info").mkdir(parents=True)
    (folder / "Pip_Tool-1.0.dist-info" / "METADATA").write_text("Name: Pip_Tool\nVersion: 1.0\nLicense: MIT\n")
    version = platform.python_version()

    purls = [component["purl"] for component in base.list_python()]
    assert purls == [f"pkg:generic/python@{version}", "pkg:pypi/pip-tool@1.0"]


def test_debian_s_python_is_not_listed_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "base_prefix", "/usr")

    assert list(base.list_python()) == []


def test_the_modules_of_a_go_program_are_listed_as_they_were_built(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\n[ $1 = build-info ] && cat <<'END'\n{BUILD_INFO}END\n")
    program.chmod(0o755)

    assert [component["purl"] for component in base.list_go_modules(program)] == [
        "pkg:golang/stdlib@1.26.8",
        "pkg:golang/cel.dev/expr@v0.25.3",
        "pkg:golang/github.com/new/name@v1.0.1%2Bincompatible",
    ]
