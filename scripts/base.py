"""What an image holds beside the packages of the locks: Debian's packages, its Python, the modules of a Go program.

Standard library only.
"""

from __future__ import annotations

import platform
import re
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from urllib.parse import quote

Component = dict[str, object]
DOCUMENTS = Path("/usr/share/doc")
RELEASE = Path("/etc/os-release")
FIELDS = ("Package", "Version", "Architecture", "source:Package", "db:Status-Status")
MAX_NAME = 60
_licence = re.compile(r"^License: *(\S.*)$", re.MULTILINE)
_common = re.compile(r"/usr/share/common-licenses/([A-Za-z][\w.+-]*\w)")


def make_component(name: str, version: str, purl: str, licences: list[str]) -> Component:
    """Return an entry of a CycloneDX document. Where no licence is known it has none, rather than a guess."""
    entry: Component = {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl}
    return entry | ({"licenses": [{"license": {"name": licence}} for licence in licences]} if licences else {})


def list_debian_packages() -> Iterator[Component]:
    """Yield the Debian packages that are installed."""
    release = dict(line.split("=", 1) for line in RELEASE.read_text(encoding="utf-8").splitlines() if "=" in line)
    distribution, number = (release.get(key, "").strip('"') for key in ("ID", "VERSION_ID"))
    template = "\\t".join(f"${{{field}}}" for field in FIELDS) + "\\n"
    command = ["dpkg-query", "--show", f"--showformat={template}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    for line in sorted(done.stdout.splitlines()):
        name, version, architecture, source, status = line.split("\t")
        if status == "installed":
            purl = f"pkg:deb/{distribution}/{quote(name)}@{quote(version)}?arch={architecture}"
            purl += f"&distro={distribution}-{number}" + (f"&upstream={quote(source)}" if source != name else "")
            yield make_component(name, version, purl, read_debian_licences(name))


def read_debian_licences(package: str) -> list[str]:
    """Return the licences that a package's copyright file names in its fields, else the common ones it refers to."""
    path = DOCUMENTS / package / "copyright"
    text = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
    # A field may begin with the text of the licence where its name should be.
    names = {name.strip() for name in _licence.findall(text) if len(name) <= MAX_NAME} if "Format:" in text else set()
    return sorted(names or set(_common.findall(text)))


def list_python() -> Iterator[Component]:
    """Yield the Python below the environment and the packages in it, unless it is Debian's."""
    if sys.base_prefix == "/usr":
        return
    version = platform.python_version()
    yield make_component("python", version, f"pkg:generic/python@{version}", ["PSF-2.0"])
    folder = sysconfig.get_path("purelib", vars={"base": sys.base_prefix})
    for found in sorted(metadata.distributions(path=[folder]), key=lambda found: found.name):
        licence = found.metadata.get("License-Expression") or found.metadata.get("License") or ""
        purl = f"pkg:pypi/{re.sub('[-_.]+', '-', found.name).lower()}@{found.version}"
        yield make_component(found.name, found.version, purl, licence.splitlines()[:1])


def list_go_modules(program: Path) -> Iterator[Component]:
    """Yield the modules that a Go program with the command `build-info` is made of, and Go's standard library."""
    done = subprocess.run([str(program), "build-info"], capture_output=True, text=True, check=True)
    modules: list[tuple[str, str]] = []
    for line in done.stdout.splitlines():
        match line.split("\t"):
            case ["go", version]:
                modules.append(("stdlib", version.removeprefix("go")))
            case ["dep", name, version, *_]:
                modules.append((name, version))
            case ["=>", name, version, *_]:
                modules[-1] = (name, version)
    for name, version in modules:
        yield make_component(name, version, f"pkg:golang/{quote(name.lower())}@{quote(version)}", [])
