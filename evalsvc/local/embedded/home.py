"""Data folder of this installation, and its secrets, which are generated once."""

import base64
import contextlib
import hashlib
import os
import secrets
import shlex
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

ROOT_HOMES = Path("/var/lib/evalsvc")
SECRETS_FILE = "secrets.env"
# Secrets that are passed to the service itself.
APPLICATION_SECRETS = ("SECRET_KEY", "KEY_PEPPER", "ENCRYPTION_KEYS")


def running_as_root() -> bool:
    return os.geteuid() == 0


def is_checkout(folder: Path) -> bool:
    """Whether `folder` is a checkout or a copy of one; False for the folder in which `pip` installs packages."""
    return (folder / "manage.py").is_file()


def start_command(folder: Path) -> str:
    """What starts the service of this folder, for messages."""
    return "make up" if is_checkout(folder) else "evalsvc up"


def evalsvc_home(folder: Path) -> Path:
    """The data folder: ``EVALSVC_HOME``, or ``.evalsvc`` in the checkout, or the user's own for an installed package.

    For root it is in ``/var/lib/evalsvc``: PostgreSQL then runs as ``nobody``, who cannot enter every folder. `folder`
    is the checkout, or the one in which the package is installed.
    """
    configured = os.environ.get("EVALSVC_HOME")
    if configured:
        return Path(configured).expanduser().absolute()
    if running_as_root():
        name = hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()[:12] if is_checkout(folder) else "default"
        return ROOT_HOMES / name
    return folder.resolve() / ".evalsvc" if is_checkout(folder) else user_data_folder() / "evalsvc"


def user_data_folder() -> Path:
    """The folder for data of the XDG specification, which ignores a relative one."""
    named = Path(os.environ.get("XDG_DATA_HOME") or "")
    return named if named.is_absolute() else Path.home() / ".local" / "share"


def prepare_home(home: Path) -> Path:
    """Make the folder, closed to others but for the passage that another user's PostgreSQL needs under root."""
    passage = 0o711 if running_as_root() else 0o700
    if home.parent == ROOT_HOMES:
        ROOT_HOMES.mkdir(mode=0o755, parents=True, exist_ok=True)
        ROOT_HOMES.chmod(0o711)
    home.mkdir(parents=True, exist_ok=True)
    home.chmod(passage)
    for name in ("logs", "run"):
        (home / name).mkdir(mode=0o700, exist_ok=True)
    return home


def _token() -> str:
    return secrets.token_urlsafe(48)


def _fernet_key() -> str:
    return base64.urlsafe_b64encode(os.urandom(32)).decode()


MAKERS: dict[str, Callable[[], str]] = {
    "SECRET_KEY": _token,
    "KEY_PEPPER": _token,
    "ENCRYPTION_KEYS": _fernet_key,
    "POSTGRES_PASSWORD": _token,
    "DATABASE_OWNER_PASSWORD": _token,
    "DATABASE_APP_PASSWORD": _token,
    "DATABASE_SYSTEM_PASSWORD": _token,
    "DATABASE_SIGNIN_PASSWORD": _token,
}


class SecretsLost(Exception):
    """A database exists but its password is missing; a new one would not open it. The message contains the remedy."""


def load_secrets(home: Path) -> dict[str, str]:
    """Return the secrets of this home, generated at the first call. Concurrent first calls get the same secrets.

    Raises SecretsLost if the file is missing but the database that it opens still exists.
    """
    path = prepare_home(home) / SECRETS_FILE
    _refuse_new_password(path)
    if not path.exists():
        _create(path, {name: make() for name, make in MAKERS.items()})
    values = read_env_file(path)
    missing = {name: make() for name, make in MAKERS.items() if name not in values}
    if missing:
        values |= missing
        write_env_file(path, values)
    return values


def _refuse_new_password(path: Path) -> None:
    has_database = (path.parent / "postgres" / "data").exists()
    if has_database and not (path.exists() and "POSTGRES_PASSWORD" in read_env_file(path)):
        raise SecretsLost(
            f"{path} has no POSTGRES_PASSWORD, and the database beside it was made with one. Put the file back from "
            f"your copy of it; or, to begin anew without the data, delete the folder {path.parent}."
        )


def _create(path: Path, values: Mapping[str, str]) -> None:
    draft = _draft(path, values)
    try:
        # A link fails where a rename would replace the secrets that another process has just made.
        with contextlib.suppress(FileExistsError):
            os.link(draft, path)
    finally:
        draft.unlink()


def read_env_file(path: Path) -> dict[str, str]:
    """Parse ``NAME=value`` lines as a shell would, without its expansions; ``#`` starts a comment line."""
    words = shlex.split(path.read_text(), comments=True)
    return {name: value for name, equals, value in (word.partition("=") for word in words) if equals}


def write_env_file(path: Path, values: Mapping[str, str], *, exported: bool = False) -> None:
    """Replace the file in one step, readable by its owner only. Values are quoted: shells can source the file.

    With `exported`, programs that such a shell starts have them, too.
    """
    _draft(path, values, exported=exported).replace(path)


def _draft(path: Path, values: Mapping[str, str], *, exported: bool = False) -> Path:
    text = "".join(f"{name}={shlex.quote(value)}\n" for name, value in values.items())
    text += f"export {' '.join(values)}\n" if exported else ""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)  # mkstemp opens with mode 0600
    with os.fdopen(handle, "w") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
    return Path(name)
