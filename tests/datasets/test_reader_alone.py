"""The reader of files works in a process without the server's packages: the client and the command line use it."""

from __future__ import annotations

import subprocess
import sys

from evalsvc.datasets.importers.reader import Format
from evalsvc.datasets.models import DatasetVersion
from tests.conftest import CHECKOUT

ALONE = """
import io, sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {
            "django", "rest_framework", "celery", "numpy", "psycopg", "redis", "msgspec", "orjson", "ijson", "pyarrow"
        }:
            raise ImportError(f"{name} is not there")
sys.meta_path.insert(0, Refuse())
from evalsvc.datasets.importers.reader import Upload, parse_upload
parsed = parse_upload(Upload([("a.csv", io.BytesIO(b"question,answer\\nq,a\\n"))]))
print(parsed.format, [(row.input, row.expected) for row in parsed.rows])
"""


def test_it_needs_nothing_of_the_server() -> None:
    done = subprocess.run(
        [sys.executable, "-c", ALONE], capture_output=True, text=True, timeout=60, cwd=CHECKOUT, check=False
    )

    assert (done.returncode, done.stdout.strip()) == (0, "csv [('q', 'a')]"), done.stderr


def test_every_format_can_be_stored() -> None:
    assert {format.value for format in Format} == set(DatasetVersion.Format.values)
