"""Database URLs of the four roles. This module neither connects to a database nor imports a driver."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote, urlsplit, urlunsplit

DEFAULT_DATABASE = "evalsvc"
# Databases that belong to the server: ours gets a separate name.
MAINTENANCE_DATABASES = {"", "postgres", "template0", "template1", "defaultdb"}
PASSWORDS = {
    "owner": "DATABASE_OWNER_PASSWORD",
    "app": "DATABASE_APP_PASSWORD",
    "system": "DATABASE_SYSTEM_PASSWORD",
    "signin": "DATABASE_SIGNIN_PASSWORD",
}


class RolesRefused(Exception):
    """The server does not let this role create what is needed; the message contains the SQL for its administrator."""


@dataclass(frozen=True)
class Roles:
    owner: str
    app: str
    system: str
    signin: str

    @classmethod
    def from_prefix(cls, prefix: str) -> "Roles":
        return cls(f"{prefix}_owner", f"{prefix}_app", f"{prefix}_system", f"{prefix}_signin")


@dataclass(frozen=True)
class DatabaseUrls:
    app: str
    owner: str
    system: str
    signin: str

    def environment(self) -> dict[str, str]:
        return {
            "DATABASE_URL": self.app,
            "DATABASE_MIGRATION_URL": self.owner,
            "DATABASE_SYSTEM_URL": self.system,
            "DATABASE_SIGNIN_URL": self.signin,
        }


def role_urls(admin_url: str, passwords: Mapping[str, str], *, prefix: str | None = None) -> DatabaseUrls:
    """Return the URLs of the four roles, once they exist; the server is not contacted."""
    roles = Roles.from_prefix(prefix or database_name(admin_url))
    return DatabaseUrls(
        **{kind: _role_url(admin_url, role, passwords[PASSWORDS[kind]]) for role, kind in list_logins(roles)}
    )


def list_logins(roles: Roles) -> tuple[tuple[str, str], ...]:
    return ((roles.owner, "owner"), (roles.app, "app"), (roles.system, "system"), (roles.signin, "signin"))


def database_name(url: str) -> str:
    name = urlsplit(url).path.lstrip("/")
    return DEFAULT_DATABASE if name in MAINTENANCE_DATABASES else name


def _role_url(admin_url: str, role: str, password: str) -> str:
    """Return `admin_url` with the role, its password and the database replaced, and everything else unchanged."""
    parts = urlsplit(admin_url)
    address = parts.netloc.rpartition("@")[2]
    login = f"{quote(role)}:{quote(password, safe='')}"
    return urlunsplit(parts._replace(netloc=f"{login}@{address}", path=f"/{quote(database_name(admin_url))}"))
