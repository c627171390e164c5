"""Where the data lives, and the secrets made there."""

import os
import stat
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from cryptography.fernet import Fernet
from django.core.checks.security.base import check_secret_key
from django.test import override_settings

from evalsvc.local.embedded import home as home_module
from evalsvc.local.embedded.home import MAKERS, SecretsLost, evalsvc_home, load_secrets, read_env_file, write_env_file


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_the_environment_names_the_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("EVALSVC_HOME", str(tmp_path / "data"))
    assert evalsvc_home(tmp_path) == tmp_path / "data"


def test_it_lies_in_the_checkout_of_an_ordinary_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("EVALSVC_HOME", raising=False)
    monkeypatch.setattr(home_module, "running_as_root", lambda: False)
    (tmp_path / "manage.py").touch()
    assert evalsvc_home(tmp_path) == tmp_path.resolve() / ".evalsvc"


def test_of_an_installed_package_it_is_the_users_folder_for_data(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("EVALSVC_HOME", raising=False)
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "me"))
    monkeypatch.setattr(home_module, "running_as_root", lambda: False)
    assert evalsvc_home(tmp_path) == tmp_path / "me" / ".local" / "share" / "evalsvc"
    monkeypatch.setenv("XDG_DATA_HOME", "data")
    assert evalsvc_home(tmp_path) == tmp_path / "me" / ".local" / "share" / "evalsvc"
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert evalsvc_home(tmp_path) == tmp_path / "data" / "evalsvc"
    monkeypatch.setattr(home_module, "running_as_root", lambda: True)
    assert evalsvc_home(tmp_path) == Path("/var/lib/evalsvc/default")


def test_root_gets_one_outside_the_checkout(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("EVALSVC_HOME", raising=False)
    monkeypatch.setattr(home_module, "running_as_root", lambda: True)
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "manage.py").touch()
    one, other = evalsvc_home(tmp_path / "a"), evalsvc_home(tmp_path / "b")
    assert one.parent == other.parent == Path("/var/lib/evalsvc")
    assert one != other
    assert evalsvc_home(tmp_path / "a") == one


def test_an_empty_variable_counts_as_unset(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("EVALSVC_HOME", "")
    assert evalsvc_home(tmp_path).name != ""


def test_secrets_are_made_once_and_kept(tmp_path: Path) -> None:
    first = load_secrets(tmp_path / "home")
    assert set(first) == set(MAKERS)
    assert all(len(value) >= 32 for value in first.values())
    assert len(set(first.values())) == len(first)
    assert load_secrets(tmp_path / "home") == first


def test_the_key_that_is_made_passes_the_check_of_a_deployment(tmp_path: Path) -> None:
    key = load_secrets(tmp_path / "home")["SECRET_KEY"]
    with override_settings(SECRET_KEY=key):
        assert check_secret_key(None) == []
    assert len(key) == 64


@pytest.mark.parametrize("left", [None, "KEY_PEPPER=x\n"])
def test_no_password_is_made_for_a_database_that_has_one(tmp_path: Path, left: str | None) -> None:
    (tmp_path / "postgres" / "data").mkdir(parents=True)
    if left is not None:
        (tmp_path / "secrets.env").write_text(left)

    with pytest.raises(
        SecretsLost, match=r"Put the file back .* or, to begin anew without the data, delete the folder"
    ):
        load_secrets(tmp_path)
    assert not (tmp_path / "secrets.env").exists() or (tmp_path / "secrets.env").read_text() == left


def test_secrets_are_for_the_owner_only(tmp_path: Path) -> None:
    previous = os.umask(0)
    try:
        load_secrets(tmp_path / "home")
    finally:
        os.umask(previous)
    assert mode(tmp_path / "home" / "secrets.env") == 0o600
    assert mode(tmp_path / "home") & 0o066 == 0
    assert {mode(tmp_path / "home" / name) for name in ("logs", "run")} == {0o700}


def test_the_encryption_key_is_a_fernet_key(tmp_path: Path) -> None:
    Fernet(load_secrets(tmp_path)["ENCRYPTION_KEYS"].split(",")[0])


def test_processes_that_start_together_get_the_same_secrets(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: load_secrets(tmp_path / "home"), range(16)))
    assert all(result == results[0] for result in results)
    assert [path.name for path in (tmp_path / "home").iterdir() if path.is_file()] == ["secrets.env"]


def test_a_secret_that_a_later_version_needs_is_added(tmp_path: Path) -> None:
    before = load_secrets(tmp_path)
    kept = {name: value for name, value in before.items() if name != "KEY_PEPPER"}
    write_env_file(tmp_path / "secrets.env", kept | {"ENCRYPTION_KEYS": "new,old"})
    after = load_secrets(tmp_path)
    assert after["KEY_PEPPER"]
    assert after["ENCRYPTION_KEYS"] == "new,old"
    assert after["SECRET_KEY"] == before["SECRET_KEY"]
    assert mode(tmp_path / "secrets.env") == 0o600


def test_an_env_file_survives_comments_quotes_and_equals_signs(tmp_path: Path) -> None:
    path = tmp_path / "x.env"
    path.write_text("# comment\n\nA=1\nB='two words'\nC=a=b==\n")
    assert read_env_file(path) == {"A": "1", "B": "two words", "C": "a=b=="}


VALUES = ["", "a b", "?host=/tmp/x&port=5432&user=a", "p$(id)`id`'\"\\;|", "#no comment", "two\nlines", "ü€"]


@pytest.mark.parametrize("value", VALUES)
def test_a_shell_and_we_read_the_same_value(tmp_path: Path, value: str) -> None:
    path = tmp_path / "services.env"
    write_env_file(path, {"DATABASE_URL": value, "LAST": "1"})

    assert read_env_file(path) == {"DATABASE_URL": value, "LAST": "1"}
    script = f'set -a; . "{path}"; set +a; printf "%s\\0%s" "$DATABASE_URL" "$LAST"'
    done = subprocess.run(["sh", "-euc", script], capture_output=True, check=True)
    assert (done.stdout.decode(), done.stderr) == (f"{value}\0001", b"")
