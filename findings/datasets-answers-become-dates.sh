#!/usr/bin/env bash
# datasets: gold answers in JSON lines become dates if all of them look like one, and numbers once written back.
#
# Package    datasets 5.2.0 of Hugging Face, with pyarrow 26.0.1 (`load_dataset("json", …)` and `to_json`).
#
# Expected   JSON has no dates: RFC 8259, section 3, knows strings, numbers, objects, arrays, booleans and null. The
#            answer "2024-01-15" is a text, as `json.loads` reads it, and so is its twin in any other row. A file that
#            was read and written again has the same values.
#
# Seen       Where every answer of a file is an ISO date, or null, the column is a timestamp and the answer a
#            `datetime`; `str()` of it is "2024-01-15 00:00:00". One answer that is not, such as "yesterday" or "2024",
#            and all of them are texts. Lists and objects are read alike. A time with an offset loses it. `to_json`
#            writes 1705276800000. Asked for texts by `features`, it gives the text of the date with midnight: types are
#            changed after the file was read.
#
# Matters    "When was …?" is a common question. A right answer fails exact match against the gold answer of a file of
#            dates, and passes once a row is added; a split by kind of answer has other types than the whole, and
#            another tool that reads what `to_json` has written finds a gold answer of thirteen digits.
#
# evalsvc    Values of JSON lines and CSV stay as they are written: "2024-01-15" is that text, whatever other rows say.
set -euo pipefail

folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check datasets==5.2.0 pyarrow==26.0.1

cd "$folder"
HF_HUB_OFFLINE=1 HF_HOME="$folder/cache" "$folder/venv/bin/python" - <<'PYTHON'
import json
import sys
from datetime import datetime
from pathlib import Path

import datasets

datasets.disable_progress_bars()
DAY = datetime(2024, 1, 15)
MILLISECONDS = 1705276800000


def read(name, answers, features=None):
    """Return the first answer as it is read, and as it is once written again."""
    file, copy = Path(f"{name}.jsonl"), Path(f"{name}.copy.jsonl")
    file.write_text("".join(json.dumps({"answer": answer}) + "\n" for answer in answers))
    rows = datasets.load_dataset("json", data_files=str(file), split="train", features=features)
    rows.to_json(str(copy))
    return rows[0]["answer"], json.loads(copy.read_text().splitlines()[0])["answer"]


TEXT = datasets.Features({"answer": datasets.Value("string")})
# A name, the answers of the file, the features, the first answer so far, and as it is written again.
CASES = [
    ("dates", ["2024-01-15", "2023-07-04"], None, DAY, MILLISECONDS),
    ("a date and null", ["2024-01-15", None], None, DAY, MILLISECONDS),
    ("a text among them", ["2024-01-15", "yesterday"], None, "2024-01-15", "2024-01-15"),
    ("a year among them", ["2024-01-15", "2024"], None, "2024-01-15", "2024-01-15"),
    ("in lists", [["2024-01-15"], ["2023-07-04"]], None, [DAY], [MILLISECONDS]),
    ("in objects", [{"on": "2024-01-15"}], None, {"on": DAY}, {"on": MILLISECONDS}),
    ("with an offset", ["2024-01-15T02:00:00+02:00"], None, DAY, MILLISECONDS),
    ("asked for texts", ["2024-01-15", "2023-07-04"], TEXT, "2024-01-15 00:00:00", "2024-01-15 00:00:00"),
]
problems = []
for name, answers, features, so_far, written_so_far in CASES:
    found, written = read(name, answers, features)
    print(f"{name:18} {json.dumps(answers):32} read as {found!r}, written as {written!r}")
    if (found, written) != (so_far, written_so_far):
        problems.append(name)
sys.exit("No longer so: " + "; ".join(problems) if problems else 0)
PYTHON
