"""Settings from the environment, and what the operator reads when one is missing or wrong."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from evalsvc.env import (
    RENAMED,
    env_bool,
    env_int,
    env_list,
    env_ports,
    env_str,
    postgres_settings,
    refuse_renamed_variables,
)

NAME = "EVALSVC_TEST_VALUE"


@pytest.fixture(autouse=True)
def unset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(NAME, raising=False)
    monkeypatch.delenv(f"{NAME}_FILE", raising=False)


def test_a_missing_value_is_named_with_its_remedy() -> None:
    with pytest.raises(ImproperlyConfigured) as stopped:
        env_str(NAME)
    assert f"{NAME} is not set" in str(stopped.value)
    assert f"{NAME}_FILE" in str(stopped.value)


def test_the_variable_beats_the_file_and_the_file_the_default(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert env_str(NAME, "default") == "default"
    secret = tmp_path / "secret"
    secret.write_text("  from the file\u00e9\n", encoding="utf-8")
    monkeypatch.setenv(f"{NAME}_FILE", str(secret))
    assert env_str(NAME, "default") == env_str(NAME) == "from the file\u00e9"
    monkeypatch.setenv(NAME, "from the variable")
    assert env_str(NAME, "default") == "from the variable"


def test_an_empty_variable_is_a_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(NAME, "")
    assert env_str(NAME, "default") == ""
    assert env_bool(NAME, True) is False
    assert env_list(NAME, "a,b") == []


@pytest.mark.parametrize(("text", "number"), [("0", 0), ("120", 120), (" 7 ", 7)])
def test_a_whole_number_is_read(monkeypatch: pytest.MonkeyPatch, text: str, number: int) -> None:
    monkeypatch.setenv(NAME, text)
    assert env_int(NAME, 5) == number


def test_a_number_may_stand_in_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "n").write_text("42\n")
    monkeypatch.setenv(f"{NAME}_FILE", str(tmp_path / "n"))
    assert env_int(NAME, 5) == 42


@pytest.mark.parametrize("text", ["", "1.5", "ten", "1e3", "0x10", "1 000"])
def test_a_wrong_number_is_named(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv(NAME, text)
    with pytest.raises(ImproperlyConfigured) as stopped:
        env_int(NAME, 5)
    assert str(stopped.value) == f"{NAME} must be a whole number, not {text!r}."


@pytest.mark.parametrize(("text", "lowest"), [("-1", 0), ("-60000", 0), ("0", 1)])
def test_a_number_below_what_makes_sense_is_named(monkeypatch: pytest.MonkeyPatch, text: str, lowest: int) -> None:
    monkeypatch.setenv(NAME, text)
    with pytest.raises(ImproperlyConfigured) as stopped:
        env_int(NAME, 5, lowest=lowest)
    assert str(stopped.value) == f"{NAME} must be at least {lowest}, not {text}."


@pytest.mark.parametrize("text", ["0", "443-80", "70000", "https", "80-", "1-2-3", "-5"])
def test_what_is_no_port_is_named(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv(NAME, f"443,{text}")
    with pytest.raises(ImproperlyConfigured, match=f"{NAME} must be ports"):
        env_ports(NAME, "")


def test_ports_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(NAME, "443, 8000-8002")
    assert env_ports(NAME, "") == [range(443, 444), range(8000, 8003)]


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("SECRET_KEY", "abc", "at least 32 characters, and has 3"),
        ("KEY_PEPPER", "", "at least 32 characters, and has 0"),
        ("ENCRYPTION_KEYS", f"{'A' * 43}=,zzz", "Key 2 of ENCRYPTION_KEYS is not 32 bytes"),
        ("EVALSVC_ALLOWED_HOSTS", "localhost,*", "must name hosts"),
        ("EVALSVC_RPM_LIMIT", "-1", "must be at least 0, not -1"),
        ("EVALSVC_MAX_BODY_BYTES", "0", "must be at least 1, not 0"),
        ("EVALSVC_OUTBOUND_PORTS", "all", "must be ports"),
        ("EVALSVC_OIDC_ISSUER", "all", "must be an address like https://"),
    ],
)
def test_no_process_starts_with_a_setting_that_protects_nothing(name: str, value: str, says: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import django; django.setup()"],
        cwd=Path(__file__).parents[2],
        env={**os.environ, name: value, "DJANGO_SETTINGS_MODULE": "evalsvc.settings"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    told = done.stderr.strip().splitlines()[-1]
    assert name in told
    assert says in told
    assert value in ("", "0", "-1", "all") or value not in told


@pytest.mark.parametrize("default", [True, False])
def test_defaults_are_used(default: bool) -> None:
    assert env_bool(NAME, default) is default
    assert env_int(NAME, 5) == 5
    assert env_list(NAME) == []


@pytest.mark.parametrize(
    ("text", "value"),
    [("1", True), ("TRUE", True), (" yes ", True), ("On", True), ("0", False), ("False", False), ("no", False), ("OFF", False)],
)  # fmt: skip
def test_a_switch_is_read(monkeypatch: pytest.MonkeyPatch, text: str, value: bool) -> None:
    monkeypatch.setenv(NAME, text)
    assert env_bool(NAME, not value) is value


@pytest.mark.parametrize("text", ["2", "-1", "ja", "enabled", "truth", "1,0"])
def test_a_wrong_switch_is_named_and_never_guessed(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv(NAME, text)
    with pytest.raises(ImproperlyConfigured) as stopped:
        env_bool(NAME, True)
    assert str(stopped.value) == f"{NAME} must be 1 or 0, not {text!r}."


@pytest.mark.parametrize(
    ("text", "parts"), [("a", ["a"]), (" a , b,", ["a", "b"]), (",,", []), ("a b,c", ["a b", "c"])]
)
def test_a_list_has_no_blanks(monkeypatch: pytest.MonkeyPatch, text: str, parts: list[str]) -> None:
    monkeypatch.setenv(NAME, text)
    assert env_list(NAME) == parts


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("postgresql://u:p@h:5433/d", ("d", "u", "p", "h", "5433", {})),
        ("postgres://u@h/d", ("d", "u", "", "h", "", {})),
        ("postgresql://", ("evalsvc", "", "", "", "", {})),
        ("postgresql://u:p%40%2F%3A@h/d%20e", ("d e", "u", "p@/:", "h", "", {})),
        ("postgresql://u%40x:p@h/d", ("d", "u@x", "p", "h", "", {})),
        ("postgresql://u@/d?host=/run/pg&port=5444", ("d", "u", "", "/run/pg", "5444", {})),
        ("postgresql://u@[::1]:5432/d", ("d", "u", "", "::1", "5432", {})),
        ("postgresql://u:p@a,b/d?target_session_attrs=read-write", ("d", "u", "p", "a,b", "", {"target_session_attrs": "read-write"})),
        ("postgresql://u:p@a:5433,[::1]:5434,c/d", ("d", "u", "p", "a,::1,c", "5433,5434,", {})),
        ("postgresql://u@h/d?sslmode=verify-full&sslrootcert=/a%20b", ("d", "u", "", "h", "", {"sslmode": "verify-full", "sslrootcert": "/a b"})),
    ],
)  # fmt: skip
def test_a_database_url_is_taken_apart(url: str, expected: tuple[object, ...]) -> None:
    found = postgres_settings(url)
    assert tuple(found[name] for name in ("NAME", "USER", "PASSWORD", "HOST", "PORT", "OPTIONS")) == expected
    assert found["ENGINE"] == "evalsvc.tenancy.postgresql"


@pytest.mark.parametrize("url", ["mysql://u:hidden@h/d", "sqlite:///x", "", "h/d", "http://h"])
def test_another_database_is_refused_by_name_and_without_its_password(url: str) -> None:
    with pytest.raises(ImproperlyConfigured) as stopped:
        postgres_settings(url, name="DATABASE_SYSTEM_URL")
    assert str(stopped.value).startswith("DATABASE_SYSTEM_URL must start with postgresql://")
    assert "hidden" not in str(stopped.value)


@pytest.mark.parametrize("url", ["postgresql://u:hidden@h:port/d", "postgresql://u:hidden@h,[::1/d", "postgresql://u:hidden@a:1:2/d"])  # fmt: skip
def test_an_address_that_is_none_is_told_without_its_password(url: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="DATABASE_URL must name hosts like") as stopped:
        postgres_settings(url)
    assert "hidden" not in str(stopped.value)


@pytest.mark.parametrize(("old", "new"), RENAMED.items())
@pytest.mark.parametrize("suffix", ["", "_FILE"])
def test_an_earlier_name_stops_the_start_and_names_the_new_one(
    monkeypatch: pytest.MonkeyPatch, old: str, new: str, suffix: str
) -> None:
    monkeypatch.setenv(old + suffix, "3")
    with pytest.raises(ImproperlyConfigured) as stopped:
        refuse_renamed_variables()
    message = f"{old}{suffix} is now called {new}{suffix}. Set the new name and remove the old one."
    assert str(stopped.value) == message


def test_present_names_start(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in RENAMED.values():
        monkeypatch.setenv(name, "3")
    refuse_renamed_variables()


def test_the_settings_refuse_earlier_names() -> None:
    environment = {**os.environ, "EVALSVC_EXPERIMENT_PUMPS": "3"}
    command = [sys.executable, "-c", "import evalsvc.settings"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode != 0
    assert "EVALSVC_EXPERIMENT_SCHEDULERS" in done.stderr


@pytest.mark.parametrize(("given", "preload"), [({}, False), ({"EVALSVC_HSTS_PRELOAD": "1"}, True)])
def test_browsers_are_asked_to_preload_only_on_request(given: dict[str, str], preload: bool) -> None:
    program = "from evalsvc import settings as s; print(s.SECURE_HSTS_SECONDS > 0, s.SECURE_HSTS_PRELOAD)"
    env = os.environ | {"EVALSVC_REQUIRE_HTTPS": "1"} | given

    said = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True).stdout

    assert said.split() == ["True", str(preload)]
