"""Files of designs: what they say is what Python says, and every other key is refused by its name."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from dpverify.collection.design import design
from dpverify.collection.file import design_in, read_design
from dpverify.collection.query import Query
from dpverify.planning.schedules.beside import Beside
from dpverify.planning.steps.step import NoisyStep

TEXT = """
users = 2_000
honest = 0.9
[[budgets]]
epsilon = 1
delta = 1e-6
[[budgets]]
epsilon = 2.5
delta = 1e-6
days = 7
[[queries]]
name = "features"
bits = 4
[[queries]]
name = "rating"
levels = 5
weight = 2
[[queries]]
name = "where"
density = 3
dimension = 2
bandwidth = 0.1
classes = 2
"""


@pytest.mark.long
def test_a_file_says_what_python_says(tmp_path: Path) -> None:
    (tmp_path / "collection.toml").write_text(TEXT)
    queries = [Query("features", bits=4), Query("rating", levels=5, weight=2)]
    queries.append(Query("where", density=3, dimension=2, bandwidth=Decimal("0.1"), classes=2))
    budgets = [(("1", "1e-6"), 1), (("2.5", "1e-6"), 7)]
    found = read_design(tmp_path / "collection.toml")
    assert found == design(queries, budgets, users=2_000, honest="0.9")
    assert found.asked[2].points == replace(queries[2], bandwidth="0.1").asked(found.queries[2].protocol, 1_800).points


@pytest.mark.long
def test_a_file_may_have_steps_beside_the_queries(tmp_path: Path) -> None:
    more = '[[beside]]\nprotocol = "noisy-step"\nnoise = 4\nrate = 0.01\ninstances = 50\ndays = 7\n'
    (tmp_path / "collection.toml").write_text(TEXT + more)
    found = read_design(tmp_path / "collection.toml")
    assert found.beside == (Beside(NoisyStep(4.0, 0.01), 50, 7),)
    assert "Beside them, by a trusted curator: at most 50 x gaussian noise of 4, each record" in str(found)
    (tmp_path / "collection.toml").write_text(TEXT + more.replace("noise = 4", "noise = -4"))
    with pytest.raises(ValueError, match=r"^beside 1: noise=-4 must be"):
        read_design(tmp_path / "collection.toml")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("users = 2_000", "", "lacks users"),
        ("users =", "user =", r"lacks users and has 'user' \(did you mean 'users'\?\), but must have"),
        ("honest", "honst", "has 'honst'"),
        ("bits = 4", "bit = 4", "query 1 has 'bit'"),
        ("epsilon = 1\n", "", "budget 1 lacks epsilon"),
        ("bits = 4", "strings = true", "strings=True must be"),
        ("users = 2_000", "users = 2_000.5", "users"),
        ("bits = 4", "bits = true", "bits"),
        ("[[budgets]]", "[budgets]", "must be a TOML file"),
        ('name = "rating"', "name = 7", "name"),
        ("weight = 2", 'weight = "x"', "weight"),
        ("honest = 0.9", "honest = nan", "honest"),
        ("honest = 0.9", "honest = " + "[" * 20_000, "must be a TOML file: it is nested too deeply"),
        ("honest = 0.9", 'honest = "90%"', "honest='90%' must be a finite number; write 90% as 0.9"),
        ("users = 2_000", 'users = "1000"', "^users='1000' must be an integer in"),
        ("users = 2_000", 'users = "many"\nuser = 3', "^users='many' must be an integer in"),
        ("bits = 4", "bits = 20.0", r"^bits=20.0 must be an integer, in digits alone, in \[1, inf\)\.$"),
        ("bits = 4", "bits = 1e400", r"^bits=1E\+400 must be an integer, in digits alone, in"),
        ("epsilon = 1\n", "epsilon = 1e999999999\n", r"^epsilon=1E\+999999999 must be 0 or in"),
        ("users = 2_000", "users = 1" + "0" * 4_000, "^this design leaves the range of floats here"),
        ("epsilon = 1\n", "epsilon = 1e-300\n", "^this design leaves the range of floats here"),
        ("weight = 2", "weight = 1e308", "^this design leaves the range of floats here"),
    ],
)
def test_what_is_wrong_is_named(old: str, new: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "collection.toml").write_text(TEXT.replace(old, new, 1))
    with pytest.raises(ValueError, match=said):
        read_design(tmp_path / "collection.toml")


def test_a_table_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "collection.toml").write_text('users = 3\nbudgets = 1\nqueries = "a"\n')
    with pytest.raises(ValueError, match="budgets in"):
        read_design(tmp_path / "collection.toml")


def test_a_mark_of_the_byte_order_is_no_part_of_the_text() -> None:
    with pytest.raises(ValueError, match=r"^the file lacks budgets"):
        design_in(b"\xef\xbb\xbfusers = 3\n", "the text")
    with pytest.raises(ValueError, match=r"^the text must be a TOML file: it is no text in UTF-8\.$"):
        design_in(b"users = 3 # \xff\n", "the text")
