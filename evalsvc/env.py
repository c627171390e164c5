"""Read settings from the environment, with one sentence for the operator when a value is missing or wrong."""

from __future__ import annotations

import base64
import os
import re
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

TRUE = {"1", "true", "yes", "on"}
FALSE = {"0", "false", "no", "off", ""}
SECRET_CHARS = 32
ROLES = ("reader", "editor", "admin")
HIGHEST_PORT = 65_535
HOST_AND_PORT = re.compile(r"(\[(?P<v6>[0-9A-Fa-f:.%]+)\]|(?P<host>[^\[\]:/]*))(:(?P<port>\d*))?")
RENAMED = {
    "EVALSVC_EXPERIMENT_PUMPS": "EVALSVC_EXPERIMENT_SCHEDULERS",
    "EVALSVC_EXPERIMENT_PUMP_SECONDS": "EVALSVC_EXPERIMENT_SCHEDULER_SECONDS",
    "EVALSVC_EXPERIMENT_SLOTS": "EVALSVC_EXPERIMENT_UNIT_RUNNERS",
}
"""The present name of each variable that once had another."""


def refuse_renamed_variables() -> None:
    """Stop when a variable is set by an earlier name, which would otherwise have no effect."""
    changes = [
        f"{old}{suffix} is now called {new}{suffix}"
        for old, new in RENAMED.items()
        for suffix in ("", "_FILE")
        if old + suffix in os.environ
    ]
    if changes:
        raise ImproperlyConfigured(f"{'; '.join(changes)}. Set the new name and remove the old one.")


def env_str(name: str, default: str | None = None) -> str:
    """Return the variable, or the content of the file `<name>_FILE`, or the default; stop when all are missing."""
    if name in os.environ:
        return os.environ[name]
    if path := os.environ.get(f"{name}_FILE"):
        return Path(path).read_text(encoding="utf-8").strip()
    if default is None:
        raise ImproperlyConfigured(
            f"{name} is not set. Set it, or {name}_FILE, or start with `make up` or `evalsvc up`, which make it."
        )
    return default


def env_secret(name: str) -> str:
    """Return a secret that is too long to be guessed."""
    secret = env_str(name)
    if len(secret) < SECRET_CHARS:
        raise ImproperlyConfigured(
            f"{name} must have at least {SECRET_CHARS} characters, and has {len(secret)}. "
            'Make one with: python3 -c "import secrets; print(secrets.token_urlsafe(48))"'
        )
    return secret


def env_fernet_keys(name: str) -> list[str]:
    """Return a comma-separated variable as Fernet keys, the newest first."""
    keys = env_list(name)
    for position, key in enumerate(keys, 1):
        if not _is_fernet_key(key):
            raise ImproperlyConfigured(
                f"Key {position} of {name} is not 32 bytes in URL-safe base64 (44 characters that end in =). Make one "
                'with: python3 -c "import base64, os; print(base64.urlsafe_b64encode(os.urandom(32)).decode())"'
            )
    return keys


def _is_fernet_key(key: str) -> bool:
    try:
        return len(base64.b64decode(key, altchars=b"-_", validate=True)) == 32
    except ValueError:
        return False


def env_hosts(name: str, default: str) -> list[str]:
    """Return a comma-separated variable as host names; a star would let a forged Host header through."""
    hosts = env_list(name, default)
    if "*" in hosts:
        raise ImproperlyConfigured(f"{name} must name hosts, as evals.example.com or .example.com; * is none.")
    return hosts


def env_int(name: str, default: int, *, lowest: int = 0) -> int:
    """Return the variable as a whole number of at least `lowest`."""
    return parse_whole_number(name, env_str(name, str(default)), lowest=lowest)


def parse_whole_number(name: str, text: str, *, lowest: int = 0) -> int:
    """Return a variable's text as a whole number of at least `lowest`."""
    try:
        number = int(text)
    except ValueError:
        raise ImproperlyConfigured(f"{name} must be a whole number, not {text!r}.") from None
    if number < lowest:
        raise ImproperlyConfigured(f"{name} must be at least {lowest}, not {number}.")
    return number


def env_bool(name: str, default: bool) -> bool:
    """Return the variable as a switch: 1/0, true/false, yes/no, on/off."""
    text = env_str(name, "1" if default else "0").strip().lower()
    if text not in TRUE | FALSE:
        raise ImproperlyConfigured(f"{name} must be 1 or 0, not {text!r}.")
    return text in TRUE


