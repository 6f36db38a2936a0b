"""What an audit by canaries tests: claims as points that hold together, the fault looked for, and guesses by power."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from dpverify.guarantee import Budget, BudgetLike
from dpverify.search import bisected, least_integer
from dpverify.statistics.bounds.claims import CurveClaim
from dpverify.statistics.bounds.one_run import guesses_needed
from dpverify.statistics.bounds.one_run_curve import curve_guesses_needed, one_run_curve_p_value

__all__ = ["OneRunClaim", "right_by_response", "right_of_surest"]

_PLANNED = 0.999
"""The power that the number of guesses is chosen for."""
_LIKELY = 0.95
"""That of the number that refutes a curve most clearly."""
_TOLD = 1e-5
"""The delta of the epsilon that is told where the claim is a curve."""
_FARTHEST = 700.0
"""Larger epsilons are beyond the floats' exponentials."""


class OneRunClaim(NamedTuple):
    """What is claimed, as points that hold together."""

    points: tuple[tuple[float, float], ...]
    epsilon: float
    """Of the randomized response that guesses one bit as well as the claim allows."""
    delta: float
    """At which the lower end of epsilon is told."""
    words: str
    curve: bool = False

    @classmethod
    def of(cls, claim: BudgetLike | CurveClaim, curve: Sequence[BudgetLike]) -> OneRunClaim:
        """Return a claim with the further points of a curve."""
        further = tuple((point.epsilon, point.delta) for point in (Budget.of(each, "curve") for each in curve))
        if isinstance(claim, CurveClaim):
            points = (*claim.points, *further)
            # Any test's errors of both kinds sum up to 2 (1 - delta) / (1 + e^epsilon) or more, as pure ones do.
            errors = max(2.0 * (1.0 - delta) / (1.0 + math.exp(min(epsilon, _FARTHEST))) for epsilon, delta in points)
            return cls(points, math.log(2.0 / max(errors, 1e-300) - 1.0), _TOLD, claim.words, curve=True)
        budget = Budget.of(claim, "claim")
        words = f"{budget.epsilon:.4g}" + (f" and {len(further)} more points" if further else "")
        return cls(((budget.epsilon, budget.delta), *further), budget.epsilon, budget.delta, words)

    def fault(self, detect: float, share: float) -> tuple[float, str]:
        """Return how often the surest share of all guesses is right under the fault that is looked for, and its words.

        Of a curve that is Gaussian noise with larger mu, of which the surest guesses are right more often; of a single
        claim randomized response with larger epsilon.
        """
        if not self.curve:
            epsilon = (1.0 + detect) * self.epsilon
            return right_by_response(epsilon), f"as epsilon {epsilon:.4g} makes possible"
        mu = -2.0 * (1.0 + detect) * float(scipy.special.ndtri(right_by_response(-self.epsilon)))
        return right_of_surest(mu, share), f"as the surest are under Gaussian noise with mu {mu:.4g}"

    def needed(self, guesses: int, total: int, level: float) -> int | None:
        """Return how many correct guesses refute the claim; None if all do not."""
        if len(self.points) == 1:
            return guesses_needed(guesses, total, *self.points[0], level)
        return curve_guesses_needed(guesses, total, self.points, level)

    def planned(self, total: int, level: float, detect: float) -> int:
        """Return about the fewest guesses that find a fault with the planned power; all if not even they do.

        Of no number of guesses that are right alike there is a better one than all; but the surest are right more
        often, and of these the fewest are asked that will do. Of a curve's fault it is known how much more often: there
        all, a half, a quarter and so on are tried for what refutes the claim most clearly.
        """

        def p_value(guesses: int, power: float) -> float:
            # As many are right with that power; of a curve its best point will do for a plan.
            right = int(scipy.stats.binom.ppf(1.0 - power, guesses, self.fault(detect, guesses / total)[0]))
            return one_run_curve_p_value(right, guesses, total, self.points, quick=True)

        if self.curve:
            return min((total >> halved for halved in range(total.bit_length())), key=lambda few: p_value(few, _LIKELY))
        if p_value(total, _PLANNED) > level:
            return total
        return least_integer(lambda few: p_value(few, _PLANNED) <= level, 0, total)


def right_by_response(epsilon: float) -> float:
    """Return the probability of a right guess that randomized response of this epsilon gives."""
    return 1.0 / (1.0 + math.exp(min(-epsilon, 700.0)))


def right_of_surest(mu: float, share: float) -> float:
    """Return how often the surest share of guesses is right of bits under Gaussian noise of deviation 1 / mu."""

    def ends(least: float) -> NDArray[np.float64]:
        return np.asarray(scipy.special.ndtr([mu / 2.0 - least, -mu / 2.0 - least]))

    least = bisected(lambda least: float(ends(least).sum()) <= share, 0.0, 40.0 + mu, absolute=1e-9)[1]
    right, wrong = ends(least)
    return float(right / (right + wrong))
