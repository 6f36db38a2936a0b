"""Further pairs with divergences that can be enclosed: Poisson noise, and bits that are dropped now and then."""

from __future__ import annotations

from dataclasses import field

from flint import arb

from dpverify.certificates.balls import as_ball
from dpverify.certificates.pairs import Direction, Pair, ThreeNBPair, _by_threshold, _positive_part
from dpverify.guarantee import Number
from protocols.classes.frozen import dataclass

__all__ = ["PoissonPair", "PurePair"]


@dataclass(frozen=True)
class PoissonPair(Pair):
    """One Poisson noise: Z + 1 against Z, Z with pmf `f(z) = e^-mean mean^z / z!`, mean > 0.

    f(y-1)/f(y) = y/mean grows with y, so P exceeds e^eps Q beyond one y or up to one.
    """

    mean: Number = field(metadata={"within": "(0, inf)", "help": "The mean of the noise, in {}."})

    def enclose(self, epsilon: arb, direction: Direction) -> arb:  # noqa: D102
        mean, factor = as_ball(self.mean), epsilon.exp()

        def at_least(y: int) -> arb:
            return arb(1) if y <= 0 else mean.gamma_lower(y, regularized=1)

        def below(y: int) -> arb:
            return arb(0) if y <= 0 else mean.gamma_upper(y, regularized=1)

        if direction is Direction.UP:
            # f(y-1) > e^eps f(y) from the first y above mean e^eps on.
            return _by_threshold(lambda y: at_least(y) - factor * at_least(y + 1), mean * factor)
        # f(y) > e^eps f(y-1) up to the last y below mean e^-eps; at a tie there is nothing to add.
        return _by_threshold(lambda y: below(y + 1) - factor * below(y), mean / factor)


@dataclass(frozen=True)
class PurePair(Pair):
    """The two counts of `Pure`, a 1 that is dropped with probability q < 1 against a 0, all other users holding 0.

    The rest is as for `ThreeNBPair`: `q P0 + (1-q) P1 - E P0 = (1-q) (P1 - (E-q)/(1-q) P0)`, and `P0 - E (q P0 + (1-q)
    P1) = (1 - E q) (P0 - E (1-q) / (1 - E q) P1)`, where P1 and P0 are the views of an undropped 1 and of a 0.
    """

    p: Number = field(metadata={"within": "(0, 1)", "help": "p of the noise, in {}: the larger, the more noise."})
    flood_shape: Number = field(metadata={"within": "(0, inf)", "help": "r', in {}."})
    flood_p: Number = field(metadata={"within": "(0, 1)", "help": "p', in {}."})
    drop_probability: Number = field(default=0, metadata={"within": "[0, 1)", "help": "q, in {}."})

    @property
    def dataset(self) -> str:  # noqa: D102
        return "if all others hold 0"

    def enclose(self, epsilon: arb, direction: Direction) -> arb:  # noqa: D102
        undropped = ThreeNBPair(self.p, self.flood_shape, self.flood_p)
        q, factor = as_ball(self.drop_probability), epsilon.exp()
        if direction is Direction.UP:
            kept, ratio = 1 - q, (factor - q) / (1 - q)
            if ratio <= 0:
                return 1 - factor  # the first law exceeds E times the second everywhere
        else:
            kept = 1 - factor * q
            if kept <= 0:
                return arb(0)
            ratio = factor * (1 - q) / kept
        if not (kept > 0 and ratio > 0):
            return arb.nan()
        return _positive_part(kept * undropped.enclose(ratio.log(), direction))
