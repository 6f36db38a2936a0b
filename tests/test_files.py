"""Files are written as a whole or not at all."""

import csv
import io
import os
from pathlib import Path

import pytest

from dpverify.files import check_path, csv_text, replaced, write_text


def test_a_file_is_replaced_at_once_or_stays(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    write_text("before\n", path)

    def fail() -> None:
        with replaced(path) as name:
            Path(name).write_text("half", encoding="utf-8")
            assert path.read_text(encoding="utf-8") == "before\n"
            raise OSError("no space")

    with pytest.raises(OSError, match="no space"):
        fail()
    assert path.read_text(encoding="utf-8") == "before\n"
    assert [each.name for each in tmp_path.iterdir()] == ["rows.csv"]


@pytest.mark.skipif(os.name != "posix", reason="elsewhere files have no such permissions")
def test_what_is_private_stays_so(tmp_path: Path) -> None:
    path, new = tmp_path / "rows.csv", tmp_path / "new.csv"
    path.write_text("before\n", encoding="utf-8")
    path.chmod(0o600)
    for each in (path, new):
        write_text("after\n", each)
    (tmp_path / "plain").touch()
    assert path.stat().st_mode & 0o777 == 0o600
    assert new.stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_rows_are_read_back_as_they_were() -> None:
    rows = [{"a": 'x, "y"', "b": None}, {"a": "line\nbreak", "b": 2.5}]
    assert list(csv.DictReader(io.StringIO(csv_text(rows)))) == [
        {"a": 'x, "y"', "b": ""},
        {"a": "line\nbreak", "b": "2.5"},
    ]


def test_where_a_file_may_be(tmp_path: Path) -> None:
    check_path(tmp_path / "rows.csv", "--csv")
    for path, said in (
        (tmp_path, "must be a file, but a folder is there"),
        (tmp_path / "none" / "a.csv", "must be in a folder that exists"),
        (tmp_path / "a.txt", "must end in one of .csv"),
    ):
        with pytest.raises(ValueError, match=f"^--csv=.*{said}"):
            check_path(path, "--csv", (".csv",) if path.suffix else ())
