"""The baselines: laws by brute force, closed forms against mpmath, and guarantees that name the threat."""

import functools
import math
from typing import Any

import mpmath as mp
import numpy as np
import pytest

from dpverify.claims.bitsum import BITSUM_CLAIMS
from dpverify.claims.bitsum.baselines import CentralDiscreteGaussianClaims, least_sigma
from dpverify.guarantee import Budget, CapacityError, InfeasibleBudgetError, Interval, ThreatModel
from dpverify.planning.account import account
from dpverify.planning.plan import plan
from dpverify.planning.sweeps.least import least_epsilon
from dpverify.privacy_loss.windows.gaussian import NormalNoiseCurve
from protocols.bitsum import (
    BitsumProtocol,
    CentralDiscreteGaussian,
    CentralDiscreteLaplace,
    CentralGaussian,
    LocalRandomizedResponse,
)
from tests.claims.bitsum.contracts import hockey_stick
from tests.refusals import refused

MAIN = {"users": 30_000, "instances": 768}
NAMES = ("central-gaussian", "central-discrete-laplace", "central-discrete-gaussian", "local-rr")


def symmetric_law(weight: object, size: int = 200) -> np.ndarray:
    law = np.array([weight(z) for z in range(-size, size + 1)])  # type: ignore[operator]
    return law / law.sum()


DISCRETE = [
    (CentralDiscreteLaplace(5, 0.6), symmetric_law(lambda z: 0.6 ** abs(z))),
    (CentralDiscreteGaussian(5, 1.7), symmetric_law(lambda z: math.exp(-z * z / (2 * 1.7**2)))),
    (CentralDiscreteGaussian(5, 0.3), symmetric_law(lambda z: math.exp(-z * z / (2 * 0.3**2)))),
]


@pytest.mark.parametrize(("protocol", "law"), DISCRETE)
@pytest.mark.parametrize("epsilon", [0.0, 0.3, 0.5, 1.1])
def test_discrete_laws_by_brute_force(protocol: BitsumProtocol, law: np.ndarray, epsilon: float) -> None:
    shifted = np.roll(law, 1)
    both = [(law, shifted), (shifted, law)]
    found = account(protocol, epsilon=epsilon).delta
    for p, q in both:
        exact = hockey_stick(p, q, epsilon)
        assert found.lower - 1e-12 <= exact <= found.upper + 1e-12
    two = max(hockey_stick(np.outer(p, a), np.outer(q, b), epsilon) for p, q in both for a, b in both)
    found = account(protocol, instances=2, epsilon=epsilon).delta
    assert found.lower - 1e-12 <= two <= found.upper + 1e-12 <= two * (1 + 1e-3) + 1e-11
    deviation = math.sqrt(float(law @ np.arange(-200, 201) ** 2))
    assert BITSUM_CLAIMS[account(protocol, epsilon=1.0).name].rmse(protocol) == pytest.approx(deviation, rel=1e-9)


@pytest.mark.parametrize("p", [0.05, 0.3, 0.45])
def test_local_randomized_response_is_what_one_user_sends(p: float) -> None:
    protocol = LocalRandomizedResponse(100, p)
    for epsilon in (0.0, 0.2, 1.5):
        found = account(protocol, epsilon=epsilon)
        assert found.guarantee.threat_model is ThreatModel.LOCAL
        with mp.workdps(40):
            # One outcome only has a positive part: the report that her bit makes likelier.
            exact = (1 - mp.mpf(p)) - mp.exp(mp.mpf(epsilon)) * mp.mpf(p)
        assert found.delta.lower <= max(exact, 0) <= found.delta.upper
    largest = account(protocol, delta=0.0).epsilon
    assert largest.width <= 1e-15 * largest.upper
    assert largest.upper == pytest.approx(math.log((1 - p) / p), rel=1e-14)


@pytest.mark.parametrize(("sigma", "instances", "delta"), [(70.0, 768, 1e-6), (70.0, 768, 1e-30), (1.0, 1, 1e-3)])
def test_gaussian_against_mpmath(sigma: float, instances: int, delta: float) -> None:
    with mp.workdps(60):
        m = mp.sqrt(instances) / sigma

        def exact(epsilon: mp.mpf) -> mp.mpf:
            return mp.ncdf(m / 2 - epsilon / m) - mp.exp(epsilon) * mp.ncdf(-m / 2 - epsilon / m)

        found = account(CentralGaussian(10, sigma), instances=instances, delta=delta).epsilon
        assert found.width <= 1e-11 * found.upper
        assert exact(mp.mpf(found.lower)) >= delta >= exact(mp.mpf(found.upper))
        at = account(CentralGaussian(10, sigma), instances=instances, epsilon=found.upper).delta
        assert at.lower <= exact(mp.mpf(found.upper)) <= at.upper
        assert at.width <= 1e-11 * at.upper


