"""`evalsvc login`: an address and a key are kept where only their owner reads them, and the environment wins."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from tests.caller import Caller
from tests.cli.inside import invoke, told


@pytest.fixture
def bare(shell: dict[str, str], tmp_path: Path) -> dict[str, str | None]:
    """A shell that knows no service."""
    return shell | {"EVALSVC_URL": None, "EVALSVC_API_KEY": None, "XDG_CONFIG_HOME": str(tmp_path / "settings")}


def login(bare: dict[str, str], web: str, key: str, *options: str) -> Path:
    done = invoke("login", "--url", web, "--json", *options, env=bare, text=f"{key}\n")
    return Path(told(done)["file"])


def test_it_keeps_a_key_that_only_its_owner_reads(bare: dict[str, str], web: str, alice: Caller) -> None:
    path = login(bare, web, alice.key)

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert json.loads(path.read_text()) == {"default": {"url": web, "api_key": alice.key}}


def test_other_commands_take_what_is_kept(bare: dict[str, str], web: str, alice: Caller) -> None:
    login(bare, web, alice.key)

    found = told(invoke("evaluate", "exact-match", "--output", "a", "--gold", "a", "--json", env=bare))

    assert found["samples"][0]["passed"] is True


def test_a_profile_is_another_account(bare: dict[str, str], web: str, alice: Caller, charlie: Caller) -> None:
    login(bare, web, alice.key)
    path = login(bare, web, charlie.key, "--profile", "other")

    assert json.loads(path.read_text())["other"]["api_key"] == charlie.key
    assert (
        "exact-match"
        in invoke("evaluate", "exact-match", "--output", "a", "--gold", "a", "--profile", "other", env=bare).stdout
    )


def test_the_environment_wins(bare: dict[str, str], web: str, alice: Caller) -> None:
    login(bare, web, alice.key)

    done = invoke("watch", "1", env=bare | {"EVALSVC_API_KEY": "ek_none.such"})

    assert (done.exit_code, "401" in done.output or "key" in done.output) == (2, True)


def test_a_kept_key_goes_to_no_other_address(bare: dict[str, str], web: str, alice: Caller) -> None:
    login(bare, web, alice.key)

    done = invoke("watch", "1", env=bare | {"EVALSVC_URL": "http://127.0.0.1:9"})

    assert done.exit_code == 2
    assert "There is no API key: pass --api-key, set EVALSVC_API_KEY, or run `evalsvc login`." in done.output


def test_a_key_that_opens_nothing_is_not_kept(bare: dict[str, str], web: str, tmp_path: Path) -> None:
    done = invoke("login", "--url", web, env=bare, text="ek_none.such\n")

    assert done.exit_code == 2
    assert not (tmp_path / "settings").exists()


def test_a_profile_can_be_forgotten(bare: dict[str, str], web: str, alice: Caller) -> None:
    path = login(bare, web, alice.key)

    assert invoke("logout", env=bare).exit_code == 0

    assert json.loads(path.read_text()) == {}
    assert invoke("logout", env=bare).exit_code == 2


def test_a_broken_file_says_what_to_do(bare: dict[str, str], web: str, alice: Caller) -> None:
    login(bare, web, alice.key).write_text("nonsense")

    done = invoke("watch", "1", env=bare)

    assert (done.exit_code, "run `evalsvc login` again" in done.output) == (2, True)
