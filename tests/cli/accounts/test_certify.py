import json
from fractions import Fraction

import mpmath as mp
import pytest

from dpverify import cli
from dpverify.certificates import enclosure
from dpverify.certificates import pairs as certify
from dpverify.certificates import report_pairs as reports
from dpverify.certificates.enclosure import hockey_stick
from dpverify.certificates.pairs import Direction
from dpverify.guarantee import Interval

COMMANDS = {
    "rr": (
        ["--users", "40", "--flip-probability", "0.1", "--ones", "7"],
        certify.RandomizedResponsePair(40, Fraction(1, 10), 7),
    ),
    "nb": (["--shape", "5/3", "--p", "0.6"], certify.NegativeBinomialPair(Fraction(5, 3), Fraction(3, 5))),
    "3nb": (
        ["--p", "0.1", "--flood-shape", "8", "--flood-p", "0.1", "--shape", "5/2"],
        certify.ThreeNBPair(Fraction(1, 10), 8, Fraction(1, 10), Fraction(5, 2)),
    ),
    "discrete-laplace": (["--p", "0.7"], certify.DiscreteLaplacePair(Fraction(7, 10))),
    "gaussian": (["--sigma", "2.1"], certify.GaussianPair(Fraction(21, 10))),
    "rr-mean": (["--report-epsilon", "5/4", "--levels", "3"], reports.LevelsPair(Fraction(5, 4), 3)),
    "laplace-mean": (["--report-epsilon", "1.25"], reports.LaplaceReportPair(Fraction(5, 4))),
    "discrete-laplace-mean": (
        ["--report-epsilon", "1.25", "--steps", "3"],
        reports.SteppedLaplacePair(Fraction(5, 4), 3),
    ),
}


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert cli.main(arguments) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    return printed.out


@pytest.mark.parametrize("direction", list(Direction))
@pytest.mark.parametrize("name", COMMANDS)
def test_every_pair_prints_the_librarys_enclosure(
    name: str, direction: Direction, capsys: pytest.CaptureFixture[str]
) -> None:
    options, pair = COMMANDS[name]
    words = ["certify", name, *options, "--epsilon", "0.3", "--digits", "30", "--direction", direction]
    # The decimals of the command line are exact: the same rationals, not the nearest floats, must be certified.
    expected = hockey_stick(pair, Fraction(3, 10), direction, digits=30)
    assert expected.text in run(capsys, *words)
    found = json.loads(run(capsys, *words, "--json"))
    assert found["delta"] == Interval(expected.lower, expected.upper).to_dict()
    assert (found["digits"], found["enclosure"], found["epsilon"]) == (30, expected.text, "0.3")
    assert (found["pair"], found["direction"]) == (type(pair).__name__, direction)
    assert [Fraction(value) for value in found["parameters"].values()] == [
        Fraction(option) for option in options[1::2]
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("words", "dataset"),
    [
        (("rr", "--users", "9", "--flip-probability", "0.1"), "the largest of all datasets"),
        (("rr", "--users", "9", "--flip-probability", "0.1", "--ones", "0"), "if 0 of the 8 others hold a 1"),
        (("local-rr", "--flip-probability", "0.1"), "a report alone"),
        (("pure", "--p", "0.9", "--flood-shape", "9", "--flood-p", "0.9"), "if all others hold 0"),
        (("gaussian", "--sigma", "2"), "whatever others hold"),
    ],
)
def test_the_dataset_is_named(words: tuple[str, ...], dataset: str, capsys: pytest.CaptureFixture[str]) -> None:
    line = run(capsys, "certify", *words, "--epsilon", "0.3")
    assert f"up, {dataset} (15 digits certified)" in line
    assert json.loads(run(capsys, "certify", *words, "--epsilon", "0.3", "--json"))["dataset"] == dataset


def test_certified_digits_are_those_of_the_closed_form(capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(
        run(capsys, "certify", "gaussian", "--sigma", "70", "--epsilon", "0.05", "--digits", "40", "--json")
    )
    with mp.workdps(60):
        sigma, epsilon = mp.mpf(70), mp.mpf(1) / 20
        low, high = (mp.ncdf(sign / (2 * sigma) - epsilon * sigma) for sign in (-1, 1))
        truth = high - mp.exp(epsilon) * low
        assert abs(mp.mpf(found["enclosure"].split(" +/- ")[0].strip("[")) / truth - 1) < mp.mpf("1e-39")


def test_too_many_bits_are_an_error_and_no_traceback(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(enclosure, "_MOST_BITS", 100)
    assert cli.main(["certify", "gaussian", "--epsilon", "0.1", "--sigma", "3"]) == 2
    assert "needs more than 100 bits" in capsys.readouterr().err
