"""What is true of the privacy of `protocols.vector_sum`; the proofs are in docs/vector_sums.md.

One report from a block of b coordinates has the divergence of a single coordinate that everyone reports, attained by
neighbours that differ in all coordinates. With `stratified` sampling, and where all coordinates are reported, the
composition of t of them is exact; for a uniform t-subset, 1 < t < d, it is an upper bound, at the number of other users
who report one coordinate of a block only.
"""

from __future__ import annotations

import math
from dataclasses import replace

from dpverify.changes import Change, Full
from dpverify.claims.base import Families, MechanismClaims
from dpverify.claims.vector_sum.error import VectorSumError
from dpverify.claims.vector_sum.law import VectorSumLaws
from dpverify.formulas.contexts import FLOATS, arb_context, enclosure
from dpverify.formulas.protocols import vector_sum as formulas
from dpverify.guarantee import (
    Adjacency,
    Budget,
    BudgetLike,
    Guarantee,
    InfeasibleBudgetError,
    Interval,
    PrivacyCurve,
    Side,
    ThreatModel,
)
from dpverify.laws import noise as laws
from dpverify.papers.entries import stated
from dpverify.privacy_loss.composing.bounds import BestCurve, LargestLossCurve, times
from dpverify.privacy_loss.composing.family import FamilyComposition
from dpverify.privacy_loss.losses.blanket import report_in_blanket, report_in_view
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.losses.pairs import binomial_randomized_response
from dpverify.rounding import sum_above
from dpverify.search import smallest
from protocols.validation import check_real
from protocols.vector_sum import VectorSum

__all__ = ["VectorSumClaims"]

_SHORTAGE = 1e-14
"""Probability that some sampled coordinate has fewer other users than is counted on."""
_TAIL_SHARE = 1e-16
"""Of that: the probability that a pair leaves out."""
_TAIL = _TAIL_SHARE * _SHORTAGE
_SHORTAGE_SHARE = 1e-8
"""Of delta, at most, whatever that is."""
_LEAST_SHORTAGE = 1e-270
"""Less leaves no room above the smallest floats for what a pair leaves out."""
_LARGEST_GAMMA = 1.0 - 1e-6


def _allowed(shortage: float) -> float:
    """Return the shortage that is counted with where this one is small enough."""
    return max(min(_SHORTAGE, shortage), _LEAST_SHORTAGE)


class _ReportsCurve:
    """The curve of composed reports, but for a probability with which it may be another."""

    def __init__(self, reports: FamilyComposition, attained: bool, shortage: float) -> None:
        self._reports, self._attained, self._shortage = reports, attained, shortage

    def delta(self, epsilon: float) -> Interval:
        found = self._reports.delta(epsilon)
        upper = min(1.0, (found.upper + self._shortage) * (1.0 + 1e-15)) if self._shortage else found.upper
        return Interval(found.lower if self._attained else 0.0, upper)

    def epsilon(self, delta: float) -> Interval:
        left = (delta - self._shortage) * (1.0 - 1e-15) if self._shortage else delta
        upper = self._reports.epsilon(left, quick=True).upper if left > 0.0 else math.inf
        return Interval.proved(self._reports.epsilon(delta).lower if self._attained else 0.0, upper)


