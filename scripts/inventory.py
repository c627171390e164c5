"""Write what is installed from the locks: `python -m scripts.inventory FOLDER LOCK ...`, with the Python that has it.

`FOLDER/sbom.cdx.json` is a CycloneDX document, `FOLDER/NOTICE` has the licence of each package and its texts. Both are
the same whenever the same packages are installed. `--base` adds Debian's packages, and a Python that is not Debian's;
`--go PROGRAM` the modules of a Go program. Standard library only: the image is built with nothing else.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from scripts import base

VERSION_FILE = Path(__file__).resolve().parent.parent / "evalsvc" / "__init__.py"
_pin = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)==([^\s;\\]+)", re.MULTILINE)
_version = re.compile(r'^__version__ = "(.+)"$', re.MULTILINE)
_licence_file = re.compile(r"(LICEN[CS]E|COPYING|NOTICE|COPYRIGHT|AUTHORS)[^/]*$", re.IGNORECASE)
# What people write where an SPDX identifier belongs.
SPELLINGS = {
    "MIT LICENSE": "MIT",
    "NEW BSD": "BSD",
    "BSD LICENSE": "BSD",
    "2-CLAUSE BSD": "BSD-2-CLAUSE",
    "3-CLAUSE BSD": "BSD-3-CLAUSE",
    "BSD 3-CLAUSE": "BSD-3-CLAUSE",
    "3-CLAUSE BSD LICENSE": "BSD-3-CLAUSE",
    "APACHE LICENSE, VERSION 2.0": "APACHE-2.0",
    "APACHE SOFTWARE LICENSE": "APACHE-2.0",
    "PSFL": "PSF-2.0",
    "PYTHON SOFTWARE FOUNDATION LICENSE": "PSF-2.0",
    "MOZILLA PUBLIC LICENSE 2.0 (MPL 2.0)": "MPL-2.0",
    "ISC LICENSE (ISCL)": "ISC",
}


class Incomplete(Exception):
    """What keeps the inventory from being complete, for a person."""


@dataclass(frozen=True, slots=True)
class Package:
    """An installed package of a lock."""

    name: str
    version: str
    licence: str
    is_expression: bool
    """Whether the licence is an SPDX expression, and not a text."""
    texts: tuple[str, ...]


def read_pins(locks: Sequence[Path]) -> set[tuple[str, str]]:
    """Return name and version of all that the locks pin, for any system."""
    return {pin for lock in locks for pin in _pin.findall(lock.read_text(encoding="utf-8"))}


def installed_packages(locks: Sequence[Path]) -> list[Package]:
    """Return the packages of the locks that are installed. Raise Incomplete for one that names no licence."""
    return sorted(_find_packages(locks), key=lambda package: package.name)


def _find_packages(locks: Sequence[Path]) -> Iterator[Package]:
    for name, version in read_pins(locks):
        try:
            found = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue  # pinned for another system
        if found.version != version:
            continue  # pinned for another Python
        licence = statement_of(name)
        if not licence:
            raise Incomplete(f"{name} {version} names no licence.")
        yield Package(name, version, licence, bool(found.metadata.get("License-Expression")), tuple(_texts(found)))


def _texts(found: metadata.Distribution) -> Iterator[str]:
    for path in sorted(found.files or [], key=str):
        if ".dist-info/" in f"{path}" and _licence_file.search(f"{path}"):
            file = Path(str(found.locate_file(path)))
            if file.is_file():
                yield file.read_text(encoding="utf-8", errors="replace").strip()


def statement_of(package: str) -> str:
    """Return what a package says of its licence: the SPDX expression, else its classifiers, else its free text."""
    about = metadata.metadata(package)
    if expression := about.get("License-Expression"):
        return str(expression)
    classifiers = [str(line) for line in about.get_all("Classifier") or []]
    names = [line.rpartition(" :: ")[2] for line in classifiers if line.startswith("License :: OSI Approved :: ")]
    # Several classifiers may mean "and" or "or"; the careful reading is "and".
    return " AND ".join(spdx(name) for name in names) or str(about.get("License") or "").strip()


def spdx(name: str) -> str:
    """Return the identifier that a spelling means, in capitals."""
    name = name.strip().upper()
    return SPELLINGS.get(name, name)


def build_sbom(packages: Sequence[Package], version: str, others: Sequence[base.Component] = ()) -> dict[str, object]:
    """Return the CycloneDX document of packages, and of other components."""
    components = [_component(package) for package in packages]
    known = {component["purl"] for component in components}
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {"type": "application", "name": "evalsvc", "version": version}},
        "components": components + [other for other in others if other["purl"] not in known],
    }


def _component(package: Package) -> dict[str, object]:
    purl = f"pkg:pypi/{re.sub('[-_.]+', '-', package.name).lower()}@{package.version}"
    first_line = package.licence.splitlines()[0]
    licence = {"expression": package.licence} if package.is_expression else {"license": {"name": first_line}}
    return {
        "type": "library",
        "bom-ref": purl,
        "name": package.name,
        "version": package.version,
        "purl": purl,
        "licenses": [licence],
    }


def build_notice(packages: Sequence[Package], others: Sequence[base.Component] = ()) -> str:
    """Return the licences of all packages, then each text once, with the packages that carry it.

    Texts of Debian's packages lie where Debian puts them.
    """
    lines = ["evalsvc includes the following packages.", ""]
    owners: dict[str, list[str]] = {}
    for package in packages:
        lines.append(f"{package.name} {package.version}: {package.licence.splitlines()[0]}")
        for text in dict.fromkeys(package.texts):
            owners.setdefault(text, []).append(package.name)
    if any(str(other["purl"]).startswith("pkg:deb/") for other in others):
        lines += ["", f"Debian packages are listed in sbom.cdx.json; their licences: {base.DOCUMENTS}/*/copyright."]
    for text, names in owners.items():
        lines += ["", "=" * 80, ", ".join(names), "=" * 80, "", text]
    return "\n".join(lines) + "\n"


def write_inventory(
    folder: Path, locks: Sequence[Path], *, version: str | None = None, others: Sequence[base.Component] = ()
) -> None:
    """Write both files."""
    packages = installed_packages(locks)
    if not packages:
        raise Incomplete(f"Nothing of {', '.join(lock.name for lock in locks)} is installed here.")
    folder.mkdir(parents=True, exist_ok=True)
    sbom = json.dumps(build_sbom(packages, version or read_version(), others), indent=2)
    (folder / "sbom.cdx.json").write_text(sbom + "\n", encoding="utf-8")
    (folder / "NOTICE").write_text(build_notice(packages, others), encoding="utf-8")


def read_version() -> str:
    """Return the version of the checkout."""
    [version] = _version.findall(VERSION_FILE.read_text(encoding="utf-8"))
    return str(version)


def main() -> None:
    """Write what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("locks", type=Path, nargs="+")
    parser.add_argument("--base", action="store_true", help="list Debian's packages and the Python below, too")
    parser.add_argument("--go", type=Path, metavar="PROGRAM", help="list the modules of a Go program, too")
    given = parser.parse_args()
    others = [*base.list_debian_packages(), *base.list_python()] if given.base else []
    others += base.list_go_modules(given.go) if given.go else []
    write_inventory(given.folder, given.locks, others=others)


if __name__ == "__main__":
    try:
        main()
    except Incomplete as incomplete:
        sys.exit(str(incomplete))
