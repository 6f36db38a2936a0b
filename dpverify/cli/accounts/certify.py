"""The commands `dpverify certify ...`: one instance's hockey-stick divergence, enclosed to any number of digits."""

# Everything heavy is imported inside the commands, as in dpverify.cli.

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from dpverify.cli.commands import made_by
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


def _print_enclosure(pair: Pair, epsilon: Epsilon, digits: Digits = 15, direction: Toward = "up") -> None:
    from dpverify.certificates.enclosure import hockey_stick
    from dpverify.certificates.pairs import Direction
    from dpverify.guarantee import Interval

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
        "delta": Interval(found.lower, found.upper),
        "digits": found.digits,
        "enclosure": found.text,
    }
    place = f"at epsilon = {epsilon}, {direction}, {pair.dataset}"
    print_result(result, f"delta: {found.text} {place} ({found.digits} digits certified)")


def _command(name: str) -> Callable[[Callable[..., Pair]], Callable[..., Pair]]:
    """Return what adds a command that encloses the divergence of the pair that a function makes of its options."""

    def added(pair: Callable[..., Pair]) -> Callable[..., Pair]:
        certify.command(name)(made_by(pair, _print_enclosure))
        return pair

    return added


@_command("rr")
def certify_randomized_response(
    users: Annotated[
        int,
        integer(within="[1, inf)", help="n, the number of users; at most 512, 4096 with --ones, any with --ones 0."),
    ],
    flip_probability: Annotated[str, exact(within="(0, 1/2)", help="p, in {}.")],
    ones: Annotated[
        int | None,
        integer(within="[0, inf)", help="How many of the other n - 1 users hold a 1; without it, the worst number."),
    ] = None,
) -> Pair:
    """Shuffled randomized response."""
    from dpverify.certificates.pairs import RandomizedResponsePair

    return RandomizedResponsePair(users, flip_probability, ones)


@_command("nb")
def certify_negative_binomial(
    shape: Annotated[str, exact(within="(0, inf)", help="r, in {}.")],
    p: Annotated[str, exact(within="(0, 1)", help="p, in {}: the larger, the more noise.")],
) -> Pair:
    """One negative binomial noise."""
    from dpverify.certificates.pairs import NegativeBinomialPair

    return NegativeBinomialPair(shape, p)


@_command("3nb")
def certify_three_nb(
    p: Annotated[str, exact(within="(0, 1)", help="p of the noise, in {}: the larger, the more noise.")],
    flood_shape: Annotated[str, exact(within="(0, inf)", help="r', in {}.")],
    flood_p: Annotated[str, exact(within="(0, 1)", help="p', in {}.")],
    shape: Annotated[str, exact(within="(0, inf)", help="r of the noise, in {}; other than 1 for little noise.")] = "1",
) -> Pair:
    """Correlated noise from three negative binomials (both counts)."""
    from dpverify.certificates.pairs import ThreeNBPair

    return ThreeNBPair(p, flood_shape, flood_p, shape)


@_command("poisson")
def certify_poisson(
    mean: Annotated[str, exact(within="(0, inf)", help="The mean of the noise, in {}.")],
) -> Pair:
    """One Poisson noise."""
    from dpverify.certificates.noise_pairs import PoissonPair

    return PoissonPair(mean)


@_command("pure")
def certify_pure(
    p: Annotated[str, exact(within="(0, 1)", help="p of the noise, in {}: the larger, the more noise.")],
    flood_shape: Annotated[str, exact(within="(0, inf)", help="r', in {}.")],
    flood_p: Annotated[str, exact(within="(0, 1)", help="p', in {}.")],
    drop_probability: Annotated[str, exact(within="[0, 1)", help="q, in {}.")] = "0",
) -> Pair:
    """Bits dropped now and then, discrete Laplace noise and a flood (both counts, all others holding 0)."""
    from dpverify.certificates.noise_pairs import PurePair

    return PurePair(p, flood_shape, flood_p, drop_probability)


@_command("central-discrete-laplace")
def certify_discrete_laplace(
    p: Annotated[str, exact(within="(0, 1)", help="The noise's pmf is proportional to p^|z|, in {}.")],
) -> Pair:
    """Discrete Laplace noise on a sum."""
    from dpverify.certificates.pairs import DiscreteLaplacePair

    return DiscreteLaplacePair(p)


@_command("central-gaussian")
def certify_gaussian(
    sigma: Annotated[str, exact(within="(0, inf)", help="The noise's standard deviation, in {}.")],
) -> Pair:
    """Gaussian noise on a sum."""
    from dpverify.certificates.pairs import GaussianPair

    return GaussianPair(sigma)


@_command("local-rr")
def certify_local_randomized_response(
    flip_probability: Annotated[str, exact(within="(0, 1/2)", help="p, in {}.")],
) -> Pair:
    """Randomized response without a shuffler: a single report."""
    from dpverify.certificates.pairs import RandomizedResponsePair

    return RandomizedResponsePair(1, flip_probability, 0)


ReportEpsilon = Annotated[str, exact(within="(0, inf)", help="epsilon of a report, in {}, in nats.")]


@_command("rr-mean")
def certify_levels(
    report_epsilon: ReportEpsilon,
    levels: Annotated[int, integer(within="[2, inf)", help="k, the number of levels, in {}.")] = 2,
) -> Pair:
    """One report of a level by randomized response; with two levels, also of the one-bit mean."""
    from dpverify.certificates.report_pairs import LevelsPair

    return LevelsPair(report_epsilon, levels)


@_command("laplace-mean")
def certify_laplace_mean(
    report_epsilon: ReportEpsilon,
) -> Pair:
    """One report with Laplace noise, or a trusted curator's mean."""
    from dpverify.certificates.report_pairs import LaplaceReportPair

    return LaplaceReportPair(report_epsilon)


@_command("discrete-laplace-mean")
def certify_discrete_laplace_mean(
    report_epsilon: ReportEpsilon,
    steps: Annotated[int, integer(within="[1, 4096]", help="s, the steps of the grid, in {}.")] = 16,
) -> Pair:
    """One report of a rounded value with discrete Laplace noise."""
    from dpverify.certificates.report_pairs import SteppedLaplacePair

    return SteppedLaplacePair(report_epsilon, steps)
