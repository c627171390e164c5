"""Both servers with the roles, for the length of a test run."""

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from evalsvc.local.embedded.home import APPLICATION_SECRETS, load_secrets, prepare_home
from evalsvc.local.embedded.postgres import EmbeddedPostgres
from evalsvc.local.embedded.roles import ensure_roles
from evalsvc.local.embedded.valkey import EmbeddedValkey


@dataclass(frozen=True)
class Services:
    """Running servers: `env` is what the settings need, the handles can `kill_hard()` and `restart()`."""

    postgres: EmbeddedPostgres
    valkey: EmbeddedValkey
    env: dict[str, str]


@contextlib.contextmanager
def throwaway(home: Path | None = None) -> Iterator[Services]:
    """Start PostgreSQL and Valkey on private sockets; stop them at the end, or when this process dies.

    If `home` is not given, they use a new temporary folder that is removed afterwards. As root, `home` must be a folder
    that user ``nobody`` can enter, which pytest's ``tmp_path`` is not. Not durable: fsync is off.
    """
    with contextlib.ExitStack() as stack:
        if home is None:
            home = Path(tempfile.mkdtemp(prefix="evalsvc-home-"))
            stack.callback(shutil.rmtree, home, ignore_errors=True)
        prepare_home(home)
        values = load_secrets(home)
        postgres = EmbeddedPostgres(home, password=values["POSTGRES_PASSWORD"], durable=False)
        valkey = EmbeddedValkey(home, durable=False)
        for server in (postgres, valkey):
            stack.callback(server.remove_socket_dir)
            stack.callback(server.stop)
            server.start()
        urls = ensure_roles(postgres.url, values, reset_passwords=True)
        env = urls.environment() | {"REDIS_URL": valkey.redis_url, "CELERY_BROKER_URL": valkey.broker_url}
        env |= {name: values[name] for name in APPLICATION_SECRETS}
        yield Services(postgres, valkey, env)
