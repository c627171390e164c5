"""The reader of files works in a process without the server's packages: the client and the command line use it."""

from __future__ import annotations

import subprocess
import sys

from evalsvc.datasets.importers.reader import Format
from evalsvc.datasets.models import DatasetVersion
from tests.conftest import CHECKOUT

PACKAGES = ("pyarrow", "ijson", "ijson")
ALONE = """
import io, sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {
            "django", "rest_framework", "celery", "numpy", "psycopg", "redis", "msgspec", "orjson", "ijson", "pyarrow"
        }:
            raise ModuleNotFoundError(f"{name} is not there")
sys.meta_path.insert(0, Refuse())
from evalsvc.datasets.importers.reader import Upload, parse_upload
parsed = parse_upload(Upload([("a.csv", io.BytesIO(b"question,answer\\nq,a\\n"))]))
print(parsed.format, [(row.input, row.expected) for row in parsed.rows])
for name, content in (("a.parquet", b"PAR1"), ("a.json", b'{"data": [{"question": "q"}]}'), ("b.json", b'{"paragraphs": 1}')):
    try:
        list(parse_upload(Upload([(name, io.BytesIO(content))])).rows)
    except Exception as error:
        print(type(error).__name__, error)
"""


def test_it_needs_nothing_of_the_server() -> None:
    done = subprocess.run(
        [sys.executable, "-c", ALONE], capture_output=True, text=True, timeout=60, cwd=CHECKOUT, check=False
    )

    first, *others = done.stdout.splitlines()
    assert (done.returncode, first) == (0, "csv [('q', 'a')]"), done.stderr
    assert all(line.startswith("Invalid") for line in others)
    assert all(f"pip install {name}" in line for name, line in zip(PACKAGES, others, strict=True)), others


def test_every_format_can_be_stored() -> None:
    assert {format.value for format in Format} == set(DatasetVersion.Format.values)
