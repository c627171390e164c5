"""The list of packages and their licences that images and releases have."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from scripts import inventory, licences
from scripts.commits import CHECKOUT

LOCKS = [CHECKOUT / "requirements" / name for name in ("runtime.txt", "models.txt")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("inventory")
    command = [sys.executable, "-m", "scripts.inventory", str(made), *map(str, LOCKS)]
    subprocess.run(command, cwd=CHECKOUT, check=True)
    return made


def test_every_locked_package_is_listed_with_its_licence(folder: Path) -> None:
    components = json.loads((folder / "sbom.cdx.json").read_text())["components"]
    notice = (folder / "NOTICE").read_text()

    assert [component["name"] for component in components] == sorted(set(licences.locked()))
    for component in components:
        (licence,) = component["licenses"]
        assert licence.get("expression") or licence["license"]["name"], component
        assert f"\n{component['name']} {component['version']}: " in notice
    by_name = {component["name"]: component for component in components}
    assert by_name["django"]["licenses"] == [{"expression": "BSD-3-Clause"}]
    assert by_name["django"]["purl"] == f"pkg:pypi/django@{by_name['django']['version']}"


def test_the_texts_of_licences_are_in_the_notice_once(folder: Path) -> None:
    notice = (folder / "NOTICE").read_text()

    texts = [text for package in inventory.installed_packages(LOCKS) for text in set(package.texts)]
    assert len(texts) > 100
    assert [text[:80] for text in texts if text not in notice] == []
    shared = max((text for text in texts if texts.count(text) > 1), key=len)
    assert len(shared) > 1000
    assert notice.count(shared) == 1


def test_the_list_is_valid_cyclonedx(folder: Path) -> None:
    document = (folder / "sbom.cdx.json").read_text()

    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(document) is None


def test_the_same_packages_make_the_same_files(folder: Path, tmp_path: Path) -> None:
    inventory.write_inventory(tmp_path, LOCKS)

    for name in ("sbom.cdx.json", "NOTICE"):
        assert (tmp_path / name).read_text() == (folder / name).read_text()


def test_a_lock_of_which_nothing_is_installed_is_refused(tmp_path: Path) -> None:
    lock = tmp_path / "lock.txt"
    lock.write_text("no-such-package-as-this==1.0\n")

    with pytest.raises(inventory.Incomplete, match=r"Nothing of lock\.txt is installed"):
        inventory.write_inventory(tmp_path, [lock])
