"""The reports of single users given two inputs, as laws whose divergence can be enclosed."""

from __future__ import annotations

from dataclasses import field

from flint import arb

from dpverify.certificates.balls import as_ball
from dpverify.certificates.pairs import Direction, Pair, RandomizedResponsePair
from dpverify.guarantee import Number
from protocols.classes.frozen import dataclass

__all__ = ["LaplaceReportPair", "LevelsPair", "ReportedBitPair", "SteppedLaplacePair"]


def _gain(epsilon: arb, loss: arb) -> arb:
    """Return max(0, 1 - e^(epsilon - loss)), also where the sign is not known."""
    return arb(0).max(-(epsilon - loss).expm1())


@dataclass(frozen=True)
class ReportedBitPair(RandomizedResponsePair):
    """A bit reported by randomized response, without a shuffler.

    Parameters
    ----------
    flip_probability : int, float, Fraction, Decimal or decimal string
        p, in (0, 1/2).
    """

    users: int = field(default=1, init=False, metadata={"within": "[1, 1]", "help": "n."})
    ones: int | None = field(default=0, init=False, metadata={"within": "[0, 0]", "help": "How many others hold a 1."})


@dataclass(frozen=True)
class LevelsPair(Pair):
    """A level of k reported by k-ary randomized response, given two levels; with two levels, also of the one-bit mean.

    The report's epsilon, positive, is the largest privacy loss.
    """

    report_epsilon: Number = field(metadata={"within": "(0, inf)", "help": "epsilon of a report, in {}, in nats."})
    levels: int = field(default=2, metadata={"within": "[2, inf)", "help": "k, the number of levels, in {}."})

    def enclose(self, epsilon: arb, direction: Direction) -> arb:  # noqa: D102
        # In weights: e^loss on the own level under P, 1 on all others; the two levels exchange theirs under Q.
        grown = as_ball(self.report_epsilon).exp()
        ratio = epsilon.exp()
        weights = [(grown, arb(1), 1), (arb(1), grown, 1), (arb(1), arb(1), self.levels - 2)]
        total = sum((count * arb(0).max(p - ratio * q) for p, q, count in weights if count), arb(0))
        return total / (grown + (self.levels - 1))


@dataclass(frozen=True)
class LaplaceReportPair(Pair):
    """A value in [0, m] plus Laplace noise of scale m / eps, given the two ends: eps is the largest privacy loss."""

    report_epsilon: Number = field(metadata={"within": "(0, inf)", "help": "epsilon of a report, in {}, in nats."})

    def enclose(self, epsilon: arb, direction: Direction) -> arb:
        """Return the divergence: that of the half-line on which the likelihood ratio exceeds e^epsilon."""
        largest = as_ball(self.report_epsilon)
        if epsilon >= largest:
            return arb(0)
        if epsilon <= -largest:
            return -epsilon.expm1()
        # Up to t, in scales from the first end: 1 - e^-t / 2 of one law and e^(t - largest) / 2 of the other.
        t = (largest - epsilon) / 2
        return 1 - (-t).exp() / 2 - epsilon.exp() * (t - largest).exp() / 2


@dataclass(frozen=True)
class SteppedLaplacePair(Pair):
    """A step of a grid of 1 to 4096 plus discrete Laplace noise, given the two ends of the grid.

    The noise's pmf is proportional to `e^(-report_epsilon |z| / steps)`: the report's epsilon is the largest privacy
    loss.
    """

    report_epsilon: Number = field(metadata={"within": "(0, inf)", "help": "epsilon of a report, in {}, in nats."})
    steps: int = field(default=16, metadata={"within": "[1, 4096]", "help": "s, the steps of the grid, in {}."})

    def enclose(self, epsilon: arb, direction: Direction) -> arb:  # noqa: D102
        decay = as_ball(self.report_epsilon) / self.steps
        q = (-decay).exp()
        # Nothing and less, 1, ..., s - 1, and s and more: the noise's own tails are geometric.
        masses = [arb(1), *((1 - q) * q**at for at in range(1, self.steps)), q**self.steps]
        total = sum(
            (mass * _gain(epsilon, decay * (self.steps - 2 * at)) for at, mass in enumerate(masses)),
            arb(0),
        )
        return total / (1 + q)
