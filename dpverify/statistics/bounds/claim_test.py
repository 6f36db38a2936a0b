"""A lower bound on the privacy loss from samples of two neighbouring datasets, at every delta at once.

For any event A, the claim promises `P(A) <= e^epsilon Q(A) + delta`. Clopper-Pearson limits of a few events that hold
all at once bound the whole curve; no further correction is due for searching it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from dpverify.digits import rounded, rounded_down, typed, unrounded
from dpverify.statistics.bounds.claims import most_likely
from dpverify.statistics.bounds.intervals import lower_limit, upper_limit
from dpverify.statistics.family import AuditResult
from dpverify.statistics.outputs.events import EventCounts
from dpverify.statistics.power import smallest_detectable_epsilon
from protocols.classes.frozen import dataclass
from protocols.validation import check_integer, check_probability, check_real

__all__ = [
    "EventLimits",
    "LowerCurve",
    "claim_p_value",
    "curve_p_value",
    "event_limits",
    "lower_curve",
    "privacy_test",
    "shown_against",
    "told_against",
]

_MOST_DIGITS = 8
"""That tell what is shown from a claim: what differs in later ones alone is said to be more."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class LowerCurve:
    """A curve below the true privacy curve, but for the stated error probability.

    - p_lower, q_upper (ndarray of float64, shape (events,)): Limits of every event's probability on the dataset where
      it is likelier, and on the other; all hold at once.
    - level: The probability that some limit is wrong.
    """

    p_lower: NDArray[np.float64]
    q_upper: NDArray[np.float64]
    level: float

    def delta(self, epsilon: float) -> float:
        """Return a lower bound on the smallest delta at this epsilon, in [0, 1]."""
        check_real("epsilon", epsilon)
        return max(0.0, float(np.max(self.p_lower - math.exp(epsilon) * self.q_upper)))

    def epsilon(self, delta: float) -> float:
        """Return a lower bound on the smallest epsilon >= 0 at this delta; 0 where the samples show nothing."""
        check_probability("delta", delta)
        excess = self.p_lower - delta
        shown = excess > 0
        return max(0.0, float(np.max(np.log(excess[shown] / self.q_upper[shown]), initial=0.0)))

    def mu(self) -> float:
        """Return a lower bound on mu of Gaussian differential privacy; 0 where the samples show nothing.

        A mu-GDP mechanism has `Phi^-1(P(A)) - Phi^-1(Q(A)) <= mu` for every event A.
        """
        with np.errstate(invalid="ignore"):
            shown = scipy.special.ndtri(self.p_lower) - scipy.special.ndtri(self.q_upper)
        return max(0.0, float(np.max(shown[self.p_lower > self.q_upper], initial=0.0)))

    def renyi(self, order: float) -> float:
        """Return a lower bound on the Renyi divergence of an order above 1, in nats, of one dataset from the other.

        Of the larger of the two directions. Whether an output is in an event is computed from it, so the divergence of
        these two coins is at most that of the outputs; it grows with the distance of p from q.
        """
        check_real("order", order, low=1.0, low_open=True)
        found = [0.0]
        for p, q in zip(self.p_lower.tolist(), self.q_upper.tolist(), strict=True):
            if p > q:  # so 0 < q < 1: an upper limit is never 0
                terms = [order * math.log(p) + (1.0 - order) * math.log(q)]
                if p < 1.0:
                    terms.append(order * math.log1p(-p) + (1.0 - order) * math.log1p(-q))
                found.append(float(scipy.special.logsumexp(terms)) / (order - 1.0))
        return max(found)


