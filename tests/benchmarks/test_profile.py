"""Samples of stacks become times of functions and of packages."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import profile

STACKS = """\
main (gunicorn/app.py:1);post (evalsvc/rest/views.py:7);execute (psycopg/cursor.py:9) 3
main (gunicorn/app.py:1);post (evalsvc/rest/views.py:7) 6
main (gunicorn/app.py:1);run (threading.py:2) 1
"""


def test_time_is_shared_out_by_samples(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "1").write_text(STACKS)

    profile.by_function(profile.read(tmp_path / "1"), 1000.0, 10)

    lines = [line.split(maxsplit=2) for line in capsys.readouterr().out.splitlines()]
    assert ["1000", "100.0%", "main (gunicorn/app.py:1)"] in lines
    assert ["900", "90.0%", "post (evalsvc/rest/views.py:7)"] in lines
    assert ["600", "60.0%", "evalsvc/rest"] in lines
    assert ["300", "30.0%", "psycopg"] in lines
    assert ["100", "10.0%", "python's threading.py"] in lines


def test_without_a_sampler_it_says_where_to_get_one() -> None:
    with pytest.raises(SystemExit, match="pip install py-spy"):
        profile.main(["--sampler", "/nowhere/py-spy"])
