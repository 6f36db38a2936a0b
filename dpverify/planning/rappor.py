"""From the privacy of one report, and of all together, to RAPPOR's parameters of least error.

**f.** What all reports on one value reveal is a matter of h and f alone: f is the least that keeps the limit.

**p and q.** What counts is p* and q*, the probabilities of a reported 1. With E = e^(epsilon_one / h) the odds of q*
are E times those of p*, u, and the variance of a debiased bit that is 0 is `(1 + E u)^2 / (u (E-1)^2)`: least at
u = 1/E, and convex in ln u. Of the odds that some p > 0 and q < 1 give, from `(s E - 1) / (E (1-s))` to
`(1-s) / (s E - 1)` with s = f / (2-f), it is the one next to 1/E.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar

from dpverify.claims.rappor.decoder import deviation, least_holders
from dpverify.claims.rappor.response import PermanentClaims, RapporClaims
from dpverify.formulas.contexts import FLOATS, nudged
from dpverify.formulas.protocols import rappor as formulas
from dpverify.guarantee import Interval, Number, ThreatModel, exact_number
from dpverify.shown import Drawn, Plain
from protocols.classes.frozen import dataclass
from protocols.rappor.response import PermanentResponse, Rappor
from protocols.validation import check_integer

__all__ = ["RapporPlan", "RapporRow", "plan_rappor"]

_WITHIN = 1e-6
"""How far inside the range of odds the chosen ones are, relatively, so that 0 < p and q < 1."""
_BITS_PER_CANDIDATE = 8
"""Of all cohorts: the decoder then fits all candidates together."""


@dataclass(frozen=True)
class RapporRow(Plain):
    """Parameters that keep both epsilons, for one number of hash functions.

    - protocol: For one report.
    - epsilon_one, epsilon_limit: The exact largest loss of one report, and of any number of reports on one value.
    - deviation: About the standard deviation of a rare string's estimated count.
    - least_holders: About how many users must hold a string to have it named with probability 1/2, at level 0.05.
    """

    plain_as: ClassVar[str] = "parameters=protocol epsilon_one epsilon_limit deviation least_holders"

    protocol: Rappor
    epsilon_one: Interval
    epsilon_limit: Interval
    deviation: float
    least_holders: float

    def after(self, reports: int) -> Interval:
        """Return the exact largest loss of so many reports on one value."""
        return RapporClaims().pure_epsilon(dataclasses.replace(self.protocol, reports=reports), ThreatModel.LOCAL)


@dataclass(frozen=True)
class RapporPlan(Drawn):
    """Parameters for some numbers of hash functions.

    - epsilon_one, epsilon_limit: What was asked for.
    - users, candidates: How many users there are, and strings to look for.
    - rows: By number of hash functions.
    """

    table_by: ClassVar[str] = "dpverify.report.plans.rappor:rappor_table"
    figure_by: ClassVar[str] = "dpverify.report.plans.rappor:rappor_losses"

    epsilon_one: Fraction
    epsilon_limit: Fraction
    users: int
    candidates: int
    rows: tuple[RapporRow, ...]

    @property
    def best(self) -> RapporRow:
        """The row of least error."""
        return min(self.rows, key=lambda row: row.deviation)


def plan_rappor(
    epsilon_one: Number,
    epsilon_limit: Number,
    *,
    users: int,
    candidates: int = 1000,
    bits: int = 128,
    hashes: Sequence[int] = (1, 2, 4),
) -> RapporPlan:
    """Find f, p and q of least error that keep the privacy of one report and of any number on one value.

    Parameters
    ----------
    epsilon_one : int, float, Fraction, Decimal or decimal string
        The largest loss of one report, in nats, in [1e-12, epsilon_limit).
    epsilon_limit : int, float, Fraction, Decimal or decimal string
        That of any number of reports on one value: pure differential privacy in the local model.
    users, candidates : int
        How many users report, and how many strings are looked for, each at least 1: for the error, and the number of
        cohorts, which is the least for which the decoder fits all candidates together.
    bits : int
        k, at least twice the largest number of hash functions.
    hashes : sequence of int
        The numbers of hash functions to plan for.

    Returns
    -------
    RapporPlan
        `plans`, one for each number of hash functions, and `best`, that of least error.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Examples
    --------
    >>> found = plan_rappor("1", "4", users=100_000)
    >>> best = found.best.protocol
    >>> (best.hashes, round(best.f, 4), round(best.p, 4), round(best.q, 4))
    (1, 0.2384, 0.2328, 0.5362)
    >>> found.best.after(10).upper <= 4  # reports on one value
    True
    """
    one, limit = exact_number("epsilon_one", epsilon_one), exact_number("epsilon_limit", epsilon_limit)
    if not 0 < limit <= _MOST:
        raise ValueError(f"epsilon_limit={epsilon_limit!r} must be in (0, {_MOST}].")
    if not _LEAST <= one < limit:
        raise ValueError(f"epsilon_one={epsilon_one!r} must be in [{_LEAST}, epsilon_limit={epsilon_limit!r}).")
    check_integer("users", users, low=1)
    check_integer("candidates", candidates, low=1)
    if not hashes:
        raise ValueError("hashes is empty, but must hold at least one number.")
    for number in hashes:
        check_integer("hashes", number, low=1)
    if check_integer("bits", bits, low=2) < 2 * max(hashes):
        raise ValueError(f"bits={bits!r} must be at least {2 * max(hashes)}, twice as many as hashes={max(hashes)}.")
    cohorts = -(-_BITS_PER_CANDIDATE * candidates // bits)
    if one > _MOST_OF_ONE * min(hashes):
        raise ValueError(f"epsilon_one={epsilon_one!r} must be at most {_MOST_OF_ONE} for each hash function.")
    rows = []
    for number in hashes:
        protocol = _planned(one, limit, bits, number, cohorts)
        kept = PermanentResponse(bits, number, cohorts, f=protocol.f)
        rows.append(
            RapporRow(
                protocol,
                RapporClaims().pure_epsilon(protocol, ThreatModel.LOCAL),
                PermanentClaims().pure_epsilon(kept, ThreatModel.LOCAL),
                deviation(protocol, users),
                least_holders(protocol, users, candidates),
            )
        )
    return RapporPlan(one, limit, users, candidates, tuple(rows))


_LEAST = 1e-12
"""For a smaller epsilon p and q are next to the same float."""
_MOST_OF_ONE = 700
"""Beyond that e^epsilon is no float."""
_MOST = 1000
"""Beyond such an epsilon f, which is about e^(-epsilon / 2h), nears the smallest floats."""


def _planned(one: Fraction, limit: Fraction, bits: int, hashes: int, cohorts: int) -> Rappor:
    def keeps_limit(f: float) -> bool:
        kept = PermanentResponse(bits, hashes, cohorts, f=f)
        return PermanentClaims().pure_epsilon(kept, ThreatModel.LOCAL).upper <= limit

    f = nudged(keeps_limit, float(formulas.flip_parameter(FLOATS, float(limit) / (2 * hashes))), 1.0)
    zero, chance = _reported(math.exp(float(one) / hashes), f / (2.0 - f))
    p, q = (((1.0 - 0.5 * f) * a - 0.5 * f * b) / (1.0 - f) for a, b in ((zero, chance), (chance, zero)))
    if not 0.0 < p < q < 1.0:
        raise ValueError(
            f"epsilon_one={float(one)!r} must be smaller for epsilon_limit={float(limit)!r} and hashes={hashes}, as no "
            "floats p and q in (0, 1) are left."
        )

    def keeps_one(tried: float) -> bool:
        made = Rappor(bits, hashes, cohorts, f=f, p=p, q=tried)
        return RapporClaims().pure_epsilon(made, ThreatModel.LOCAL).upper <= one

    return Rappor(bits, hashes, cohorts, f=f, p=p, q=nudged(keeps_one, q, p))


def _reported(ratio: float, kept: float) -> tuple[float, float]:
    """Return p* and q* of least variance, of odds this ratio apart, where a kept bit's own ratio is 1 / kept^2."""
    odds = 1.0 / ratio
    beyond = kept * ratio - 1.0
    if beyond > 0.0:
        low, high = beyond / (ratio * (1.0 - kept)), (1.0 - kept) / beyond
        inside = low * (high / low) ** _WITHIN, high * (low / high) ** _WITHIN
        odds = min(max(odds, inside[0]), inside[1])
    return odds / (1.0 + odds), ratio * odds / (1.0 + ratio * odds)
