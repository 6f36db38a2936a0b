"""What the twin of every local mean promises, checked on the enumerated laws of a few reports."""

import itertools
import math
from typing import Any, ClassVar

import numpy as np
import pytest

from dpverify.changes import Full
from dpverify.claims.local.means import LocalMeanClaims
from dpverify.claims.registry import claims_of
from dpverify.guarantee import ThreatModel
from dpverify.planning.account import account
from protocols.local.means import LocalMean
from tests.samples import FALSE_ALARM


def alike(p: np.ndarray, q: np.ndarray) -> list[np.ndarray]:
    """Add up the outcomes of one likelihood ratio, which loses nothing: continuous reports have many cells of each."""
    either = p + q > 0.0
    p, q = p[either], q[either]
    _, groups = np.unique(np.round(p / (p + q), 12), return_inverse=True)
    return [np.bincount(groups, weights=law) for law in (p, q)]


class LocalMeanClaimsContract:
    """Inherit it, set `protocol`, and the `values` whose laws are compared."""

    protocol: ClassVar[LocalMean]
    values: ClassVar[tuple[Any, ...]]
    listed: ClassVar[bool] = True
    """Whether reports are integers."""

    @property
    def claims(self) -> LocalMeanClaims[Any]:
        found: Any = claims_of(self.protocol)
        return found

    def laws(self) -> list[np.ndarray]:
        """The laws of a report given the values, on common points."""
        laws = [self.claims.report_law(self.protocol, value) for value in self.values]
        points = np.unique(np.concatenate([law.points for law in laws]))
        return [law.probabilities(points) for law in laws]

    def test_epsilon_is_attained_by_the_first_two_inputs(self) -> None:
        first, second = self.claims.inputs(self.protocol)[:2]
        laws = [self.claims.report_law(self.protocol, value) for value in (first, second)]
        points = np.intersect1d(laws[0].points, laws[1].points)
        losses = np.log(laws[0].probabilities(points) / laws[1].probabilities(points))
        bound = self.claims.pure_epsilon(self.protocol, ThreatModel.LOCAL)
        assert bound.lower == bound.upper == self.protocol.epsilon
        assert [losses.max(), -losses.min()] == pytest.approx([self.protocol.epsilon] * 2, rel=1e-9)

    @pytest.mark.parametrize("reports", [1, 2])
    def test_no_pair_of_values_exceeds_the_curve(self, reports: int) -> None:
        curve = self.claims.curve(self.protocol, Full(reports), ThreatModel.LOCAL, reference_delta=1e-3)
        worst = dict.fromkeys((0.0, 0.3, 0.9 * self.protocol.epsilon), 0.0)
        for p, q in itertools.permutations(self.laws(), 2):
            many = alike(p, q)
            if reports == 2:
                many = [np.outer(law, law).ravel() for law in many]
            for epsilon in worst:
                exact = float(np.maximum(many[0] - math.exp(epsilon) * many[1], 0.0).sum())
                worst[epsilon] = max(worst[epsilon], exact)
        for epsilon, exact in worst.items():
            found = curve.delta(epsilon)
            assert exact <= found.upper + 1e-12
            # What the ends attain is the truth; cells of continuous reports tell a little less.
            assert found.lower <= exact + (1e-12 if self.listed else 0.005)

    def test_reports_follow_their_law(self) -> None:
        rng = np.random.default_rng(31)
        for value in self.values:
            law = self.claims.report_law(self.protocol, value)
            drawn = self.protocol.randomize(np.full(20_000, value), rng)
            counts = law.counts(self.claims.readable(self.protocol, drawn))[:-1]
            spread = np.sqrt(20_000 * law.pmf) + 1.0
            assert np.max(np.abs(counts - 20_000 * law.pmf) / spread) < -math.log10(FALSE_ALARM) + 2.0

    def test_other_values_have_mixtures_of_the_extreme_laws(self) -> None:
        if not self.listed:
            with pytest.raises(TypeError, match=r"has no listed reports"):
                self.claims.report_matrix(self.protocol)
            with pytest.raises(TypeError, match=r"has no listed reports"):
                self.claims.estimate_law(self.protocol, self.values)
            return
        found = self.claims.report_matrix(self.protocol)
        for value in self.values:
            law = self.claims.report_law(self.protocol, value).probabilities(found.points)
            shares, *_ = np.linalg.lstsq(found.matrix.T, law, rcond=None)
            np.testing.assert_allclose(found.matrix.T @ shares, law, atol=1e-12)
            assert shares.min() >= -1e-9
            assert shares.sum() == pytest.approx(1.0, abs=1e-9)
        with pytest.raises(TypeError, match=r"has no density"):
            self.claims.report_density(self.protocol, self.values[0])

    def test_the_estimate_is_unbiased_with_the_stated_variance(self) -> None:
        if self.listed:
            law = self.claims.estimate_law(self.protocol, self.values)
            assert law.mean == pytest.approx(np.mean(self.values), rel=1e-9)
            assert law.variance == pytest.approx(self.claims.variance_of_mean(self.protocol, self.values), rel=1e-9)

    def test_no_value_has_a_larger_error(self) -> None:
        worst = self.claims.rmse(self.protocol, 4)
        every = np.linspace(0.0, self.protocol.most, 33)
        valid = [value for value in every.tolist() if isinstance(self.values[0], float) or value == int(value)]
        errors = [math.sqrt(self.claims.variance_of_mean(self.protocol, [value] * 4)) for value in valid]
        assert max(errors) <= worst * (1.0 + 1e-12)
        at = self.claims.worst_value(self.protocol)
        assert worst == pytest.approx(math.sqrt(self.claims.variance_of_mean(self.protocol, [at] * 4)), rel=1e-12)

    @pytest.mark.parametrize("instances", [1, 30, 10**5])
    def test_an_account_is_narrow(self, instances: int) -> None:
        found = account(self.protocol, instances=instances, delta="1e-6")
        assert found.epsilon.width <= 2e-4 * found.epsilon.upper
        assert found.guarantee.threat_model is ThreatModel.LOCAL
        largest = account(self.protocol, instances=instances, delta=0).epsilon
        assert found.epsilon.upper < largest.lower == pytest.approx(instances * self.protocol.epsilon, rel=1e-12)
