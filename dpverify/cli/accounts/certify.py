"""The commands `dpverify certify ...`: one instance's hockey-stick divergence, enclosed to any number of digits."""

# Everything heavy is imported inside the commands, as in dpverify.cli.

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from dpverify.cli.groups import Listed
from dpverify.cli.options import choice, exact, integer
from dpverify.cli.output import print_result

if TYPE_CHECKING:
    from dpverify.certificates.pairs import Pair

__all__ = ["register"]

certify = typer.Typer(cls=Listed, rich_markup_mode=None)

# Numbers arrive as strings: a decimal or a quotient such as 1/3 is then exact.
Epsilon = Annotated[str, exact(within="(-inf, inf)", help="Where, in nats; a decimal or a quotient is exact.")]
Digits = Annotated[int, integer(within="[1, 1000]", help="Relative decimal digits to certify, in {}.")]
Toward = Annotated[
    str,
    choice(
        known=lambda: ("up", "down"),
        help="up: the user's bit is 1 under the first law and 0 under the second; down: the reverse.",
    ),
]


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    app.add_typer(certify, name="certify", help="Enclose one instance's delta to any number of digits.")


def _print_enclosure(pair: Pair, epsilon: str, digits: int, direction: str) -> None:
    from dpverify.certificates.enclosure import hockey_stick
    from dpverify.certificates.pairs import Direction

    try:
        found = hockey_stick(pair, epsilon, Direction(direction), digits=digits)
    except ArithmeticError as error:
        raise ValueError(str(error)) from error
    result = {
        "pair": type(pair).__name__,
        "parameters": asdict(pair),  # type: ignore[call-overload]
        "direction": direction,
        "dataset": pair.dataset,
        "epsilon": epsilon,
        "delta": {"lower": found.lower, "upper": found.upper},
        "digits": found.digits,
        "enclosure": found.text,
    }
    place = f"at epsilon = {epsilon}, {direction}, {pair.dataset}"
    print_result(result, f"delta: {found.text} {place} ({found.digits} digits certified)")


@certify.command("rr")
def certify_randomized_response(
    epsilon: Epsilon,
    users: Annotated[
        int,
        integer(within="[1, inf)", help="n, the number of users; at most 512, 4096 with --ones, any with --ones 0."),
    ],
    flip_probability: Annotated[str, exact(within="(0, 1/2)", help="p, in {}.")],
    ones: Annotated[
        int | None,
        integer(within="[0, inf)", help="How many of the other n - 1 users hold a 1; without it, the worst number."),
    ] = None,
    digits: Digits = 15,
    direction: Toward = "up",
) -> None:
    """Shuffled randomized response."""
    from dpverify.certificates.pairs import RandomizedResponsePair

    _print_enclosure(RandomizedResponsePair(users, flip_probability, ones), epsilon, digits, direction)


@certify.command("nb")
def certify_negative_binomial(
    epsilon: Epsilon,
    shape: Annotated[str, exact(within="(0, inf)", help="r, in {}.")],
    p: Annotated[str, exact(within="(0, 1)", help="p, in {}: the larger, the more noise.")],
    digits: Digits = 15,
    direction: Toward = "up",
) -> None:
    """One negative binomial noise."""
    from dpverify.certificates.pairs import NegativeBinomialPair

    _print_enclosure(NegativeBinomialPair(shape, p), epsilon, digits, direction)


@certify.command("3nb")
def certify_three_nb(
    epsilon: Epsilon,
    p: Annotated[str, exact(within="(0, 1)", help="p of the noise, in {}: the larger, the more noise.")],
    flood_shape: Annotated[str, exact(within="(0, inf)", help="r', in {}.")],
    flood_p: Annotated[str, exact(within="(0, 1)", help="p', in {}.")],
    shape: Annotated[str, exact(within="(0, inf)", help="r of the noise, in {}; other than 1 for little noise.")] = "1",
    digits: Digits = 15,
    direction: Toward = "up",
) -> None:
    """Correlated noise from three negative binomials (both counts)."""
    from dpverify.certificates.pairs import ThreeNBPair

    _print_enclosure(ThreeNBPair(p, flood_shape, flood_p, shape), epsilon, digits, direction)


