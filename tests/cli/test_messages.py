"""The library's messages in the words that were typed, and which command the words lead to."""

from typing import Any

import pytest
import typer

from dpverify import cli
from dpverify.cli.messages import as_typed, invoked, options_of, refuse_repeated, unknown


@pytest.fixture(scope="module")
def program() -> Any:
    return typer.main.get_command(cli.application())


def test_the_librarys_messages_name_what_was_typed() -> None:
    options = {"p": "--p", "flood_p": "--flood-p", "as_json": "--json", "adversary": "--threat-model"}
    said = "flood_p=1 is more than p=0.5, unlike xp=3 and epsilon0=2; threat_model=<ThreatModel.MODEL: 'model'> is one."
    options["threat_model"] = options["adversary"]
    assert as_typed(said, options) == (
        "--flood-p=1 is more than --p=0.5, unlike xp=3 and epsilon0=2; --threat-model='model' is one."
    )
    assert as_typed("honest=Decimal('NaN') must be a finite number.", {}) == "honest='NaN' must be a finite number."
    # What is an option already stays one, and a name without a value is a word.
    assert as_typed("--p=1 and the p of it", {"p": "--p"}) == "--p=1 and the p of it"
    assert as_typed("epsilon0=None must be given.", {"epsilon0": "--epsilon0"}) == "--epsilon0 must be given."


def test_long_integers_are_powers() -> None:
    assert as_typed("users=25000000000000000000 and -1000000000, below 1000000000000.", {}) == (
        "users=25e18 and -1000000000, below 1e12."
    )
    for as_it_is in ("'1000000000000'", "1000000000001", "0.1000000000000", "1000000000.5", "120000000", "x1000000000"):
        assert as_typed(as_it_is, {}) == as_it_is


def test_what_is_named_without_a_value_is_named_as_typed_too() -> None:
    options = {"ball": "--ball", "squared_change": "--squared-change", "path": "file"}
    said = "ball=True must be omitted without squared_change, path='squared_change/x' and own.path=3 with a ball."
    assert as_typed(said, options) == (
        "--ball must be omitted without --squared-change, file='squared_change/x' and own.path=3 with a ball."
    )


def test_words_lead_to_a_command_in_any_case(program: Any) -> None:
    command, words = invoked(program, ["Account", "RR", "--users", "ACCOUNT"])
    assert (command.name, words) == ("rr", ["account", "rr", "--users", "ACCOUNT"])
    # An option of a group, before any command of it.
    command, words = invoked(program, ["account", "--help"])
    assert (command.name, words) == ("account", ["account", "--help"])
    assert invoked(program, []) == (program, [])
    # What follows a command is no command.
    assert invoked(program, ["theorems", "show", "account"])[1] == ["theorems", "show", "account"]


def test_words_that_lead_nowhere(program: Any) -> None:
    for words, said in (
        (["acount"], r"^'acount' must be a command of `dpverify`: plan, front, "),
        (["account", "4nb"], r"^'4nb' must be a command of `dpverify account`: rr, 3nb, nb, "),
        (["account"], r"^`dpverify account` must be followed by a command: rr, 3nb, nb, "),
    ):
        with pytest.raises(ValueError, match=said):
            invoked(program, words)


def test_options_go_by_the_librarys_names(program: Any) -> None:
    plan = options_of(invoked(program, ["plan"])[0])
    assert plan["max_messages_per_user"] == plan["max_messages"] == "--max-messages"
    assert plan["threat_model"] == "--threat-model"
    audit = options_of(invoked(program, ["audit", "rr"])[0])
    assert (audit["checkpoint"], audit["implementation"]) == ("--resume", "--target")
    # Arguments are called as in the help, and only options that are there have another name.
    others = options_of(invoked(program, ["theorems", "show"])[0])
    assert not {"checkpoint", "threat_model"} & set(others)


def test_an_option_is_given_once() -> None:
    refuse_repeated(["--p", "1", "--users=2", "--pp", "3", "--pp=3"], ["--p", "--users", "--json"])
    refuse_repeated(["file", "file"], ["file"])
    for words in (["--p", "1", "--p=2"], ["--p=1", "--p=1"], ["--p", "--p"]):
        with pytest.raises(ValueError, match=r"^--p must be given once, not 2 times\.$"):
            refuse_repeated(words, ["--users", "--p"])


def test_clicks_of_both_kinds_name_an_unknown_option(program: Any) -> None:
    command = invoked(program, ["account", "rr"])[0]
    for message in ("No such option: --flip", "No such option '--flip'. Did you mean '--help'?"):
        told = "No such option: --flip (did you mean --flip-probability?)."
        assert unknown(message, command, ["account", "rr", "--flip"]) == told
