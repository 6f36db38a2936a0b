"""What the best attacker reaches: advantage, false negatives, and guesses, each with both ends proved.

All of it follows from the privacy curve, the largest divergence over all neighbours in both orders; docs/meaning.md has
the proofs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

from dpverify.guarantee import Adjacency, Guarantee, Interval, Number, PrivacyCurve, enclosing_floats, exact_number
from dpverify.privacy_loss.losses.tradeoff import EnclosedTradeOff, power_of_e
from dpverify.shown import Drawn, Plain
from protocols.classes.frozen import dataclass
from protocols.validation import check_integer

if TYPE_CHECKING:
    from dpverify.planning.plan import PlanRow

__all__ = ["Attack", "Meaning", "Risk", "meaning_of", "meaning_of_plan"]

_MOST_VALUES = 10**9
_LEAST = Fraction(1, 10**9)
"""A rate or a prior is at least so far from 0 and from 1."""
_COARSE = 1e-2
"""The accuracy of what is shown of a plan."""
_DRAWN, _EYE = (Fraction(1, 20), Fraction(1, 5), Fraction(1, 3)), 3e-3
"""Where a figure needs the trade-off function, and how closely."""


class Attack(StrEnum):
    """What an attacker wants."""

    ADVANTAGE = "advantage"
    """To tell two neighbours apart: the true less the false positives, at most."""
    FALSE_NEGATIVES = "false negatives"
    """To miss few of one of two neighbours, while few of the other are taken for it."""
    PRIOR = "guess at a prior"
    """To guess which of two neighbours it is, one of which has this probability, whichever of them that is."""
    VALUES = "guess of a value"
    """To guess which of so many values a secret has that an input is made of, each as likely as the others."""


@dataclass(frozen=True)
class Risk(Plain):
    """What the best attacker of one kind reaches.

    - attack: What she wants.
    - at: The rate of false positives, the prior, or the number of values.
    - blind: What is reached without what the mechanism shows.
    - least, most: Between which that is proved to lie.
    - guarantee: Whose adjacency and threat model they are.
    """

    plain_as: ClassVar[str] = "attack at? blind value adjacency=guarantee.adjacency threat_model=guarantee.threat_model"

    attack: Attack
    at: Fraction | None
    blind: Fraction
    least: Fraction
    most: Fraction
    guarantee: Guarantee = field(repr=False)

    @property
    def value(self) -> Interval:
        """The enclosure in floats."""
        return Interval.proved(enclosing_floats(self.least)[0], enclosing_floats(self.most)[1])


@dataclass(frozen=True)
class Meaning(Drawn):
    """What a privacy curve means for those whom it protects.

    - name: Of what is accounted.
    - risks: One for each question.
    - trade_off: The least false negatives at any rate of false positives.
    - guarantee: The (epsilon, delta) statement that was asked for, and the adjacency and the threat model.
    """

    table_by: ClassVar[str] = "dpverify.report.risks:meaning_table"
    rows_by: ClassVar[str] = "risks"
    figure_by: ClassVar[str] = "dpverify.report.risks:trade_off_figure"
    plain_as: ClassVar[str] = "name risks guarantee"

    name: str
    risks: tuple[Risk, ...]
    trade_off: EnclosedTradeOff = field(repr=False)
    guarantee: Guarantee

    @property
    def advantage(self) -> Interval:
        """The first of the risks."""
        return self.risks[0].value

    def false_negatives(self, rate: Number) -> Interval:
        """Return the least false negatives at another rate of false positives, as closely as is known.

        - rate (number or decimal string): In [0, 1].
        """
        lower, upper = self.trade_off(exact_number("rate", rate))
        return Interval.proved(enclosing_floats(lower)[0], enclosing_floats(upper)[1])


def meaning_of(
    name: str,
    guarantee: Guarantee,
    curve: Callable[[float], PrivacyCurve],
    *,
    rates: Sequence[Number],
    priors: Sequence[Number],
    values: Sequence[int],
    tolerance: float,
) -> Meaning:
    """Return what a privacy curve means.

    - name: Of what is accounted.
    - guarantee: A point of the curve, with its adjacency and threat model.
    - curve: Returns the curve, for the least delta that matters.
    - rates, priors: Of false positives, and of one of two neighbours, in [1e-9, 1 - 1e-9].
    - values: Among how many values is guessed, from 2 on.
    - tolerance: To which the trade-off function is enclosed at the rates.

    Raises TypeError or ValueError for a number out of range.
    """
    for name_of, listed in (("rates", rates), ("priors", priors), ("values", values)):
        if isinstance(listed, str) or not isinstance(listed, Iterable):
            raise TypeError(f"{name_of}={listed!r} must be a list.")
    levels = [_inside("rates", rate) for rate in rates]
    chances = [_inside("priors", prior) for prior in priors]
    for value in values:
        check_integer("values", value, low=2, high=_MOST_VALUES)
    among = [Fraction(1, value) for value in values]
    made = curve(0.1 * float(min([Fraction(1, 100), *levels, *chances, *among])))
    known = {0.0: made.delta(0.0)}
    advantage = known[0.0]
    risks = [Risk(Attack.ADVANTAGE, None, Fraction(0), Fraction(advantage.lower), Fraction(advantage.upper), guarantee)]
    guesses = []
    for prior in chances:
        rarer = min(prior, 1 - prior)
        # The best guess is the likelier of both but on an event that shows the other one at odds above these.
        low, high = _log_odds(rarer)
        ends = known[low] = made.delta(low)
        beyond = ends if high == low else made.delta(high)
        least, most = (1 - rarer + rarer * Fraction(end) for end in (beyond.lower, ends.upper))
        guesses.append(Risk(Attack.PRIOR, prior, 1 - rarer, least, most, guarantee))
    found = EnclosedTradeOff.of(made.delta, [*levels, *among], tolerance, known.items())
    for rate in levels:
        risks.append(Risk(Attack.FALSE_NEGATIVES, rate, 1 - rate, *found(rate), guarantee))
    for value in values:
        # Two of the values are the worst neighbours, and the others tell nothing.
        least, most = (1 + Fraction(advantage.lower)) / value, _among(value, found, guarantee.adjacency)
        if guarantee.adjacency is Adjacency.REPLACE_ONE and most < 1:
            found = EnclosedTradeOff.of(made.delta, [(1 - most) / (value - 1)], tolerance, found.known)
            most = _among(value, found, guarantee.adjacency)
        guesses.append(Risk(Attack.VALUES, Fraction(value), Fraction(1, value), least, most, guarantee))
    found = EnclosedTradeOff.of(made.delta, _DRAWN, max(tolerance, _EYE), found.known)
    return Meaning(name, (*risks, *guesses), found, guarantee)


def meaning_of_plan(row: PlanRow) -> Meaning:
    """Return what a plan means, to about a hundredth: at a rate of 1/100, and at the priors 1/2 and 1/100.

    - row: As `dpverify.plan` returns it.

    Raises CapacityError if the law is too large to compute.
    """
    from dpverify.planning.answers import within_limits
    from dpverify.planning.result import HonestView

    with within_limits(row.bitsum):
        view = HonestView.of(row.protocol, row.honest, row.guarantee.threat_model)
        return meaning_of(
            row.bitsum,
            row.guarantee,
            lambda reference: view.curve(row.change, _COARSE, reference),
            rates=["0.01"],
            priors=["0.5", "0.01"],
            values=[10],
            tolerance=0.2 * _COARSE,
        )


def _among(values: int, known: EnclosedTradeOff, adjacency: Adjacency) -> Fraction:
    """Return an upper bound on the success of a guess among so many values.

    Where a value is replaced, success S is at most `1 - f((1 - S) / (m - 1))`; where each of them is next to a record
    that is not there, at most `1 - f(1/m)`. Each point of the curve gives one bound.
    """
    bounds = [Fraction(1)]
    for epsilon, ends in known.known:
        power, delta = power_of_e(epsilon)[1], Fraction(ends.upper)
        if adjacency is Adjacency.REPLACE_ONE:
            bounds.append(((values - 1) * delta + power) / (values - 1 + power))
        else:
            bounds.append(delta + power / values)
    return min(bounds)


def _log_odds(rarer: Fraction) -> tuple[float, float]:
    """Return floats between which ln((1 - p) / p) lies, for p up to 1/2."""
    odds = (1 - rarer) / rarer
    near = math.log(odds)
    if odds == 1:
        return 0.0, 0.0
    # The odds are within half a unit of their float, and the logarithm of that within two of its own.
    off = 2.0**-50 * (1.0 + near)
    return max(near - off, 0.0), near + off


def _inside(name: str, value: Any) -> Fraction:
    exact = exact_number(name, value)
    if not _LEAST <= exact <= 1 - _LEAST:
        raise ValueError(f"{name}={value!r} must be in [1e-9, 1 - 1e-9].")
    return exact