class VectorSumClaims(VectorSumError, VectorSumLaws, MechanismClaims[VectorSum]):
    """The twin of `VectorSum`."""

    name = "vector-sum"
    protocol = VectorSum
    noise = "blanket_probability"
    audited_as = "dpverify.audit.subjects.vector_sum:vector_sum_subject"
    theorems = stated("scott2022/vector_sum", "vector_sum")
    pure = True

    # ------------------------------------------------------------------ privacy

    @staticmethod
    def _hidden(protocol: VectorSum) -> bool:
        """Return whether the reports are independent, so that the sampled coordinates need not be revealed."""
        return protocol.stratified or protocol.sampled in (1, protocol.dimension)

    def _others(self, protocol: VectorSum, shortage: float = _SHORTAGE) -> tuple[int, float]:
        """Return how many others report along with one report, and the probability that some report has fewer."""
        if self._hidden(protocol):
            return protocol.users - 1, 0.0
        reporting = laws.binomial(protocol.users - 1, self._alone(protocol), shortage / protocol.sampled)
        return reporting.start, protocol.sampled * reporting.tail_below * (1.0 + 1e-15)

    @staticmethod
    def _alone(protocol: VectorSum) -> float:
        """Return how likely another user's report hides one of a user's, rounded down, 1 < t < d.

        That is the least P(she reports exactly one coordinate of a block), for blocks as even as t of them can be: for
        one of b coordinates t b / d, that one is reported, times that then none of the other b - 1 is. Or t/d, where
        the sampled set is revealed, if that is more. Fewer others reveal more, so that too small a probability is safe.
        """
        d, t = protocol.dimension, protocol.sampled
        least = 1.0
        for size in {d // t, -(-d // t)}:
            alone = size * t / d
            for other in range(size - 1):
                alone *= (d - t - other) / (d - 1 - other)
            least = min(least, alone * (1.0 - (3 * size + 3) * 2.0**-52))
        return max(least, t / d * (1.0 - 2.0**-52))

    @staticmethod
    def _report(protocol: VectorSum) -> tuple[float, float, float]:
        """Return P(another reports one of two given values at random), P(a report is right), P(a given wrong one)."""
        swapped = protocol.blanket_probability / (protocol.levels + 1)
        return 2.0 * swapped, 1.0 - protocol.blanket_probability + swapped, swapped

    @staticmethod
    def _elsewhere(protocol: VectorSum) -> float:
        """Return P(a report is neither of two given values): as what the others leave it would lose its digits."""
        return (protocol.levels - 1) * (protocol.blanket_probability / (protocol.levels + 1))

    def dominating_pair(self, protocol: VectorSum, shortage: float = _SHORTAGE) -> PrivacyLossDistribution:
        """Return a pair that dominates one report's, for every dataset and both directions.

        - shortage: For a uniform subset: the probability, about, with which some report of a user may be hidden by
          fewer others than the pair says. Far less than that is what the pair leaves out.

        Raises ValueError if `blanket_probability` is 0: there is no privacy.
        """
        check_real("blanket_probability", protocol.blanket_probability, low=0.0, low_open=True)
        others, _ = self._others(protocol, shortage)
        tail = _TAIL_SHARE * shortage
        return report_in_blanket(others, *self._report(protocol), tail, elsewhere=self._elsewhere(protocol))

    def attained_pairs(self, protocol: VectorSum) -> tuple[PrivacyLossDistribution, ...]:
        """Return pairs of one report that some dataset attains, the same in every report; empty where none is known.

        For k >= 2 all other users hold a third value in every coordinate. For k = 1 they hold one neighbour's vector,
        and the view is that of randomized response with flip probability gamma / 2. None is known for a uniform subset
        of 1 < t < d coordinates.
        """
        if not self._hidden(protocol):
            return ()
        if protocol.levels == 1:
            return tuple(binomial_randomized_response(protocol.users, protocol.blanket_probability / 2.0, _TAIL))
        return (report_in_view(protocol.users - 1, *self._report(protocol), elsewhere=self._elsewhere(protocol)),)

    def delta(self, protocol: VectorSum, epsilon: float) -> Interval:
        """Return the least delta at epsilon, over all datasets, as a proved interval.

        Replace-one adjacency, communication-threat model. The lower end is 0 for a uniform subset, 1 < t < d.
        """
        return self.curve(protocol, Full(1), ThreatModel.COMMUNICATION).delta(epsilon)

    def curve(
        self,
        protocol: VectorSum,
        changes: Change,
        threat_model: ThreatModel,
        reference_delta: float = 1e-6,
        **accuracy: float,
    ) -> BestCurve:
        """Return the privacy curve of many runs: of t reports each, with a lower end of 0 for a uniform subset."""
        runs = self.in_full(changes)

        def exact() -> PrivacyCurve:
            most = _allowed(_SHORTAGE_SHARE * reference_delta / runs)
            pair, attained = self.dominating_pair(protocol, most), self.attained_pairs(protocol)
            accuracy["reference_delta"] = reference_delta
            reports = FamilyComposition([pair], runs * protocol.sampled, attained=attained or None, **accuracy)
            return _ReportsCurve(reports, bool(attained), runs * self._others(protocol, most)[1])

        return BestCurve(LargestLossCurve(self.pure_epsilon(protocol, threat_model), changes), exact)

    def families(self, protocol: VectorSum, threat_model: ThreatModel, tail: float, *, loose: bool = False) -> Families:
        """Return the family of a report, as often as a user sends one.

        With a probability s some report is hidden by fewer others: by joint convexity that is an infinite loss of mass
        s. Each of t reports is charged `s (1 + s) / t` of it: all together meet it with at least s, as
        `1 - e^-x >= x - x^2 / 2` and `(1 + s)^2 <= 2`.
        """
        least = _allowed(tail)
        pair, (_, shortage) = self.dominating_pair(protocol, least), self._others(protocol, least)
        share = shortage * (1.0 + shortage) / protocol.sampled * (1.0 + 1e-15)
        family = ((replace(pair, missing_mass=sum_above(pair.missing_mass, share)),), self.attained_pairs(protocol))
        return (family,) * protocol.sampled

    def pure_epsilon(self, protocol: VectorSum, threat_model: ThreatModel) -> Interval:
        """Return the largest loss: t times the logarithm of P(a report is right) / P(it is a given wrong value).

        Attained where all users hold one neighbour's vector, and report all of it right in the same coordinates.
        """
        if protocol.blanket_probability == 0.0:
            return Interval(math.inf, math.inf)
        with arb_context() as ctx:
            gamma = ctx.convert(protocol.blanket_probability)
            one = enclosure(ctx.log1p((1 - gamma) * (protocol.levels + 1) / gamma))
        return times(protocol.sampled, one)

    def note(self, protocol: VectorSum, threat_model: ThreatModel) -> str:
        """Return which datasets attain the lower end."""
        if not self._hidden(protocol):
            return "which blocks her coordinates come from counts as revealed; no dataset is known for the lower end"
        others = "hold one neighbour's vector" if protocol.levels == 1 else "hold a third value in every coordinate"
        return f"attained by neighbours that differ in all coordinates, where all other users {others}"

    def guarantee(self, protocol: VectorSum, epsilon: float) -> Guarantee:
        """Return the proved (epsilon, delta) guarantee at this epsilon."""
        return Guarantee(
            epsilon,
            min(1.0, self.delta_upper(protocol, epsilon)),
            Adjacency.REPLACE_ONE,
            ThreatModel.COMMUNICATION,
            Side.UPPER_BOUND,
            "blanket of random reports, composed over the reports of a user",
            "dpverify.claims.vector_sum.privacy",
        )

    def delta_upper(self, protocol: VectorSum, epsilon: float, reference_delta: float = 1e-6) -> float:
        """Return only the upper end of `delta`, with the numerical accuracy that calibration needs."""
        most = _allowed(_SHORTAGE_SHARE * reference_delta)
        pair = self.dominating_pair(protocol, most)
        if protocol.sampled == 1:
            return pair.delta(epsilon).upper
        _, shortage = self._others(protocol, most)
        family = FamilyComposition([pair], protocol.sampled, relative_width=1e-3, reference_delta=reference_delta)
        return sum_above(family.delta(epsilon).upper, shortage)

    def revealed_delta(self, protocol: VectorSum, epsilon: float) -> float:
        """Return an upper bound on the delta of scott2022's view of one report: its coordinate and that it is true.

        `H_eps` of (N + 1, N') against (N, N' + 1), where N, N' count the random reports of two values of a coordinate:
        what Lemma 4.5 bounds. The user's own randomness counts for nothing here.
        """
        share = protocol.sampled / protocol.dimension
        cover, _, _ = self._report(protocol)
        return report_in_blanket(protocol.users - 1, cover * share, 1.0, 0.0, _TAIL).delta(epsilon).upper

    def messages_per_user(self, protocol: VectorSum) -> float:
        """Return the number of messages of every user, t."""
        return float(protocol.sampled)

    def bits_per_message(self, protocol: VectorSum) -> int:
        """Return the bits of a (coordinate, value)."""
        return max(1, (protocol.dimension * (protocol.levels + 1) - 1).bit_length())

    # ------------------------------------------------------------------ parameters

    def published(
        self, users: int, dimension: int, levels: int, epsilon: float, delta: float, *, sampled: int = 1
    ) -> VectorSum:
        """Return the protocol with the published gamma: the refined one for t = 1, Theorem 4.1 otherwise.

        Raises FormulaRangeError where the formula has no meaning, gamma > 1 above all.
        """
        if sampled == 1:
            gamma = formulas.gamma_refined(FLOATS, epsilon, delta, dimension, levels, users)
        else:
            gamma = formulas.gamma_theorem(FLOATS, epsilon, delta, dimension, levels, users, sampled)
        return VectorSum(users, dimension, levels, float(gamma), sampled)

    def least_blanket(
        self,
        users: int,
        dimension: int,
        levels: int,
        budget: BudgetLike,
        *,
        sampled: int = 1,
        stratified: bool = False,
        centre: float = 0.0,
        tolerance: float = 1e-3,
    ) -> VectorSum:
        """Return the protocol with the least gamma, within a relative tolerance, that meets the budget.

        Raises InfeasibleBudgetError if gamma would have to be so close to 1 that the reports carry no information.
        """
        budget = Budget.of(budget)
        epsilon, delta = budget.epsilon, check_real("delta", budget.delta, low=0.0, low_open=True)

        def at(gamma: float) -> VectorSum:
            return VectorSum(users, dimension, levels, gamma, sampled, stratified, centre)

        def meets(gamma: float) -> bool:
            return self.delta_upper(at(gamma), epsilon, min(delta, 0.1)) <= delta

        # The losses are about normal, of variance 2 t / c for c random reports of each value.
        hidden = stratified or sampled in (1, dimension)
        crowd = max(users - 1, 1) * (1.0 if hidden else self._alone(at(0.5)))
        guess = (levels + 1) * 4.0 * sampled * (math.log(1.0 / delta) + 1.0) / (epsilon * epsilon * crowd)
        found = smallest(meets, min(guess, 0.5), _LARGEST_GAMMA, tolerance)
        if found is None:
            raise InfeasibleBudgetError(
                f"the budget {budget} needs blanket_probability above {_LARGEST_GAMMA} with users={users}, "
                f"levels={levels}, sampled={sampled}: the reports would carry no information."
            )
        return at(found)

    def least_error(
        self,
        users: int,
        dimension: int,
        budget: BudgetLike,
        *,
        sampled: tuple[int, ...] | None = None,
        stratified: bool = True,
        centre: float = 0.5,
        most_levels: int = 64,
    ) -> VectorSum:
        """Return the protocol of least `worst_mse` over k and t, each with its least gamma.

        For each t the levels grow from 1 until the error does: it has one minimum wherever it was looked at.

        - users, dimension: n and d.
        - budget: epsilon and delta > 0.
        - sampled: The t to try; 1, 2, 4, ..., d when omitted.
        - stratified, centre: As in `VectorSum`.
        - most_levels: The largest k to try.

        Raises InfeasibleBudgetError if none meets the budget.
        """
        budget = Budget.of(budget)
        tried = sampled or (*(2**i for i in range(dimension.bit_length()) if 2**i < dimension), dimension)
        best: tuple[float, VectorSum] | None = None
        for t in tried:
            last = math.inf
            for levels in range(1, most_levels + 1):
                try:
                    made = self.least_blanket(
                        users, dimension, levels, budget, sampled=t, stratified=stratified, centre=centre
                    )
                except InfeasibleBudgetError:
                    break
                error = self.worst_mse(made)
                if best is None or error < best[0]:
                    best = error, made
                if error > last:
                    break
                last = error
        if best is None:
            raise InfeasibleBudgetError(f"the budget {budget} cannot be met with users={users}, dimension={dimension}.")
        return best[1]
