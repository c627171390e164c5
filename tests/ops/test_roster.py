"""Which processes one start makes, what each is told, and what none of them gets."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest
from celery.signals import worker_ready

from evalsvc.celery import app
from evalsvc.local.process import Command, kill_tree, start, stop_tree, tail
from evalsvc.local.supervisor import roster
from evalsvc.local.supervisor.backends import (
    NOT_FOR_CHILDREN,
    Backends,
    application_secrets,
    broker_url,
    child_environment,
    outside_database,
    remove_old_sockets,
)
from evalsvc.local.supervisor.children.child import ChildSpec
from evalsvc.local.supervisor.children.forked import Fork
from evalsvc.local.supervisor.lock import AlreadyRunning, hold_home
from evalsvc.ops.liveness import alive
from evalsvc.preload import parts
from evalsvc.preload.parts import ServiceSite
from evaluators.base import Lane
from evaluators.registry import families

CHECKOUT = Path(roster.__file__).resolve().parents[3]
OUTSIDE = {"DATABASE_URL": "postgresql://app@db/x", "REDIS_URL": "redis://cache/1"}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "run").mkdir()
    return tmp_path


def option(command: Command | Fork, name: str) -> str:
    assert isinstance(command, Command)
    return command.argv[command.argv.index(name) + 1]


def place(home: Path) -> ServiceSite:
    return ServiceSite(home, "127.0.0.1", -1)


def workers(home: Path) -> list[ChildSpec]:
    return [parts.worker(place(home), queue, with_clock=False) for queue in roster.WORKERS]


def test_every_queue_that_work_is_routed_to_has_a_worker() -> None:
    routed = {family.lane.value for family in families()} - {Lane.INLINE.value} | {app.conf.task_default_queue}

    assert set(roster.WORKERS) == {"cpu", "judge", "experiments", "system"} == set(alive.PARTS) - {alive.BEAT}
    assert routed <= set(roster.WORKERS)


MAKE_WORKER = """
import json, sys, warnings
warnings.simplefilter("ignore")  # that nobody should be root
from evalsvc.preload.parts import build_worker
made = build_worker(sys.argv[1])
told = made.pool_cls.__module__.rpartition(".")[2], made.concurrency
print(json.dumps([list(made.app.amqp.queues.consume_from), made.hostname, *told]))
"""


@pytest.mark.parametrize("queue", roster.WORKERS)
def test_each_worker_runs_one_queue_under_a_name_of_its_own(home: Path, queue: str) -> None:
    """In a process of its own: a worker sets the application up for itself."""
    [spec] = [spec for spec in workers(home) if spec.name == f"worker-{queue}"]
    command = spec.command()
    assert isinstance(command, Fork)
    assert command.run.args[0] == queue  # type: ignore[attr-defined]

    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "evalsvc.settings"}
    argv = [sys.executable, "-c", MAKE_WORKER, queue]
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, check=True, timeout=300)
    pool, concurrency = roster.WORKERS[queue]
    assert json.loads(done.stdout) == [[queue], f"{queue}@{socket.gethostname()}", pool.rstrip("s"), concurrency]


def test_computation_has_processes() -> None:
    assert {roster.WORKERS[queue][0] for queue in ("cpu", "experiments")} == {"prefork"}


def test_there_is_one_clock() -> None:
    assert roster.QUEUE_OF_CLOCK in roster.WORKERS


OTLP_PORT = {"EVALSVC_OTLP_GRPC_PORT": "4317"}


def service(home: Path, env: dict[str, str], listener: socket.socket, **options: Any) -> ChildSpec:
    return roster.service(CHECKOUT, env, home, "127.0.0.1", listener, **options)


def test_the_service_runs_this_python_in_the_checkout_and_is_told_where_to_listen(home: Path) -> None:
    env = {"A": "1", "EVALSVC_HOST": "10.0.0.1", "EVALSVC_PORT": "1"}
    with roster.listen_on_free_port("127.0.0.1", 0) as listener:
        command = service(home, env, listener, otlp_port=4317).command()
        number, port = listener.fileno(), listener.getsockname()[1]

    assert isinstance(command, Command)
    assert command.argv[:3] == [sys.executable, "-m", "evalsvc.preload"]
    assert command.cwd == CHECKOUT
    assert command.env == {"A": "1", "EVALSVC_HOST": "127.0.0.1", "EVALSVC_PORT": str(port), **OTLP_PORT}
    assert (option(command, "--listener"), command.pass_fds) == (str(number), (number,))
    assert option(command, "--parts").split(",") == list(roster.PARTS)


def test_servers_stop_after_everything_that_uses_them(home: Path) -> None:
    backends = Backends(home, {"POSTGRES_PASSWORD": "x"}, {})
    try:
        servers = backends.specs()
        with roster.listen_on_free_port("127.0.0.1", 0) as listener:
            user = service(home, {}, listener)
        assert [spec.name for spec in servers] == ["postgres", "valkey"]
        assert max(spec.stage for spec in servers) < user.stage
    finally:
        backends.remove_sockets()


def test_the_roles_urls_are_known_before_the_server_answers(home: Path) -> None:
    passwords = {f"DATABASE_{role}_PASSWORD": f"p-{role}" for role in ("OWNER", "APP", "SYSTEM", "SIGNIN")}
    given = {"DATABASE_URL": "postgresql://admin:x@db/mine", "REDIS_URL": "redis://cache/1"}

    urls = Backends(home, passwords, given).predict_urls()
    assert urls.app == "postgresql://mine_app:p-APP@db/mine"
    urls = Backends(home, {}, given | {"DATABASE_MIGRATION_URL": "postgresql://o/mine"}).predict_urls()
    assert (urls.app, urls.owner) == (given["DATABASE_URL"], "postgresql://o/mine")


def test_the_operators_own_servers_are_used_and_none_is_started(home: Path) -> None:
    backends = Backends(home, {}, OUTSIDE)

    assert backends.specs() == []
    assert backends.broker_environment() == {"REDIS_URL": "redis://cache/1", "CELERY_BROKER_URL": "redis://cache/1"}


@pytest.mark.parametrize(
    ("outside", "servers"),
    [
        ({}, ["postgres", "valkey"]),
        ({"REDIS_URL": "redis://c/0"}, ["postgres"]),
        ({"DATABASE_URL": "postgresql:///x"}, ["valkey"]),
        ({"DATABASE_URL": "", "REDIS_URL": ""}, ["postgres", "valkey"]),
    ],
)
def test_what_the_operator_does_not_name_is_embedded(home: Path, outside: dict[str, str], servers: list[str]) -> None:
    backends = Backends(home, {"POSTGRES_PASSWORD": "x"}, outside)
    try:
        assert [spec.name for spec in backends.specs()] == servers
    finally:
        backends.remove_sockets()


def test_the_sockets_of_a_killed_run_are_removed_at_the_next_start(home: Path) -> None:
    first = Backends(home, {"POSTGRES_PASSWORD": "x"}, {})
    folders = [server.socket_dir for server in first.servers]
    for folder in folders:
        (folder / "left").touch()

    Backends(home, {}, OUTSIDE)
    assert not any(folder.exists() for folder in folders)


def test_a_folder_that_is_not_ours_is_never_emptied(home: Path) -> None:
    precious = home / "precious"
    precious.mkdir()
    (precious / "data").touch()
    (home / "run" / "sockets").write_text(f"{precious}\n{home / 'evalsvc-gone'}\n")

    remove_old_sockets(home)
    assert (precious / "data").exists()
    assert not (home / "run" / "sockets").exists()


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("redis://:p%40@cache:6380/2", "redis://:p%40@cache:6380/2"),
        ("rediss://cache/0?ssl_cert_reqs=required", "rediss://cache/0?ssl_cert_reqs=required"),
        ("unix:///run/valkey.sock?db=3", "redis+socket:///run/valkey.sock?virtual_host=3"),
        ("unix:///run/valkey.sock", "redis+socket:///run/valkey.sock"),
    ],
)
def test_the_broker_is_spelled_as_kombu_reads_it(given: str, wanted: str) -> None:
    assert broker_url(given) == wanted


def test_a_broker_of_its_own_is_kept(home: Path) -> None:
    backends = Backends(home, {}, OUTSIDE | {"CELERY_BROKER_URL": "redis://broker/0"})

    assert backends.broker_environment()["CELERY_BROKER_URL"] == "redis://broker/0"


def test_given_urls_are_taken_as_they_are() -> None:
    given = {"DATABASE_URL": "postgresql://a/x", "DATABASE_MIGRATION_URL": "postgresql://o/x"}

    urls = outside_database(given, {})
    assert (urls.app, urls.owner, urls.system) == ("postgresql://a/x", "postgresql://o/x", "postgresql://a/x")
    assert urls.signin == urls.system
    urls = outside_database(given | {"DATABASE_SYSTEM_URL": "postgresql://s/x"}, {})
    assert (urls.system, urls.signin) == ("postgresql://s/x", "postgresql://s/x")
    urls = outside_database(given | {"DATABASE_SIGNIN_URL": "postgresql://p/x"}, {})
    assert urls.signin == "postgresql://p/x"


@pytest.mark.parametrize("name", [*NOT_FOR_CHILDREN, "PGHOST", "PGPASSWORD", "PGSERVICE"])
def test_no_child_inherits(monkeypatch: pytest.MonkeyPatch, home: Path, name: str) -> None:
    monkeypatch.setenv(name, "secret-of-the-owner")

    assert "secret-of-the-owner" not in child_environment(home, {}).values()


def test_web_and_workers_never_see_the_url_of_the_owner(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    """The environment of a real process, not the one we meant to give it."""
    monkeypatch.setenv("DATABASE_MIGRATION_URL", "postgresql://owner:secret@db/x")
    monkeypatch.setenv("DATABASE_OWNER_PASSWORD", "secret")
    env = child_environment(home, {"DATABASE_URL": "postgresql://app@db/x"})
    code = "import json, os; print(json.dumps(dict(os.environ)))"

    process = start(roster.python("-c", code, checkout=home, env=env), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    seen = json.loads(process.communicate(timeout=100)[0])
    assert "secret" not in "".join(seen.values())
    assert (seen["DATABASE_URL"], seen["EVALSVC_HOME"]) == ("postgresql://app@db/x", str(home))


def test_the_start_decides_over_the_shell_and_the_shell_over_the_defaults(
    monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "4")
    monkeypatch.setenv("EVALSVC_HOME", "/elsewhere")
    monkeypatch.setenv("REDIS_URL", "redis://shell/0")
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)

    env = child_environment(home, {"REDIS_URL": "redis://start/0"})
    assert (env["OMP_NUM_THREADS"], env["OPENBLAS_NUM_THREADS"]) == ("4", "1")
    assert (env["EVALSVC_HOME"], env["REDIS_URL"]) == (str(home), "redis://start/0")


def test_a_secret_in_the_environment_outranks_the_one_of_the_home(monkeypatch: pytest.MonkeyPatch) -> None:
    made = {"SECRET_KEY": "a", "KEY_PEPPER": "b", "ENCRYPTION_KEYS": "c", "POSTGRES_PASSWORD": "d"}
    monkeypatch.setenv("SECRET_KEY", "mine")
    monkeypatch.setenv("KEY_PEPPER", "")
    monkeypatch.delenv("ENCRYPTION_KEYS")

    assert application_secrets(made) == {"SECRET_KEY": "mine", "KEY_PEPPER": "b", "ENCRYPTION_KEYS": "c"}


def test_one_start_per_home_and_the_next_after_it_ends(home: Path) -> None:
    with hold_home(home) as lock:
        with pytest.raises(AlreadyRunning) as early, hold_home(home):
            pass
        assert (early.value.pid, early.value.url) == (os.getpid(), "")
        lock.announce("http://127.0.0.1:" + "8" * 200)
        lock.announce("http://127.0.0.1:8000")
        with pytest.raises(AlreadyRunning, match=r"already runs at http://127.0.0.1:8000 ") as late, hold_home(home):
            pass
        assert late.value.url == "http://127.0.0.1:8000"
    with hold_home(home):
        assert json.loads((home / "run" / "lock").read_text())["url"] == ""


def test_a_lock_file_that_says_nonsense_still_locks(home: Path) -> None:
    with hold_home(home):
        (home / "run" / "lock").write_text("{")
        with pytest.raises(AlreadyRunning, match=r"already runs \(process unknown\)"), hold_home(home):
            pass


def test_homes_do_not_lock_each_other_and_a_failed_start_frees_its_own(home: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    (other / "run").mkdir(parents=True)
    with pytest.raises(ZeroDivisionError), hold_home(home), hold_home(other):
        raise ZeroDivisionError
    with hold_home(home), hold_home(other):
        pass


def test_a_worker_is_ready_when_it_has_said_so_since_its_start(home: Path) -> None:
    spec = parts.worker(place(home), "cpu", with_clock=False)
    roster.ready_file(home, "worker-cpu").touch()
    assert spec.is_ready()
    assert roster.missing(home, ["web", "worker-cpu", "worker-judge"]) == ["worker-judge"]
    spec.command()  # as before a restart: what the one before had said no longer counts
    assert not spec.is_ready()


def test_celery_says_ready_in_the_file_that_it_was_given(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVALSVC_READY_FILE", str(home / "ready"))
    worker_ready.send(sender=None)
    assert (home / "ready").exists()


@pytest.mark.parametrize(
    ("host", "address"),
    [("0.0.0.0", "127.0.0.1"), ("::", "::1"), ("", "127.0.0.1"), ("10.1.2.3", "10.1.2.3"), ("localhost", "localhost")],
)
def test_a_server_for_everyone_is_reached_at_this_machine(host: str, address: str) -> None:
    assert roster.reachable(host) == address


def test_a_program_keeps_its_arguments_whatever_they_hold(tmp_path: Path) -> None:
    arguments = ["", "a b", "-", "--", "$HOME", "'", "ü"]
    command = Command(
        [sys.executable, "-c", "import json, sys; print(json.dumps(sys.argv[1:]))", *arguments], {}, cwd=tmp_path
    )

    process = start(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert json.loads(process.communicate(timeout=100)[0]) == arguments


def test_a_child_leads_a_session_of_its_own_and_takes_its_children_along() -> None:
    code = "import subprocess, sys; p = subprocess.Popen(['sleep', '600']); print(p.pid, flush=True); p.wait()"
    process = start(
        Command([sys.executable, "-c", code], dict(os.environ)), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    with process:
        assert process.stdout is not None
        below = psutil.Process(int(process.stdout.readline()))
        assert os.getsid(process.pid) == os.getsid(below.pid) == process.pid != os.getsid(0)
        kill_tree(process)
    assert not below.is_running() or below.status() == psutil.STATUS_ZOMBIE


def test_stopping_what_has_ended_is_no_error() -> None:
    process = start(Command([sys.executable, "-c", ""], {}), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    process.wait(30)

    assert stop_tree(process, signal.SIGTERM, 1) is True


def test_a_tail_is_short_and_a_missing_log_says_so(tmp_path: Path) -> None:
    log = tmp_path / "x.log"
    assert tail(log) == "(no log)"
    log.write_bytes(b"".join(b"line %d \xff\n" % number for number in range(100_000)))
    lines = tail(log, 3).splitlines()
    assert [line.split()[1] for line in lines] == ["99997", "99998", "99999"]