@certify.command("poisson")
def certify_poisson(
    epsilon: Epsilon,
    mean: Annotated[str, exact(within="(0, inf)", help="The mean of the noise, in {}.")],
    digits: Digits = 15,
    direction: Toward = "up",
) -> None:
    """One Poisson noise."""
    from dpverify.certificates.noise_pairs import PoissonPair

    _print_enclosure(PoissonPair(mean), epsilon, digits, direction)


@certify.command("pure")
def certify_pure(
    epsilon: Epsilon,
    p: Annotated[str, exact(within="(0, 1)", help="p of the noise, in {}: the larger, the more noise.")],
    flood_shape: Annotated[str, exact(within="(0, inf)", help="r', in {}.")],
    flood_p: Annotated[str, exact(within="(0, 1)", help="p', in {}.")],
    drop_probability: Annotated[str, exact(within="[0, 1)", help="q, in {}.")] = "0",
    digits: Digits = 15,
    direction: Toward = "up",
) -> None:
    """Bits dropped now and then, discrete Laplace noise and a flood (both counts, all others holding 0)."""
    from dpverify.certificates.noise_pairs import PurePair

    _print_enclosure(PurePair(p, flood_shape, flood_p, drop_probability), epsilon, digits, direction)


@certify.command("central-discrete-laplace")
def certify_discrete_laplace(
    epsilon: Epsilon,
    p: Annotated[str, exact(within="(0, 1)", help="The noise's pmf is proportional to p^|z|, in {}.")],
    digits: Digits = 15,
    direction: Toward = "up",
) -> None:
    """Discrete Laplace noise on a sum."""
    from dpverify.certificates.pairs import DiscreteLaplacePair

    _print_enclosure(DiscreteLaplacePair(p), epsilon, digits, direction)


@certify.command("central-gaussian")
def certify_gaussian(
    epsilon: Epsilon,
    sigma: Annotated[str, exact(within="(0, inf)", help="The noise's standard deviation, in {}.")],
    digits: Digits = 15,
    direction: Toward = "up",
) -> None:
    """Gaussian noise on a sum."""
    from dpverify.certificates.pairs import GaussianPair

    _print_enclosure(GaussianPair(sigma), epsilon, digits, direction)


@certify.command("local-rr")
def certify_local_randomized_response(
    epsilon: Epsilon,
    flip_probability: Annotated[str, exact(within="(0, 1/2)", help="p, in {}.")],
    digits: Digits = 15,
    direction: Toward = "up",
) -> None:
    """Randomized response without a shuffler: a single report."""
    from dpverify.certificates.pairs import RandomizedResponsePair

    _print_enclosure(RandomizedResponsePair(1, flip_probability, 0), epsilon, digits, direction)


ReportEpsilon = Annotated[str, exact(within="(0, inf)", help="epsilon of a report, in {}, in nats.")]


@certify.command("rr-mean")
def certify_levels(
    epsilon: Epsilon,
    report_epsilon: ReportEpsilon,
    levels: Annotated[int, integer(within="[2, inf)", help="k, the number of levels, in {}.")] = 2,
    digits: Digits = 15,
    direction: Toward = "up",
) -> None:
    """One report of a level by randomized response; with two levels, also of the one-bit mean."""
    from dpverify.certificates.report_pairs import LevelsPair

    _print_enclosure(LevelsPair(report_epsilon, levels), epsilon, digits, direction)


@certify.command("laplace-mean")
def certify_laplace_mean(
    epsilon: Epsilon,
    report_epsilon: ReportEpsilon,
    digits: Digits = 15,
    direction: Toward = "up",
) -> None:
    """One report with Laplace noise, or a trusted curator's mean."""
    from dpverify.certificates.report_pairs import LaplaceReportPair

    _print_enclosure(LaplaceReportPair(report_epsilon), epsilon, digits, direction)


@certify.command("discrete-laplace-mean")
def certify_discrete_laplace_mean(
    epsilon: Epsilon,
    report_epsilon: ReportEpsilon,
    steps: Annotated[int, integer(within="[1, 4096]", help="s, the steps of the grid, in {}.")] = 16,
    digits: Digits = 15,
    direction: Toward = "up",
) -> None:
    """One report of a rounded value with discrete Laplace noise."""
    from dpverify.certificates.report_pairs import SteppedLaplacePair

    _print_enclosure(SteppedLaplacePair(report_epsilon, steps), epsilon, digits, direction)
