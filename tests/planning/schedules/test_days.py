"""Files of days: read as what they say, and refused by line."""

import json
from pathlib import Path

import pytest

from dpverify.planning.schedules.days import days_in, read_days
from dpverify.planning.schedules.schedule import Day
from protocols.bitsum import NegativeBinomial, RandomizedResponse

EXPECTED = [Day(RandomizedResponse(900, 0.25), 2), Day(NegativeBinomial(900, 40.0, 0.9))]


def test_a_line_may_say_how_many_are_honest(tmp_path: Path) -> None:
    file = tmp_path / "days.csv"
    file.write_text("protocol,users,flip_probability,honest\nrr,900,0.25,\nrr,900,0.25,700\n")
    assert read_days(file) == [Day(RandomizedResponse(900, 0.25)), Day(RandomizedResponse(900, 0.25), 1, 700)]
    file.write_text("protocol,users,flip_probability,honest\nrr,900,0.25,901\n")
    with pytest.raises(ValueError, match=r"Day 1 of .*honest=901 must be an integer in \[1, 900\]"):
        read_days(file)


def test_both_forms_say_the_same(tmp_path: Path) -> None:
    table = tmp_path / "days.csv"
    table.write_text("day,protocol,users,flip_probability,shape,p,instances\na,rr,9e2,.25,,,2\nb,nb,900,,40,.9,\n")
    objects = tmp_path / "days.json"
    objects.write_text(
        json.dumps(
            [
                {"protocol": "rr", "users": 900, "flip_probability": 0.25, "instances": 2},
                {"day": "b", "protocol": "NB", "users": 900, "shape": 40.0, "p": 0.9},
            ]
        )
    )
    assert read_days(table) == read_days(objects) == EXPECTED


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("protocol,users,flip_probability\nrr,900,2\n", r"Day 1 of '.*': flip_probability=2.0 must be "),
        ("protocol,users,flip_probability\nrr,900,.2\nxx,900,.2\n", r"Day 2 of '.*': name='xx' must be one of rr, "),
        ("protocol,users,flip_probability,instances\nrr,900,.2,0\n", r"Day 1 of '.*': instances=0 must be "),
        (
            "protocol,users,flip_probability,instances\nrr,900,.2,1.5\n",
            r"Day 1 of '.*': instances='1.5' must be an integer",
        ),
        ("protocol,users,flip_probability\nrr,900\n", r"row 1 has not as many entries as the header"),
        ("day,protocol,users,flip_probability\na,rr,9,.2\na,rr,8,.2\n", r"Day 2 of '.*': day='a' must be there once"),
        ("protocol,users,flip_probability, users\nrr,900,.2,9\n", r"file of days: 'users' is there twice\.$"),
        ('protocol,"users\nrr,9\n', r"file of days: it is no table: unexpected end of data\.$"),
        ("protocol\n", "must hold a list of days, at least one"),
    ],
)
def test_bad_tables_are_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "days.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        read_days(path)


def test_bad_objects_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "days.json"
    for text in ("[", "{}", "[]", "[3]", '"rr"'):
        path.write_text(text)
        with pytest.raises(ValueError, match=r"path='.*' must "):
            read_days(path)
    path.write_text("[" * 100_000)
    with pytest.raises(ValueError, match=r"of days: it is nested too deeply\.$"):
        read_days(path)
    with pytest.raises(ValueError, match="there is no such file"):
        read_days(tmp_path / "none.csv")
    with pytest.raises(ValueError, match="but it is a folder"):
        read_days(tmp_path)


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ("count", "write instances for it"),
        ("Runs", "write instances for it"),
        ("n", "write users for it"),
        ("users_total", "write users for it"),
        ("epsilon", "what a day gives is computed, and no entry"),
        ("colour", "besides them there may be instances, honest and day"),
    ],
)
def test_other_headers_are_told_what_to_be(header: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "days.csv"
    path.write_text(f"protocol,users,flip_probability,{header}\nrr,9,0.25,3\n")
    with pytest.raises(
        ValueError, match=rf": '{header}' must be a parameter of rr: users, flip_probability; {said}\.$"
    ):
        read_days(path)


def test_a_name_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "days.json"
    path.write_text('[{"protocol": "rr", "users": 900, "flip_probability": 0.25, "users": 9}]')
    with pytest.raises(ValueError, match=r"^path='.*' must be a .json or .csv file of days: 'users' is there twice\.$"):
        read_days(path)
    one = {"protocol": "rr", "users": 900, "flip_probability": 0.25}
    path.write_text(json.dumps([one, {"day": "None", **one}]))
    assert len(read_days(path)) == 2


def test_a_text_is_read_as_a_file_of_it_is(tmp_path: Path) -> None:
    table = b"protocol,users,flip_probability\r\nrr,900,.2\r\nxx,900,.2\r\n"
    (tmp_path / "days.csv").write_bytes(table)
    said = {}
    for name, read in (
        ("'days.csv'", lambda: read_days(tmp_path / "days.csv")),
        ("the text", lambda: days_in(table, "the text", objects=False)),
    ):
        with pytest.raises(ValueError, match=r"^Day 2 of ") as refused:
            read()
        said[name] = str(refused.value).replace(f"{tmp_path}/", "").replace(name, "it")
    assert len(set(said.values())) == 1
    with pytest.raises(ValueError, match=r"^the text must be a .*: it is no text in UTF-8\.$"):
        days_in(b"\xff", "the text", objects=True)
