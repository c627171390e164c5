"""Where the three roles sign in. Nothing here asks a database, nor imports what could."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote, urlsplit, urlunsplit

DEFAULT_DATABASE = "evalsvc"
# Databases that belong to the server: ours gets its own name beside them.
MAINTENANCE_DATABASES = {"", "postgres", "template0", "template1", "defaultdb"}
PASSWORDS = {
    "owner": "DATABASE_OWNER_PASSWORD",
    "app": "DATABASE_APP_PASSWORD",
    "system": "DATABASE_SYSTEM_PASSWORD",
}


class RolesRefused(Exception):
    """The server does not let this role make what is needed; the message holds the SQL for its administrator."""


@dataclass(frozen=True)
class Roles:
    owner: str
    app: str
    system: str

    @classmethod
    def named(cls, prefix: str) -> "Roles":
        return cls(f"{prefix}_owner", f"{prefix}_app", f"{prefix}_system")


@dataclass(frozen=True)
class DatabaseUrls:
    app: str
    owner: str
    system: str

    def environment(self) -> dict[str, str]:
        return {
            "DATABASE_URL": self.app,
            "DATABASE_MIGRATION_URL": self.owner,
            "DATABASE_SYSTEM_URL": self.system,
        }


def role_urls(admin_url: str, passwords: Mapping[str, str], *, prefix: str | None = None) -> DatabaseUrls:
    """Where the three roles sign in, once they exist; nothing is asked of the server."""
    roles = Roles.named(prefix or database_name(admin_url))
    return DatabaseUrls(
        **{kind: _role_url(admin_url, role, passwords[PASSWORDS[kind]]) for role, kind in logins_of(roles)}
    )


def logins_of(roles: Roles) -> tuple[tuple[str, str], ...]:
    return ((roles.owner, "owner"), (roles.app, "app"), (roles.system, "system"))


def database_name(url: str) -> str:
    name = urlsplit(url).path.lstrip("/")
    return DEFAULT_DATABASE if name in MAINTENANCE_DATABASES else name


def _role_url(admin_url: str, role: str, password: str) -> str:
    """`admin_url` with the role, its password and the database exchanged, and everything else kept."""
    parts = urlsplit(admin_url)
    address = parts.netloc.rpartition("@")[2]
    login = f"{quote(role)}:{quote(password, safe='')}"
    return urlunsplit(parts._replace(netloc=f"{login}@{address}", path=f"/{quote(database_name(admin_url))}"))