@pytest.mark.parametrize(("epsilon", "delta", "instances"), [(0.1, 1e-6, 1), (2.0, 1e-6, 768), (20.0, 1e-3, 1)])
def test_analytic_calibration_is_tight_and_below_the_classical_formula(
    epsilon: float, delta: float, instances: int
) -> None:
    def at(sigma: float) -> Interval:
        return account(CentralGaussian(10, sigma), instances=instances, epsilon=epsilon).delta

    sigma = least_sigma(epsilon, delta, instances)
    assert at(sigma).upper <= delta
    assert at(sigma * (1 - 1e-10)).lower > delta
    classical = math.sqrt(2 * instances * math.log(1.25 / delta)) / epsilon
    if epsilon < 1:
        assert sigma < classical


def test_classical_formula_fails_beyond_its_range() -> None:
    classical = math.sqrt(2 * math.log(1.25 / 1e-3)) / 20
    assert account(CentralGaussian(10, classical), epsilon=20.0).delta.lower > 1e-3


def test_plans_meet_the_main_budget_in_the_order_of_their_errors() -> None:
    budget, rmse = Budget("2", "1e-6"), {}
    for name in NAMES:
        exact, published = (plan(name, budget, **MAIN, method=method) for method in ("exact", "published"))
        assert 1.999 < exact.guarantee.epsilon <= 2.0
        assert exact.guarantee.threat_model is (ThreatModel.LOCAL if name == "local-rr" else ThreatModel.CENTRAL)
        assert exact.bitsum_rmse < published.bitsum_rmse
        again = account(exact.protocol, instances=768, delta=1e-6, relative_width=1e-4)
        assert again.epsilon.lower <= 2.0
        if BITSUM_CLAIMS[name].pure:
            loss = account(published.protocol, delta=0.0).epsilon.upper
            assert loss <= published.epsilon0 * (1 + 1e-15)
        else:
            assert account(published.protocol, epsilon=published.epsilon0).delta.upper <= published.delta0
        assert exact.messages_per_user == 1.0
        rmse[name] = exact.bitsum_rmse
    assert rmse["central-gaussian"] == pytest.approx(61.8128, abs=1e-3)
    assert rmse["central-gaussian"] < rmse["central-discrete-gaussian"] < rmse["central-gaussian"] * 1.001
    assert rmse["central-gaussian"] < rmse["central-discrete-laplace"] < rmse["local-rr"]


@pytest.mark.parametrize("name", ["central-discrete-laplace", "local-rr"])
@pytest.mark.parametrize("instances", [1, 3])
def test_pure_plans(name: str, instances: int) -> None:
    row = plan(name, Budget(1, 0), users=100, instances=instances)
    found = account(row.protocol, instances=instances, delta=0.0).epsilon
    assert (row.guarantee.delta, row.composition) == (0.0, "basic")
    assert 1 - 1e-12 < found.upper <= 1 + 1e-15


@pytest.mark.parametrize("name", ["central-gaussian", "central-discrete-gaussian"])
def test_normal_noise_is_not_pure(name: str) -> None:
    with pytest.raises(InfeasibleBudgetError, match="delta=0 cannot be met"):
        plan(name, Budget(1, 0), users=100, instances=1)
    with pytest.raises(InfeasibleBudgetError, match=r"delta0=0\.0"):
        BITSUM_CLAIMS[name].published(10, 1.0, 0.0)


def test_other_threats_are_refused() -> None:
    with refused("threat_model"):
        account(CentralGaussian(10, 3.0), delta=1e-6, threat_model=ThreatModel.COMMUNICATION)
    with refused("composition='exact'"):
        plan("local-rr", Budget(1, 0), users=10, instances=1, composition="exact")


@pytest.mark.parametrize("name", ["central-discrete-laplace", "local-rr"])
@pytest.mark.parametrize("epsilon0", [1e-12, 3e-9, 1.0, 30.0])
def test_rounding_to_the_safe_side_ends_and_costs_roundings_only(name: str, epsilon0: float) -> None:
    # Next to p = 1 one unit of p is millions of units of a small epsilon0.
    claims = BITSUM_CLAIMS[name]
    loss = claims.pure_epsilon(claims.published(10, epsilon0, 0.0), claims.threat_models[0])
    assert epsilon0 * (1 - 1e-14) - 1e-15 <= loss.upper <= epsilon0