def env_list(name: str, default: str = "") -> list[str]:
    """Return a comma-separated variable as a list without blanks."""
    return [part.strip() for part in env_str(name, default).split(",") if part.strip()]


def env_networks(name: str, default: str = "") -> list[IPv4Network | IPv6Network]:
    """Return a comma-separated variable as networks in CIDR notation; a bare address is a network of one."""
    try:
        return [ip_network(part) for part in env_list(name, default)]
    except ValueError as exc:
        raise ImproperlyConfigured(f"{name} must be networks like 10.1.0.0/16, with commas between: {exc}.") from None


def env_ports(name: str, default: str) -> list[range]:
    """Return a comma-separated variable as ranges of ports; `8000-9999` includes both ends."""
    return [_ports(name, part) for part in env_list(name, default)]


def _ports(name: str, text: str) -> range:
    low, dash, high = text.partition("-")
    try:
        ports = range(int(low), int(high if dash else low) + 1)
    except ValueError:
        ports = range(0)
    if not ports or ports[0] < 1 or ports[-1] > HIGHEST_PORT:
        raise ImproperlyConfigured(f"{name} must be ports like 443 or 8000-9999, with commas between, not {text!r}.")
    return ports


def env_origin(name: str, default: str) -> str:
    """Return the variable as the beginning of addresses, without a slash at its end; empty stays empty."""
    text = env_str(name, default).strip().rstrip("/")
    parts = urlsplit(text)
    if text and (parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment):
        raise ImproperlyConfigured(f"{name} must be an address like https://evals.example.com, not {text!r}.")
    return text


def env_roles(name: str, default: str) -> list[tuple[str, str, str]]:
    """Return a comma-separated variable of `name=account:role` as (name, account, role)."""
    return [_role(name, part) for part in env_list(name, default)]


def _role(name: str, part: str) -> tuple[str, str, str]:
    theirs, separator, ours = part.partition("=")
    account, colon, role = ours.rpartition(":")
    if not (theirs and separator and account and colon) or role not in ROLES:
        raise ImproperlyConfigured(
            f"{name} must be like eval-admins=acme:admin, with commas between, and a role of {', '.join(ROLES)}; "
            f"not {part!r}."
        )
    return theirs.strip(), account.strip(), role


def _hosts_and_ports(text: str, name: str) -> tuple[str, str]:
    """Return `a:5433,[::1]` as `a,::1` and `5433,`: libpq tries the hosts of a list in turn."""
    hosts, ports = [], []
    for entry in text.split(","):
        match = HOST_AND_PORT.fullmatch(entry)
        if match is None:
            raise ImproperlyConfigured(f"{name} must name hosts like db.example.com:5432, with commas between.")
        hosts.append(match["v6"] or unquote(match["host"] or ""))
        ports.append(match["port"] or "")
    return ",".join(hosts), ",".join(ports) if any(ports) else ""


def postgres_settings(url: str, *, name: str = "DATABASE_URL") -> dict[str, object]:
    """Convert a libpq URL to Django's ENGINE/NAME/USER/… keys; `?host=/socket/dir` and other parameters are retained.

    Raises ImproperlyConfigured when the scheme is not PostgreSQL, the only supported database.
    """
    scheme, separator, remainder = url.partition("://")
    if not separator or scheme not in {"postgresql", "postgres"}:
        scheme_text = scheme if separator and scheme.isalnum() else "nothing"
        raise ImproperlyConfigured(f"{name} must start with postgresql://, not {scheme_text}://.")
    # Not by urlsplit, which knows one host.
    netloc = re.split("[/?#]", remainder, maxsplit=1)[0]
    login, _, addresses = netloc.rpartition("@")
    user, _, password = login.partition(":")
    parts = urlsplit(f"{scheme}://{remainder[len(netloc) :]}")
    options = dict(parse_qsl(parts.query))
    hosts, ports = _hosts_and_ports(addresses, name)
    host = options.pop("host", hosts)
    port = options.pop("port", ports)
    return {
        "ENGINE": "evalsvc.tenancy.postgresql",
        "NAME": unquote(parts.path.lstrip("/")) or "evalsvc",
        "USER": unquote(user),
        "PASSWORD": unquote(password),
        "HOST": host,
        "PORT": port,
        "OPTIONS": options,
    }
