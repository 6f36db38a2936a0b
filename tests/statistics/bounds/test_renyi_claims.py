"""Claims of Renyi divergences: coins at the edge keep them, and hardly anything more does."""

import mpmath
import numpy as np
import pytest

from dpverify.statistics.bounds.claims import CurveClaim, GaussianDP
from dpverify.statistics.bounds.renyi_claims import ConcentratedDP, RenyiDP
from tests.statistics.bounds.test_claims import assert_touching


def divergence(p: mpmath.mpf, q: mpmath.mpf, order: float) -> mpmath.mpf:
    terms = p**order * q ** (1 - order) + (1 - p) ** order * (1 - q) ** (1 - order)
    return mpmath.log(terms) / (order - 1)


@pytest.mark.parametrize("claim", [RenyiDP(1.5, 0.3), RenyiDP(32, 2)], ids=str)
def test_coins_keep_a_divergence_and_touch_it(claim: RenyiDP) -> None:
    assert_touching(
        claim, lambda p, q: all(divergence(*pair, claim.order) <= claim.epsilon for pair in ((p, q), (q, p)))
    )


@pytest.mark.long
@pytest.mark.parametrize("claim", [ConcentratedDP(0.02), ConcentratedDP(1.5)], ids=str)
def test_coins_keep_all_divergences_and_touch_them(claim: ConcentratedDP) -> None:
    orders = [*claim.orders.tolist(), 1.001, 1e3, 1e4]
    assert_touching(
        claim, lambda p, q: all(divergence(*pair, a) <= claim.rho * a for a in orders for pair in ((p, q), (q, p)))
    )


def test_nothing_is_lost_that_the_usual_conversion_has() -> None:
    # Below that of canonne2020, Proposition 12, which leaves the complement out; Gaussian noise is in between.
    orders = 1 + np.geomspace(1e-2, 30, 20_000)
    for epsilon in (0.5, 1.0, 2.0, 3.0):
        known = np.exp((orders - 1) * (0.5 * orders - epsilon) + orders * np.log1p(-1 / orders)) / (orders - 1)
        found = ConcentratedDP(0.5).delta(epsilon)
        assert GaussianDP(1.0).delta(epsilon) < found <= 1.005 * known.min()
    assert ConcentratedDP(0.5).delta(0.5) < 0.86 * 0.4  # 0.3999 there


def test_what_is_no_claim_is_refused() -> None:
    wrong: list[tuple[type[CurveClaim], tuple[float, ...]]] = [
        (ConcentratedDP, (-1,)),
        (RenyiDP, (1, 1)),
        (RenyiDP, (2, 0)),
    ]
    for kind, values in wrong:
        with pytest.raises(ValueError, match="must be"):
            kind(*values)
