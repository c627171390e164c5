"""Every shell block of docs/operations.md runs in a real shell, or says in the page why no test runs it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from evalsvc.local.embedded.home import APPLICATION_SECRETS, write_env_file
from tests import services
from tests.conftest import CHECKOUT
from tests.growth.databases import Database, migrated_database
from tests.ops.backups import bare_server

pytestmark = pytest.mark.slow

PAGE = CHECKOUT / "docs" / "operations.md"
BLOCK = re.compile(r"(?:^<!-- untested: (?P<why>[^\n]+) -->\n)?^```sh\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
EXAMPLE = re.compile(r"^export (DATABASE_\w+)='[^']*db\.example\.com[^']*'$", re.MULTILINE)
FOUND = list(BLOCK.finditer(PAGE.read_text(encoding="utf-8")))
RUN = [match["text"] for match in FOUND if not match["why"]]


@dataclass(frozen=True)
class Operator:
    """Someone with a shell in a checkout, beside a running service."""

    checkout: Path
    environment: dict[str, str]

    def paste(self, text: str, **also: str) -> None:
        """Run a block; nothing of the service is in the environment but what it takes from there itself."""
        done = subprocess.run(
            ["bash", "-c", f"set -euo pipefail\n{text}"], cwd=self.checkout, env=self.environment | also,
            capture_output=True, text=True, timeout=280, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{text}\n{done.stdout}\n{done.stderr}"


@pytest.fixture(scope="module")
def operator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Operator]:
    checkout, home = tmp_path_factory.mktemp("checkout"), tmp_path_factory.mktemp("home")
    (checkout / ".venv").symlink_to(sys.prefix)
    (checkout / "manage.py").symlink_to(CHECKOUT / "manage.py")
    (home / "run").mkdir()
    with migrated_database(services.servers.postgres.url) as database:
        served = ("REDIS_URL", "CELERY_BROKER_URL", *APPLICATION_SECRETS)
        # As the supervisor writes it; a URL has an ampersand, which a shell would take for its own.
        write_env_file(home / "run" / "services.env", {name: os.environ[name] for name in served} | database.urls)
        assert "&" in database.urls["DATABASE_URL"]
        bought = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", "HOME": str(home)}
        folders = {name: str(tmp_path_factory.mktemp(name.lower())) for name in ("BACKUPS", "KEPT_APART")}
        operator = Operator(checkout, bought | folders | {"EVALSVC_HOME": str(home), "LANG": "C.UTF-8"})
        operator.paste('python manage.py create_account "Acme" --no-key')  # the one that the page switches off
        yield operator


def of_the_server(text: str, server: Database) -> str:
    """Put a server's addresses where the page has examples."""
    return EXAMPLE.sub(lambda found: f"export {found[1]}='{server.urls[found[1]]}'", text)


def test_the_blocks_run_in_their_order(operator: Operator) -> None:
    """The backup comes before its restore. Those for a new server get one, and its three URLs."""
    for text in RUN:
        if not EXAMPLE.search(text):
            operator.paste(text)
            continue
        with bare_server() as server:
            mine = {name: value for name, value in server.urls.items() if name != "DATABASE_ADMIN_URL"}
            if "KEPT_APART" in text:  # it says itself where the secrets and the URLs are
                mine = {}
            operator.paste(of_the_server(text, server), **mine)
            assert "WRONG" not in server.run("verify")


def test_each_block_is_run_or_says_why_not() -> None:
    assert len(FOUND) == PAGE.read_text(encoding="utf-8").count("```sh\n")
    assert len(RUN) >= 4
    commands = "\n".join(RUN)
    assert all(
        f"manage.py {name}" in commands for name in ("verify", "bootstrap", "create_account", "backup", "restore")
    )
    assert all(len(match["why"]) > 20 for match in FOUND if match["why"])
