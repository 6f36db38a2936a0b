"""Numbers and words as options: what may be typed for one, and the one sentence where something else is."""

from typing import Annotated, Any

import pytest
import typer

from dpverify.cli.options import choice, exact, integer, number


def typed(option: Any, kind: type, text: str | None, default: Any = ..., name: str = "--value") -> Any:
    """Return what a command with this option is given for a text."""
    given: list[Any] = []

    def command(value) -> None:  # type: ignore[no-untyped-def]
        given.append(value)

    command.__annotations__ = {"value": Annotated[kind, option]}
    if default is not ...:
        command.__defaults__ = (default,)
    app = typer.Typer(add_completion=False)
    app.command()(command)
    words = [] if text is None else [name, text]
    typer.main.get_command(app)(args=words, standalone_mode=False)
    return given[0]


@pytest.mark.parametrize("text", ["50000", "5e4", "50_000", "50000.0", "500e2", " 50000"])
def test_integers_in_any_exact_way(text: str) -> None:
    found = typed(integer(within="[1, inf)", help=""), int, text)
    assert (type(found), found) == (int, 50000)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("0", "an integer in [1, inf)"),
        ("1.5", "an integer in [1, inf)"),
        ("50,000", "an integer in [1, inf), without commas"),
        ("a,b", "an integer in [1, inf)"),
        ("inf", "an integer in [1, inf)"),
        ("9223372036854775808", "at most 2^63 - 1"),
        ("1e999999999", "at most 2^63 - 1"),
        ("-1e999999999", "an integer in [1, inf)"),
    ],
)
def test_no_integer_in_range(text: str, wanted: str) -> None:
    with pytest.raises(ValueError, match=r"^--value=") as caught:
        typed(integer(within="[1, inf)", help=""), int, text)
    assert str(caught.value) == f"--value={text!r} must be {wanted}."
    assert typed(integer(within="[1, inf)", help=""), int, "9223372036854775807") == 2**63 - 1


@pytest.mark.parametrize(
    ("within", "taken", "refused"),
    [
        ("[0, 1/2)", ["0", "0.49999", "5e-324"], ["0.5", "-5e-324", "nan", "inf"]),
        ("(0, inf)", ["1e-300", "1.7e308"], ["0", "-0", "inf"]),
        ("[0.0001, 1]", ["1e-4", "1"], ["0.00009", "1.0000001"]),
    ],
)
def test_ranges_and_their_ends(within: str, taken: list[str], refused: list[str]) -> None:
    for text in taken:
        assert typed(number(within=within, help=""), float, text) == float(text)
    for text in refused:
        with pytest.raises(ValueError, match=r"^--value=") as caught:
            typed(number(within=within, help=""), float, text)
        assert str(caught.value) == f"--value={text!r} must be a finite number in {within}."


def test_a_number_that_no_float_is_near_to() -> None:
    with pytest.raises(
        ValueError, match=r"^--value='1e400' must be a number in \(-inf, inf\), at most 1\.79e308 in size"
    ):
        typed(number(within="(-inf, inf)", help=""), float, "1e400")
    with pytest.raises(
        ValueError, match=r"^--value='1e-400' must be a number in \[0, 1\) that is 0 or at least 5e-324\.$"
    ):
        typed(number(within="[0, 1)", help=""), float, "1e-400")
    assert typed(number(within="[0, 1)", help=""), float, "0e-400") == 0.0
    long = "9" * 60
    with pytest.raises(ValueError, match=r"^--value='9{40}\.\.\.' must be a finite number in \[0, 1\)\.$"):
        typed(number(within="[0, 1)", help=""), float, long)


def test_exact_numbers_stay_texts() -> None:
    option = exact(within="(0, 1)", help="")
    for text in ("0.1", "1/3", "1e-307"):
        assert typed(option, str, text) == text
    for text, wanted in (
        ("1/1", "a finite number in (0, 1)"),
        ("1/0", "a finite number in (0, 1)"),
        ("1/2/3", "a finite number in (0, 1)"),
        ("x", "a finite number in (0, 1)"),
        ("x%", "a finite number in (0, 1)"),
        ("90%", "a finite number in (0, 1); write 90% as 0.9"),
        ("10^-6", "a finite number in (0, 1); write 10^-6 as 1e-6"),
        ("1e-308", "a number in (0, 1), of a size from 1e-307 to 1e307"),
        ("1/1e308", "a number in (0, 1), of a size from 1e-307 to 1e307"),
    ):
        with pytest.raises(ValueError, match=r"^--value=") as caught:
            typed(option, str, text)
        assert str(caught.value) == f"--value={text!r} must be {wanted}."


