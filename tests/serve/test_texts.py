"""A text is told by how it begins, and the lines for it say what the page says."""

import contextlib
import io
import re
from pathlib import Path

import pytest

from dpverify.cli import main
from dpverify.serve.state import BadState
from dpverify.serve.texts import FIELDS, Text

DESIGN = 'users = 2_000\n[[budgets]]\nepsilon = 1\ndelta = 1e-6\ndays = 30\n[[queries]]\nname = "a"\nbits = 4\n'
DAYS = "protocol,users,sigma\ncentral-gaussian,90,7\ncentral-gaussian,80,7\ncentral-gaussian,80,9\n"


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("", "collection.toml"),
        (DESIGN, "collection.toml"),
        ("\n# a, b\n[[budgets]]", "collection.toml"),
        ("[a]\n", "collection.toml"),
        ('name = "a, b"\n', "collection.toml"),
        ("a", "collection.toml"),
        (DAYS, "days.csv"),
        ("\ufeff" + DAYS, "days.csv"),
        ("\r\n  protocol;users\r\n", "days.csv"),
        ("protocol\tusers\n", "days.csv"),
        ('"protocol",users', "days.csv"),
        ('[{"protocol": "rr"}]', "days.json"),
        ("\n [\n  {", "days.json"),
        ("[]", "days.json"),
        ("{}", "days.json"),
    ],
)
def test_how_a_text_begins_says_what_it_is(written: str, name: str) -> None:
    text = Text.read(written.encode(), [])
    assert text.name == name
    assert text.designs is name.endswith("toml")


def test_texts_that_are_long_are_told_from_others_in_little_memory_and_no_time() -> None:
    for written in (b" " * 2**18, b"#" * 2**18, b"#\n" * 2**17, b"a" * 2**18, b"a," * 2**17, b"[" * 2**18):
        assert len(repr(Text.read(written, []).key)) < 200
    key = [Text.read(DAYS.encode(), query).key for query in ([], [("delta", "1e-7")], [("at_most", "2")])]
    assert len(set(key)) == 3
    # A design has its own budgets, so that a field that is not shown asks for nothing.
    assert Text.read(DESIGN.encode(), []).key == Text.read(DESIGN.encode(), [("delta", "1e-7")]).key


@pytest.mark.parametrize("query", [{"delta": "nan"}, {"delta": "2"}, {"at_most": "0"}, {"at_most": "1.5"}, {"a": "1"}])
def test_what_is_asked_besides_is_refused_by_its_name(query: dict[str, str]) -> None:
    (name,) = query
    with pytest.raises(BadState) as refused:
        Text.read(DAYS.encode(), query.items())
    assert list(refused.value.errors) == [name if name in FIELDS else "text"]


@pytest.mark.parametrize("written", [pytest.param(DESIGN, marks=pytest.mark.long), DAYS])
def test_the_lines_run_and_agree(written: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = Text.read(written.encode(), [("delta", "1e-7"), ("at_most", "2")])
    Path(text.name).write_text(written)
    with contextlib.redirect_stdout(io.StringIO()) as program:
        exec(text.python({"1e-06": 30} if text.designs else {}), {})
    with contextlib.redirect_stdout(io.StringIO()) as command, contextlib.suppress(SystemExit):
        main(text.shell.split()[1:])
    numbers = re.findall(r"\d\.\d+", command.getvalue())
    assert len(numbers) >= 4
    assert set(re.findall(r"\d\.\d+", program.getvalue())) & set(numbers)
    if not text.designs:
        assert "--at-most 2" in text.shell
        assert "at most 2 a user" in program.getvalue()
        assert "at most 2 a user" in command.getvalue()
