"""The commands `dpverify certify ...`: one instance's hockey-stick divergence, enclosed to any number of digits."""

# Everything heavy is imported inside the commands, as in dpverify.cli.

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpverify.cli.commands import made_by
from dpverify.cli.declared import Declared, making
from dpverify.cli.groups import Listed
from dpverify.cli.options import choice, exact, integer
from dpverify.cli.output import print_result

if TYPE_CHECKING:
    from dpverify.certificates.pairs import Pair

__all__ = ["register"]

_PAIRS = {
    "rr": ("pairs:RandomizedResponsePair", "Shuffled randomized response."),
    "nb": ("pairs:NegativeBinomialPair", "One negative binomial noise."),
    "3nb": ("pairs:ThreeNBPair", "Correlated noise from three negative binomials (both counts)."),
    "poisson": ("noise_pairs:PoissonPair", "One Poisson noise."),
    "pure": (
        "noise_pairs:PurePair",
        "Bits dropped now and then, discrete Laplace noise and a flood (both counts, all others holding 0).",
    ),
    "central-discrete-laplace": ("pairs:DiscreteLaplacePair", "Discrete Laplace noise on a sum."),
    "central-gaussian": ("pairs:GaussianPair", "Gaussian noise on a sum."),
    "local-rr": ("report_pairs:ReportedBitPair", "Randomized response without a shuffler: a single report."),
    "rr-mean": (
        "report_pairs:LevelsPair",
        "One report of a level by randomized response; with two levels, also of the one-bit mean.",
    ),
    "laplace-mean": (
        "report_pairs:LaplaceReportPair",
        "One report with Laplace noise, or a trusted curator's mean.",
    ),
    "discrete-laplace-mean": (
        "report_pairs:SteppedLaplacePair",
        "One report of a rounded value with discrete Laplace noise.",
    ),
}
"""By the command's name: the class of the pair, whose fields are the options, and what it is of."""

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
    app.add_typer(
        typer.Typer(cls=_Certify, rich_markup_mode=None),
        name="certify",
        help="Enclose one instance's delta to any number of digits.",
    )


class _Certify(Listed):
    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.commands = {name: Declared(name, help, partial(_command, at)) for name, (at, help) in _PAIRS.items()}


def _command(at: str) -> Callable[..., None]:
    """Return what encloses the divergence of a pair, `module:class`, with an option for each of its fields."""
    module, _, name = at.partition(":")
    return made_by(making(name, getattr(import_module(f"dpverify.certificates.{module}"), name), {}), _print_enclosure)


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
