"""Files as others hand them over."""

from __future__ import annotations

import io
import zipfile
from typing import Any

from tests.datasets.shapes import lines


def parquet(**columns: Any) -> bytes:
    import pyarrow as pa
    from pyarrow import parquet as pq

    file = io.BytesIO()
    pq.write_table(pa.table(columns), file)
    return file.getvalue()


CORPUS = lines(
    {"_id": "d1", "title": "Oslo", "text": "A city."},
    {"_id": "d2", "title": "", "text": "A fjord."},
    {"_id": "d3", "text": "Not judged."},
)
QUERIES = lines(
    {"_id": "q1", "text": "capital?", "metadata": {"k": 1}}, {"_id": "q2", "text": "water?"}, {"_id": "q9", "text": "-"}
)
QRELS = b"query-id\tcorpus-id\tscore\nq2\td2\t2\nq1\td2\t1\nq1\td1\t2\nq1\td7\t1\nq2\td1\t0\n"
BEIR = {"corpus.jsonl": CORPUS, "queries.jsonl": QUERIES, "qrels/test.tsv": QRELS}


def zipped(files: dict[str, bytes], *, prefix: str = "", compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, content in files.items():
            archive.writestr(prefix + name, content)
    return file.getvalue()