@pytest.mark.parametrize("sigma", [0.0, 5e-324, 5e-309])
def test_a_sigma_without_a_finite_loss_is_named(sigma: float) -> None:
    with pytest.raises(CapacityError, match=f"^central-gaussian cannot be .*: sigma={sigma!r} must be at least"):
        account(CentralGaussian(10, sigma), delta=1e-6)


@pytest.mark.parametrize(("epsilon", "delta", "instances"), [("2", "1e-6", 768), ("1e-6", "1e-100", 10)])
def test_no_margin_is_left_in_planned_normal_noise(epsilon: str, delta: str, instances: int) -> None:
    row = plan("central-gaussian", (epsilon, delta), users=10, instances=instances)
    assert row.guarantee.epsilon <= float(epsilon)
    less = NormalNoiseCurve(row.protocol.sigma * (1 - 1e-13), instances)
    assert less.delta(float(epsilon)).lower > float(delta)


@pytest.mark.parametrize("protocol", [CentralGaussian(10, 2.0), CentralDiscreteGaussian(10, 2.0)])
@pytest.mark.parametrize("joint", [{}, {"squared_change": 4.0}])
def test_the_smallest_deltas_have_a_finite_epsilon(protocol: Any, joint: dict[str, Any]) -> None:
    found = account(protocol, instances=10, delta="1e-300", **joint).epsilon
    # What zero-concentrated privacy gives for full changes, 1.25 + 2 sqrt(1.25 * 300 ln 10).
    assert 0.9 * found.upper < found.lower <= found.upper <= 60.022


def _composed(sigma: float, instances: int, epsilon: float) -> float:
    """Return delta of discrete Gaussian noise, by listing the sums of the noises."""
    law = symmetric_law(lambda z: math.exp(-z * z / (2 * sigma**2)), 40)
    total = functools.reduce(np.convolve, [law] * instances)
    shifted = np.concatenate([np.zeros(instances), total])
    return hockey_stick(np.concatenate([total, np.zeros(instances)]), shifted, epsilon)


@pytest.mark.parametrize(
    ("epsilon", "delta", "instances"),
    [(2.5, 0.08, 1), (8, 1e-3, 1), (2, 0.12, 1), (1.2, 0.2, 1), (4, 1e-6, 1), (8, 1e-3, 3), (20, 1e-4, 4), (9, 0.3, 2)],
)
def test_no_smaller_discrete_gaussian_noise_is_private(epsilon: float, delta: float, instances: int) -> None:
    row = plan("central-discrete-gaussian", (epsilon, delta), users=10, instances=instances)
    sigma = CentralDiscreteGaussianClaims().parameters(row.protocol)["sigma"]  # type: ignore[arg-type]
    assert _composed(sigma, instances, epsilon) <= delta
    smaller = np.geomspace(0.05, sigma * (1 - 5e-4), 800)
    assert min(_composed(tried, instances, epsilon) for tried in smaller) > delta


def test_the_divergence_of_discrete_gaussian_noise_rises_and_the_least_epsilon_knows() -> None:
    assert _composed(0.5, 1, 2.5) > 1.1 * _composed(0.4473, 1, 2.5)
    found = least_epsilon("0.08", error=0.04, users=10, instances=1, bitsums=["central-discrete-gaussian"]).best
    assert found.least < 2.5
    rmse = CentralDiscreteGaussianClaims().rmse
    allowed = [sigma for sigma in np.geomspace(0.05, 0.47, 200) if rmse(CentralDiscreteGaussian(10, sigma)) <= 0.4]
    for epsilon in np.linspace(1.0, found.least - 0.005, 20):
        assert min(_composed(sigma, 1, epsilon) for sigma in allowed) > 0.08


@pytest.mark.parametrize("instances", [10**10, 10**13])
def test_discrete_gaussian_noise_of_very_many_instances_is_next_to_normal(instances: int) -> None:
    # Some 10^7 atoms each time, 24 CPU seconds; and a lower end of 0 from 10^13 instances on.
    row = plan("central-discrete-gaussian", (1, "1e-6"), users=10, instances=instances)
    assert row.bitsum_rmse == pytest.approx(least_sigma(1.0, 1e-6, instances), rel=1e-6)
    found = account(row.protocol, instances=instances, delta=1e-6).epsilon
    assert 1.0 - 1e-6 < found.lower <= found.upper <= 1.0