@dataclass(frozen=True)
class EventLimits:
    """Limits of the probabilities of some events.

    - p_lower, q_upper (ndarray, shape (events,)): On the input where the event is likelier, and on the other one: what
      the event shows at least. They hold all at once but for probability `level`.
    - p_upper, q_lower (ndarray, shape (events,)): What it shows at most, with an error probability of their own.
    - level: Of the former.
    """

    p_lower: NDArray[np.float64]
    p_upper: NDArray[np.float64]
    q_lower: NDArray[np.float64]
    q_upper: NDArray[np.float64]
    level: float

    def __add__(self, other: EventLimits) -> EventLimits:
        """Return the limits of more events, which hold together."""
        a, b, c, d = (np.concatenate(pair) for pair in zip(self._sides, other._sides, strict=True))
        return EventLimits(a, b, c, d, max(self.level, other.level))

    @property
    def _sides(self) -> tuple[NDArray[np.float64], ...]:
        return self.p_lower, self.p_upper, self.q_lower, self.q_upper

    @property
    def complements(self) -> EventLimits:
        """The limits of the events' complements, which are likelier on the other input: the same, so at no price."""
        return EventLimits(1.0 - self.q_upper, 1.0 - self.q_lower, 1.0 - self.p_upper, 1.0 - self.p_lower, self.level)

    @property
    def lower(self) -> LowerCurve:
        """A curve below the true privacy curve."""
        return LowerCurve(self.p_lower, self.q_upper, self.level)

    def part(self, places: slice) -> EventLimits:
        """Return the limits of some of the events."""
        a, b, c, d = (side[places] for side in self._sides)
        return EventLimits(a, b, c, d, self.level)

    def likeliest(self, places: NDArray[np.intp]) -> float:
        """Return up to which probability some of the events may be, on the input where they are likelier."""
        return float(self.p_upper[places].max(initial=0.0))

    def epsilon_lower(self, delta: float) -> NDArray[np.float64]:
        """Return, per event, the least epsilon that it shows at delta; -inf where it shows none."""
        excess = self.p_lower - delta
        return np.where(excess > 0, np.log(np.maximum(excess, 1e-300) / self.q_upper), -np.inf)

    def epsilon_upper(self, delta: float) -> NDArray[np.float64]:
        """Return, per event, the largest epsilon that it may show at delta: `ln((p - delta) / q)` within the limits.

        It is 0 where even p is at most delta, and inf where q may be 0. It says nothing about other events.
        """
        excess = np.maximum(self.p_upper - delta, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            loss = np.log(excess / self.q_lower)
        return np.where(excess > 0, np.maximum(loss, 0.0), 0.0)

    def delta_upper(self, epsilon: float) -> NDArray[np.float64]:
        """Return, per event, the largest delta that it may show at epsilon: `p - e^epsilon q` within the limits."""
        return np.maximum(self.p_upper - math.exp(min(epsilon, 700.0)) * self.q_lower, 0.0)


def event_limits(
    in_likely: ArrayLike,
    in_other: ArrayLike,
    trials: int,
    level: float,
    shares: ArrayLike | None = None,
    *,
    upper: float | None = None,
    upper_shares: ArrayLike | None = None,
) -> EventLimits:
    """Return Clopper-Pearson limits for both probabilities of all events, by a union bound.

    - in_likely, in_other (array_like of int, shape (events,)): How many samples of each input are in the event.
    - trials: Samples per input.
    - level: In (0, 1), of the limits of what events show at least, half for each input: `claim_p_value` inverted.
    - shares (array_like, shape (events,)): Of the level, for each event, with sum 1; equal ones when omitted.
    - upper, upper_shares: The same for the limits of what they show at most; as for the others when omitted.
    """
    likely, other = np.atleast_1d(in_likely), np.atleast_1d(in_other)
    least = _each(level, shares, likely.size) / 2.0
    most = least if upper is None else _each(upper, upper_shares, likely.size) / 2.0
    return EventLimits(
        lower_limit(likely, trials, least),
        upper_limit(likely, trials, most),
        lower_limit(other, trials, most),
        upper_limit(other, trials, least),
        level,
    )


def _each(level: float, shares: ArrayLike | None, events: int) -> NDArray[np.float64]:
    """Return the level of every event."""
    each = np.full(events, 1.0 / events) if shares is None else np.asarray(shares, dtype=np.float64)
    total = math.fsum(each.ravel().tolist())
    if each.shape != (events,) or (each <= 0).any() or abs(total - 1.0) > 1e-9:
        raise ValueError(f"shares must be {events} positive numbers with sum 1.")
    return np.asarray(level * each / max(1.0, total))


def lower_curve(counts: EventCounts, level: float) -> LowerCurve:
    """Return the lower curve of counted samples of two neighbouring datasets.

    - counts: Of independent outputs, and of events that were fixed without looking at them.
    - level: The error probability, shared evenly among all limits of all events.
    """
    check_real("level", level, low=0.0, high=1.0, low_open=True, high_open=True)
    each = level / (2 * counts.events.distinct)
    limits = lower_limit(counts.likely, counts.trials, each), upper_limit(counts.other, counts.trials, each)
    return LowerCurve(*limits, level)


def shown_against(lower: float, epsilon: float, delta: float, *, refuted: bool) -> tuple[float, str]:
    """Return a lower end and its sentence, neither of which contradicts whether the claim is refuted.

    The p-value and the lower end are one statement, that the limits of an event refute a claim, solved for the level
    and for epsilon. So they agree but for rounding, which is taken out here: that more than epsilon is shown follows
    from the p-value.

    - lower: Of the limits at the level of the test.
    - epsilon, delta: The claim.
    - refuted: Whether the p-value is at most the level.
    """
    lower = max(lower, epsilon) if refuted else min(lower, epsilon)
    return lower, told_against("epsilon", lower, epsilon, f" at delta {typed(delta)}", refuted=refuted)


def told_against(unit: str, lower: float, claimed: float, where: str = "", *, refuted: bool) -> str:
    """Return what is shown of a claim, in as many digits as tell the two apart, or as more than what is claimed."""
    for digits in range(4, _MOST_DIGITS + 1):
        least, stated = rounded_down(lower, digits), rounded(claimed, digits)
        if not refuted or float(least) > float(stated):
            return f"{unit} >= {least}{where}, claimed {stated}"
    return f"{unit} > {unrounded(claimed)}{where}, the claim"


def claim_p_value(
    in_likely: ArrayLike, in_other: ArrayLike, trials: int, epsilon: float, delta: float, *, share: float = 0.5
) -> NDArray[np.float64]:
    """Return the smallest level at which the Clopper-Pearson limits of an event refute (epsilon, delta).

    It is `sup over q of min(P(X >= x) / share, P(Y <= y) / (1 - share))` with X ~ Bin(trials, e^epsilon q + delta) and
    Y ~ Bin(trials, q): the first grows with q and the second falls, so the supremum is where they meet.

    - in_likely, in_other (array_like of int, shape (...)): How many samples of each dataset are in the event.
    - trials: Samples per dataset.
    - epsilon, delta: The claim.
    - share: The part of the level that is spent on the likelier dataset.
    """
    check_probability("delta", delta)
    grown = math.exp(check_real("epsilon", epsilon, low=0.0))
    return _limits_p_value(in_likely, in_other, trials, share, lambda q: np.minimum(1.0, grown * q + delta))


def curve_p_value(
    in_likely: ArrayLike, in_other: ArrayLike, trials: int, points: Sequence[tuple[float, float]], *, share: float = 0.5
) -> NDArray[np.float64]:
    """Return the smallest level at which the limits of an event, or of its complement, refute some (epsilon, delta).

    The limits are those of `claim_p_value`, which all hold at once: so no price is due for trying every point.

    - points: What is claimed to hold at once, in both directions.
    - in_likely, in_other, trials, share: See `claim_p_value`.
    """
    return _limits_p_value(in_likely, in_other, trials, share, lambda q: most_likely(points, q))


def _limits_p_value(
    in_likely: ArrayLike, in_other: ArrayLike, trials: int, share: float, most: Callable[[Floats], Floats]
) -> Floats:
    """Return the p-value of the claim that an event of probability q has at most `most(q)`, which grows with q."""
    check_integer("trials", trials, low=1)
    check_real("share", share, low=0.0, high=1.0, low_open=True, high_open=True)
    x, y = (np.asarray(counts, dtype=np.float64) for counts in (in_likely, in_other))

    def above(q: Floats) -> Floats:
        return np.where(x == 0, 1.0, scipy.special.betainc(np.maximum(x, 1.0), trials - x + 1.0, most(q))) / share

    def below(q: Floats) -> Floats:
        return np.where(y == trials, 1.0, scipy.special.betaincc(y + 1.0, np.maximum(trials - y, 1.0), q)) / (
            1.0 - share
        )

    low, high = np.zeros(np.broadcast(x, y).shape), np.ones(np.broadcast(x, y).shape)
    for _ in range(48):
        middle = (low + high) / 2.0
        grows = above(middle) < below(middle)
        low, high = np.where(grows, middle, low), np.where(grows, high, middle)
    # An upper bound of the supremum from the two ends of the last bracket.
    return np.minimum(1.0, np.maximum(np.minimum(above(high), below(low)), 0.0))


def privacy_test(
    counts: EventCounts,
    claims: Sequence[tuple[float, float]],
    *,
    level: float,
    power: float = 0.95,
    check: str = "privacy",
) -> AuditResult:
    """Test a claimed privacy curve on counted samples of two neighbouring datasets, both directions.

    Its fault is the smallest event beyond the first claim that is found with the wanted power; without power where no
    event is.

    - counts: Of independent outputs on the two datasets.
    - claims: One claim, or points of a claimed curve: all are tested by the same limits, at no further price.
    - level: Of the lower bound, the power and the verdict: the part of the family's level that this test has.
    - power: Of the fault.
    - check: The name of the result.
    """
    if not claims:
        raise ValueError("claims is empty, but must hold at least one (epsilon, delta).")
    events, trials, count = counts.events, counts.trials, counts.events.distinct
    values = [
        min(1.0, count * float(claim_p_value(counts.likely, counts.other, trials, *each).min())) for each in claims
    ]
    p_value = min(values)
    worst = claims[values.index(p_value)]
    shown = lower_curve(counts, level).epsilon(worst[1])
    lower, evidence = shown_against(shown, *worst, refuted=p_value <= level)
    epsilon, delta = claims[0]
    smallest = min(
        smallest_detectable_epsilon(p, q, epsilon, delta, trials, level / count, power=power)
        for p, q in events.expected.tolist()
    )
    found = math.isfinite(smallest)
    return AuditResult(
        check,
        p_value,
        trials,
        f"Clopper-Pearson limits of {count} distinct events, union bound; exact level",
        evidence,
        fault=f"an event of epsilon {smallest:.4g} at delta {delta:.3g}" if found else "",
        power=power if found else 0.0,
        level=level,
        details={
            "epsilon_lower": lower,
            "epsilon_claimed": worst[0],
            "delta": worst[1],
            "smallest_detectable_epsilon": smallest if found else None,
            "detection_power": power,
        },
    )
