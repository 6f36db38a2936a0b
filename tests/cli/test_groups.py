"""The help of a group says of every command what it is for, at any width."""

import pytest
import typer

from dpverify import cli


def _help(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, columns: int, *words: str) -> list[str]:
    monkeypatch.setenv("COLUMNS", str(columns))
    assert cli.main([*words, "--help"]) == 0
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("columns", [30, 40, 80])
@pytest.mark.parametrize("words", [(), ("account",), ("audit",), ("certify",), ("theorems",), ("least",)])
def test_nothing_is_cut_off(
    words: tuple[str, ...], columns: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = _help(capsys, monkeypatch, columns, *words)
    assert not [line for line in lines if line.endswith("...") and "[ARGS]" not in line]
    listed = lines[: next((place for place, line in enumerate(lines) if "Example" in line), None)]
    if columns > 30:  # some names of commands alone take more
        assert max(map(len, listed)) <= columns


def test_every_command_is_under_a_heading_and_takes_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = _help(capsys, monkeypatch, 80)
    shown = lines[lines.index(f"{next(iter(cli._LISTED))}:") :]
    assert [line.split()[0] for line in shown if line.startswith("  ")] == list(cli._COMMANDS)
    assert [line for line in shown if line and not line.startswith("  ")] == [f"{heading}:" for heading in cli._LISTED]


def test_the_list_says_of_every_command_what_its_own_help_says_first() -> None:
    commands = typer.main.get_command(cli.application()).commands  # type: ignore[attr-defined]
    own = {name: command.get_short_help_str(10_000) for name, command in commands.items()}
    assert own == {name: sentence for under in cli._LISTED.values() for name, (_, sentence) in under.items()}


def test_the_help_of_one_command_knows_no_other(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "From a budget to parameters:" not in _help(capsys, monkeypatch, 80, "plan")


@pytest.mark.parametrize("words", [("audit", "rr"), ("plan",), ("serve",)])
def test_on_few_columns_what_an_option_is_for_stands_below_it(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = _help(capsys, monkeypatch, 40, *words)
    options = lines[lines.index("Options:") + 1 :]
    options = options[: options.index("")]
    assert max(map(len, options)) <= 40
    assert all(len(line) - len(line.lstrip()) in (2, 6) for line in options)  # names, and what they are for
    beside = _help(capsys, monkeypatch, 80, *words)
    assert any(line.startswith("  --help  ") and line.endswith("Show this message and exit.") for line in beside)


def test_a_list_is_named_by_what_it_is_of(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    shown = _help(capsys, monkeypatch, 80, "aggregate") + _help(capsys, monkeypatch, 80, "spend")
    assert not [line for line in shown if "list[" in line.lower()]
    assert [line for line in shown if line.lower().startswith("  files... ")]