def test_a_confidence_in_per_cent_and_a_share_are_told() -> None:
    with pytest.raises(ValueError, match=r"in \(0, 1\); 95 % is 0.95\.$"):
        typed(number("--confidence", within="(0, 1)", help=""), float, "95", name="--confidence")
    with pytest.raises(ValueError, match=r"in \(0, 1\], a share\.$"):
        typed(number(within="(0, 1]", help="", what=", a share"), float, "10")


def test_words_are_known_in_any_case() -> None:
    asked: list[int] = []

    def known() -> tuple[str, ...]:
        asked.append(1)
        return ("Alpha", "beta")

    option = choice(known=known, help="")
    assert asked == []  # what names them may be slow to import
    assert typed(option, str, "ALPHA") == "Alpha"
    with pytest.raises(ValueError, match=r"^--value='gamma' must be one of Alpha, beta\.$"):
        typed(option, str, "gamma")
    assert option.autocompletion("B") == ["beta"]


def test_a_default_is_not_parsed() -> None:
    assert typed(number(within="(0, 1)", help=""), float, None, default=7.0) == 7.0


def test_help_and_name_as_typed() -> None:
    option = integer("--other", within="[1, 9]", help="Between, in {}.")
    assert option.help == "Between, in [1, 9]."
    with pytest.raises(ValueError, match=r"^--other='0' must be an integer in \[1, 9\]\.$"):
        typed(option, int, "0", name="--other")


def test_an_option_may_take_several_values() -> None:
    several = integer(within="[1, inf)", help="", several=True)
    assert typed(several, Any, "1e4,2_000, 7") == (10_000, 2000, 7)
    assert typed(several, Any, "5") == (5,)
    assert typed(several, Any, None, default=None) is None
    assert typed(exact(within="(0, inf)", help="", several=True), Any, "0.25,1/3") == ("0.25", "1/3")
    # The same number twice is once, as it was typed first.
    assert typed(exact(within="(0, inf)", help="", several=True), Any, "2,1,1.0,2") == ("2", "1")
    words = choice(known=lambda: ("rr", "nb", "3nb"), help="", several=True)
    assert typed(words, Any, "NB, rr,nb") == ("nb", "rr")
    with pytest.raises(ValueError, match=r"'4nb' must be one of rr, nb, 3nb \(did you mean 'nb'"):
        typed(words, Any, "rr,4nb")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("50,000", "--value='50,000' must be an integer in [1, inf), without commas."),
        ("1,500", "--value='1,500' must be a list with a space behind each comma, or one number, without commas."),
        ("5,", "--value='' must be an integer in [1, inf)."),
        ("5,0", "--value='0' must be an integer in [1, inf)."),
        ("5,x", "--value='x' must be an integer in [1, inf)."),
    ],
)
def test_a_list_names_its_entry_that_is_wrong(text: str, told: str) -> None:
    with pytest.raises(ValueError, match=r"^--value") as caught:
        typed(integer(within="[1, inf)", help="", several=True), Any, text)
    assert str(caught.value) == told


def test_a_comma_that_is_likely_a_decimals_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    option = exact(within="(0, 9]", help="", several=True)
    assert typed(option, Any, "1,5") == ("1", "5")
    assert capsys.readouterr().err == ("--value=1,5 is read as two numbers; a decimal is written with a point, 1.5.\n")
    for text in ("1,2", "1, 5", "0.1,5", "1,2,5"):  # lists
        typed(option, Any, text)
    assert capsys.readouterr().err == ""
    for text in ("0,5", "0,001", "2,25"):
        with pytest.raises(ValueError, match=r"must be a list of numbers in \(0, 9\], or one with a point: \d\.\d+\.$"):
            typed(option, Any, text)
