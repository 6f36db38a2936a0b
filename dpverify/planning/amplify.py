"""Amplification by shuffling: from a local mechanism and a number of users to epsilon, and back."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import field
from typing import Any, ClassVar

from dpverify.changes import Full
from dpverify.digits import typed
from dpverify.formulas.amplification import CLOSED_CLONES, closed_clones
from dpverify.formulas.contexts import arb_context, enclosure
from dpverify.guarantee import (
    InfeasibleBudgetError,
    Interval,
    Number,
    PrivacyCurve,
    ThreatModel,
    enclosing_floats,
    exact_number,
)
from dpverify.privacy_loss.shuffling import amplification
from dpverify.privacy_loss.shuffling.amplified_curve import Amplification
from dpverify.privacy_loss.shuffling.noisy_reports import noisy_reports
from dpverify.rounding import UNIT
from dpverify.search import bisected
from dpverify.shown import Drawn
from protocols.classes.frozen import dataclass
from protocols.validation import check_choice, check_integer, check_probability, check_real

__all__ = ["RANDOMIZERS", "Amplified", "amplify", "largest_epsilon0"]

RANDOMIZERS = ("any", "adaptive", "k-rr", "laplace", "gaussian")
"""Every mechanism that all users run; also one that depends on earlier reports; and three mechanisms."""

_COVERED = {
    "any": "every mechanism of the class, and every dataset",
    "adaptive": "every mechanism of the class, also as earlier reports decide on it, and every dataset",
    "k-rr": "every dataset",
    "laplace": "inputs anywhere in [0, 1], hers and all others'",
    "gaussian": "inputs anywhere in [0, 1], hers and all others'",
}

_TAIL = 1e-4
"""Of delta: what noise on the line may leave out."""
_LEAST_TAIL = 1e-280
_LEAST_BINARY, _MOST_BINARY = 1e-6, 30.0
"""Where binary randomized response is accounted for by its exact law: elsewhere little is to be gained."""


@dataclass(frozen=True)
class Amplified(Drawn):
    """What shuffling gives one user, for replaced inputs and an adversary who sees the shuffled reports.

    - randomizer: One of the `RANDOMIZERS`.
    - parameters: Those of the randomizer, by name.
    - users: n: how many take part and follow the protocol.
    - rounds: In how many all of them report afresh; the inputs of each may differ.
    - delta: At which epsilon is given.
    - epsilon: Its upper end holds for all that is `covered`; its lower end is attained by a mechanism and a dataset.
    - index: The shuffle indices: an estimate, of the first order.
    - published: What sources give at these parameters: a float, or the reason why they do not.
    - curve: The whole curve.
    """

    table_by: ClassVar[str] = "dpverify.report.plans.amplification:amplified_table"
    figure_by: ClassVar[str] = "dpverify.report.plans.amplification:amplified_curve"
    plain_as: ClassVar[str] = (
        "randomizer parameters users rounds delta=_typed epsilon shuffle_index=index published "
        "covered adjacency threat_model"
    )

    randomizer: str
    parameters: dict[str, float]
    users: int
    rounds: int
    delta: float
    epsilon: Interval
    index: Interval
    published: dict[str, float | str]
    curve: PrivacyCurve = field(repr=False, compare=False)

    adjacency: ClassVar[str] = "replace-one"
    threat_model: ClassVar[str] = "communication"

    @property
    def covered(self) -> str:
        """For what the upper end holds."""
        return _COVERED[self.randomizer]

    @property
    def _typed(self) -> float:
        return float(typed(self.delta))


def _needed(name: str, value: Any, randomizer: str) -> Any:
    if value is None:
        raise ValueError(f"{name}=None must be given for the randomizer {randomizer!r}.")
    return value


def _curve(
    randomizer: str,
    users: int,
    delta: float,
    epsilon0: float | None,
    delta0: float,
    classes: int | None,
    sigma: float | None,
) -> tuple[Amplification, dict[str, float]]:
    if randomizer != "any" and delta0 > 0.0:
        raise ValueError(
            f"delta0={delta0!r} must be 0 for the randomizer {randomizer!r}: only 'any' takes another one."
        )
    for name, value, taken in (
        ("epsilon0", epsilon0, randomizer != "gaussian"),
        ("classes", classes, randomizer == "k-rr"),
        ("sigma", sigma, randomizer == "gaussian"),
    ):
        if value is not None and not taken:
            raise ValueError(f"{name}={value!r} must not be given for the randomizer {randomizer!r}.")
    tail = max(delta * _TAIL, _LEAST_TAIL)
    if randomizer == "gaussian":
        sigma = check_real("sigma", _needed("sigma", sigma, randomizer), low=0.05, high=500.0)
        return noisy_reports(sigma * math.sqrt(2.0), 2.0, users, tail=tail), {"sigma": sigma}
    epsilon0 = check_real("epsilon0", _needed("epsilon0", epsilon0, randomizer), low=1e-12, high=300.0)
    if randomizer == "laplace":
        check_real("epsilon0", epsilon0, low=1e-3, high=100.0)
        curve = noisy_reports(1.0 / epsilon0, 1.0, users, tail=tail)
    elif randomizer == "k-rr":
        classes = 3 if classes is None else classes
        matrix = amplification.merged_response(epsilon0, classes)
        return amplification.reports(matrix, users), {"epsilon0": epsilon0, "classes": classes}
    elif randomizer == "adaptive":
        curve = amplification.adaptive(epsilon0, users)
    elif delta0 > 0.0:
        curve = amplification.approximate(epsilon0, delta0, users)
        return curve, {"epsilon0": epsilon0, "delta0": delta0}
    else:
        curve = amplification.pure(epsilon0, users)
    return curve, {"epsilon0": epsilon0}


def _repeated(one: Amplification, rounds: int, delta: float) -> PrivacyCurve:
    # Imported here, as below: one round of any mechanism needs no composition.
    from dpverify.privacy_loss.shuffling.repeated_amplification import RepeatedAmplification

    return RepeatedAmplification(one, rounds, reference_delta=delta)


def _binary(epsilon0: float, users: int, rounds: int, delta: float) -> PrivacyCurve:
    """Return the curve of binary randomized response, which is exact up to the covers of all datasets."""
    from dpverify.claims.bitsum.randomized_response import RandomizedResponseClaims
    from dpverify.privacy_loss.composing.bounds import BetweenCurves
    from protocols.bitsum.randomized_response import RandomizedResponse

    flip = 1.0 / (1.0 + math.exp(epsilon0))
    claims = RandomizedResponseClaims()
    # The flip probability is no float: less is less private.
    less, more = (
        claims.curve(
            RandomizedResponse(users, flip * factor),
            Full(rounds),
            ThreatModel.COMMUNICATION,
            relative_width=1e-4,
            reference_delta=delta,
        )
        for factor in (1.0 - 8.0 * UNIT, 1.0 + 8.0 * UNIT)
    )
    return BetweenCurves(less, more)


def _published(epsilon0: float, users: int, delta: float) -> dict[str, float | str]:
    """Return the closed bound, or which of its conditions fails, and its numerical version."""
    failed = [condition.statement for condition in CLOSED_CLONES if not condition.holds(epsilon0, users, delta)]
    closed: float | str = f"epsilon0={epsilon0:g} is outside of its hypothesis: {failed[0]}." if failed else ""
    if not failed:
        with arb_context() as ctx:
            closed = enclosure(closed_clones(ctx, epsilon0, users, delta)).upper
    return {
        "closed clone bound (feldman2021, Theorem 3.1)": closed,
        "clones (feldman2021), numerically": amplification.clones(epsilon0, users).epsilon_upper(delta),
    }


def amplify(
    randomizer: str = "any",
    *,
    users: int,
    delta: Number,
    epsilon0: float | None = None,
    delta0: float = 0.0,
    classes: int | None = None,
    sigma: float | None = None,
    rounds: int = 1,
) -> Amplified:
    """Return what shuffling the reports of a local mechanism gives.

    Parameters
    ----------
    randomizer : str
        "any": every (epsilon0, delta0)-LDP mechanism that all users run. "adaptive": they come in random order, and the
        mechanism of each may depend on earlier reports. "k-rr": k-ary randomized response. "laplace": values in [0, 1]
        with Laplace noise of scale 1 / epsilon0. "gaussian": values in [0, 1] with normal noise.
    users : int
        n, at least 1: how many take part and follow the protocol.
    delta : int, float, Fraction, Decimal or decimal string
        In (0, 1).
    epsilon0 : float, optional
        The privacy of one report, in nats, in [1e-12, 300] ("laplace": [0.001, 100]); for all but "gaussian".
    delta0 : float
        In [0, 1), for "any" only.
    classes : int, optional
        k, at least 2, for "k-rr": 3 when omitted.
    sigma : float, optional
        The standard deviation of the noise, in [0.05, 500], for "gaussian".
    rounds : int
        At least 1: in each all users report afresh.

    Returns
    -------
    Amplified
        The interval of epsilon, and what proves its ends.

    Raises
    ------
    TypeError, ValueError
        For an argument out of range or missing.
    CapacityError
        If there are more than 2^52 users.

    Examples
    --------
    >>> print(amplify(epsilon0=4, users=100_000, delta="1e-6").epsilon)
    [0.117024, 0.118154]
    """
    check_choice("randomizer", randomizer, RANDOMIZERS)
    check_integer("users", users, low=1)
    exact = exact_number("delta", delta)
    if not 0 < exact < 1:
        raise ValueError(f"delta={delta!r} must be in (0, 1).")
    at, above = enclosing_floats(exact)
    check_probability("delta0", delta0, high_open=True)
    if epsilon0 is not None:
        epsilon0 = float(epsilon0)
    check_integer("rounds", rounds, low=1)
    one, parameters = _curve(randomizer, users, at, epsilon0, delta0, classes, sigma)
    curve: PrivacyCurve = one if rounds == 1 else _repeated(one, rounds, at)
    if parameters.get("classes") == 2 and _LEAST_BINARY <= parameters["epsilon0"] <= _MOST_BINARY:
        curve = _binary(parameters["epsilon0"], users, rounds, at)
    found = curve.epsilon(at)
    # A lower bound at a delta that is no float holds at the next one.
    lower = found.lower
    if above > at:
        above = min(above, math.nextafter(1.0, 0.0))
        lower = one.epsilon_lower(above) if curve is one else curve.epsilon(above).lower
    plain = rounds == 1 and delta0 == 0.0 and "epsilon0" in parameters
    return Amplified(
        randomizer=randomizer,
        parameters=parameters,
        users=users,
        rounds=rounds,
        delta=at,
        epsilon=Interval.proved(min(lower, found.upper), found.upper),
        index=one.index,
        published=_published(parameters["epsilon0"], users, at) if plain else {},
        curve=curve,
    )


def largest_epsilon0(
    epsilon: float,
    *,
    users: int,
    delta: float,
    randomizer: str = "any",
    delta0: float = 0.0,
    classes: int | None = None,
) -> Interval:
    """Return the largest epsilon0 of a local mechanism with which the shuffled reports are (epsilon, delta)-DP.

    Parameters
    ----------
    epsilon : float
        The target, in nats, positive.
    users, delta, randomizer, delta0, classes
        As for `amplify`; not "gaussian".

    Returns
    -------
    Interval
        At its lower end the target is proved to be met; at its upper end, proved to be missed (by some dataset, and
        mechanism of the class), but where that is 300, the largest that is tried.

    Raises
    ------
    InfeasibleBudgetError
        If none is found.

    Examples
    --------
    >>> found = largest_epsilon0(0.2, users=100_000, delta=1e-6)
    >>> print(f"{found.lower:.2f}")
    4.95
    """
    check_real("epsilon", epsilon, low=0.0, low_open=True)
    check_real("delta", delta, low=0.0, high=1.0, low_open=True, high_open=True)
    check_choice("randomizer", randomizer, tuple(name for name in RANDOMIZERS if name != "gaussian"))
    check_integer("users", users, low=1)

    def curve(epsilon0: float) -> Amplification:
        return _curve(randomizer, users, delta, epsilon0, delta0, classes, None)[0]

    most = 100.0 if randomizer == "laplace" else 300.0
    start = min(max(epsilon, 1e-3 if randomizer == "laplace" else 1e-9), most)
    if not curve(start).meets(epsilon, delta):
        # epsilon0 <= epsilon is enough but for what delta0 adds, and for the least scale that is tried.
        raise InfeasibleBudgetError(
            f"epsilon={epsilon!r} at delta={typed(delta)} is met by no epsilon0 that was tried."
        )
    # The leading pair decides, as a rule: the others are asked where it does.
    met = _largest(lambda epsilon0: curve(epsilon0).meets(epsilon, delta, leading=True), start, most)[0]
    if not curve(met).meets(epsilon, delta):
        met = _largest(lambda epsilon0: curve(epsilon0).meets(epsilon, delta), start, most)[0]
    missed = _largest(lambda epsilon0: curve(epsilon0).delta_lower(epsilon) <= delta, start, most)[1]
    if randomizer == "k-rr" and classes == 2 and _LEAST_BINARY <= met < missed <= _MOST_BINARY:
        met, missed = _largest_binary(epsilon, users, delta, met, missed)
    return Interval.proved(met, missed)


def _largest_binary(epsilon: float, users: int, delta: float, met: float, missed: float) -> tuple[float, float]:
    """Return what is met by the exact law of binary randomized response, from less that is, and what is missed."""

    def meets(epsilon0: float) -> bool:
        return _binary(epsilon0, users, 1, delta).delta(epsilon).upper <= delta

    # The dataset by which it is missed is next to the worst, as a rule.
    failed, share = missed, 2e-5
    while (point := missed * (1.0 - share)) > met:
        if meets(point):
            return -bisected(lambda other: meets(-other), -failed, -point, steps=2)[1], missed
        failed, share = point, 5.0 * share
    return met, missed


def _largest(meets: Callable[[float], bool], start: float, most: float) -> tuple[float, float]:
    """Return two epsilon0 next to each other, the first of which meets the target, and the second does not."""
    low, high = start, min(4.0 * start, most)
    while meets(high):
        if high == most:
            return most, most
        low, high = high, min(4.0 * high, most)
    missed, met = bisected(lambda point: meets(-point), -high, -low, absolute=1e-6 * high)
    return -met, -missed
