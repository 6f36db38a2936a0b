"""What every twin of a message protocol promises, checked on the enumerated law of a few users' shuffled messages."""

import functools
import itertools
import math
from typing import Any, ClassVar

import numpy as np
import pytest
from scipy.signal import convolve
from scipy.special import gammaln

from dpverify.claims.bitsum import BITSUM_CLAIMS, claims_of
from dpverify.claims.bitsum.base import BitsumClaims
from dpverify.guarantee import Budget, InfeasibleBudgetError, ThreatModel
from dpverify.planning.account import account
from dpverify.planning.plan import plan
from protocols.bitsum import BitsumProtocol


def hockey_stick(p: np.ndarray, q: np.ndarray, epsilon: float) -> float:
    return float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum())


def negative_binomial_pmf(shape: float, p: float, size: int) -> np.ndarray:
    """The seeds' NB(shape, p) below `size`, from its definition."""
    z = np.arange(size)
    return np.exp(gammaln(z + shape) - gammaln(shape) - gammaln(z + 1) + shape * math.log1p(-p) + z * math.log(p))


@functools.cache
def view_law(suite: type["BitsumClaimsContract"], ones: int) -> np.ndarray:
    """The law of all counts where so many users hold a one, made once for all tests of a suite."""
    made = suite()
    law = made.user_law(1 if ones else 0)
    for user in range(1, made.protocol.users):
        law = convolve(law, made.user_law(int(user < ones)), method="direct")[(slice(made.size),) * law.ndim]
    assert law.sum() == pytest.approx(1.0, abs=1e-12)
    return law


def hockey_stick_of_two(p: np.ndarray, q: np.ndarray, a: np.ndarray, b: np.ndarray, epsilon: float) -> float:
    """`hockey_stick` of `p` and `a` together against `q` and `b`: for each outcome of one, all of the other at once."""
    (p, q), (a, b) = ((u[u + v > 0.0], v[u + v > 0.0]) for u, v in ((p, q), (a, b)))
    with np.errstate(divide="ignore"):
        loss, other = np.log(p) - np.log(q), np.log(a) - np.log(b)
    order = np.argsort(other)
    above, below = (np.append(np.cumsum(law[order][::-1])[::-1], 0.0) for law in (a, b))
    place = np.searchsorted(other[order], epsilon - loss)
    return float(np.sum(p * above[place] - math.exp(epsilon) * q * below[place]))


class BitsumClaimsContract:
    """Inherit it, set `protocol` to an instance for 2 to 4 users, and write down the law of one user's messages.

    `size` is the number of counts per symbol that are enumerated; the mass beyond must be below 1e-13.
    """

    protocol: ClassVar[BitsumProtocol]
    size: ClassVar[int]
    plannable: ClassVar[dict[str, Any]] = {"users": 2000, "instances": 8}

    def user_law(self, bit: int) -> np.ndarray:
        """P(one user's counts per symbol), shape (size,) * len(alphabet)."""
        raise NotImplementedError

    @property
    def claims(self) -> BitsumClaims[Any]:
        return claims_of(self.protocol)

    def view_law(self, ones: int) -> np.ndarray:
        return view_law(type(self), ones)

    def seen(self, law: np.ndarray, threat_model: ThreatModel) -> np.ndarray:
        """What an adversary makes of the view's law; here: all of it."""
        return law

    def neighbours(self, threat_model: ThreatModel) -> list[tuple[np.ndarray, np.ndarray]]:
        laws = [self.seen(self.view_law(ones), threat_model).ravel() for ones in range(self.protocol.users + 1)]
        steps = list(itertools.pairwise(laws))
        return [*steps, *((q, p) for p, q in steps)]

    def test_name_leads_to_the_twin(self) -> None:
        assert BITSUM_CLAIMS[self.claims.name] is self.claims
        rebuilt = type(self.protocol)(self.protocol.users, **self.claims.parameters(self.protocol))
        assert rebuilt == self.protocol

    @pytest.mark.parametrize("epsilon", [0.0, 0.4, 1.6])
    def test_delta_is_the_largest_of_all_neighbours(self, epsilon: float) -> None:
        for threat_model in self.claims.threat_models:
            exact = max(hockey_stick(p, q, epsilon) for p, q in self.neighbours(threat_model))
            found = account(self.protocol, epsilon=epsilon, threat_model=threat_model).delta
            assert found.lower <= exact + 1e-11
            assert exact - 1e-11 <= found.upper <= exact * (1 + 1e-4) + 1e-11

    @pytest.mark.parametrize("epsilon", [0.9])
    def test_two_instances_are_the_worst_mix(self, epsilon: float) -> None:
        for threat_model in self.claims.threat_models:
            pairs = self.neighbours(threat_model)
            exact = max(
                hockey_stick_of_two(p, q, a, b, epsilon)
                for (p, q), (a, b) in itertools.combinations_with_replacement(pairs, 2)
            )
            found = account(self.protocol, instances=2, epsilon=epsilon, threat_model=threat_model).delta
            assert found.lower <= exact + 1e-11
            assert exact - 1e-11 <= found.upper <= exact * (1 + 1e-3) + 1e-11

    def test_rmse_is_exact_for_the_worst_input(self) -> None:
        shape = self.view_law(0).shape
        views = np.stack(np.meshgrid(*map(np.arange, shape), indexing="ij"), axis=-1)
        estimates = self.protocol.analyze(views)
        square = max(
            float((self.view_law(ones) * (estimates - ones) ** 2).sum()) for ones in range(self.protocol.users + 1)
        )
        assert self.claims.rmse(self.protocol) == pytest.approx(math.sqrt(square), rel=1e-9)

    def test_messages_per_user(self) -> None:
        users = self.protocol.users
        for ones in range(users + 1):
            law = self.view_law(ones)
            total = sum(float((law * axis).sum()) for axis in np.indices(law.shape))
            assert self.claims.messages_per_user(self.protocol, ones / users) == pytest.approx(total / users, rel=1e-9)

    def test_plan_meets_its_budget_and_hardly_more(self) -> None:
        budget = Budget("1", "1e-5")
        for threat_model in self.claims.threat_models:
            row = plan(self.claims.name, budget, threat_model=threat_model, **self.plannable)
            assert row.guarantee.threat_model is threat_model
            assert 0.99 <= row.guarantee.epsilon <= 1.0
            again = account(
                row.protocol,
                instances=self.plannable["instances"],
                delta=1e-5,
                relative_width=1e-4,
                threat_model=threat_model,
            )
            assert again.epsilon.lower <= 1.0
            assert again.epsilon.upper >= 0.98

    def test_pure_only_where_claimed(self) -> None:
        if self.claims.pure:
            return
        with pytest.raises(InfeasibleBudgetError, match="delta=0 cannot be met"):
            plan(self.claims.name, Budget(1, 0), users=10, instances=1)
        assert account(self.protocol, delta=0.0).epsilon.lower == math.inf
