import numpy as np
import pytest

from protocols.bitsum import Estimate, NegativeBinomial
from tests.contracts import BitsumContract
from tests.refusals import refused


class TestNegativeBinomial(BitsumContract):
    protocol = NegativeBinomial(users=4, shape=2.5, p=0.4)
    unbiased_with_dropouts = False

    def variance(self, ones: int, participants: int) -> float:
        return self.protocol.shape * self.protocol.p / (1 - self.protocol.p) ** 2


class TestUnderestimateContract(TestNegativeBinomial):
    protocol = NegativeBinomial(users=4, shape=2.5, p=0.4, estimate=Estimate.UNDER)

    def test_estimate_is_unbiased_with_the_claimed_variance(self) -> None:
        """Biased by design: see the next tests."""


@pytest.mark.parametrize("ones", [0, 2, 5])
def test_one_sided_estimates_keep_their_side(ones: int) -> None:
    rng = np.random.default_rng(41)
    bits = np.arange(5) < ones
    for estimate, sign in ((Estimate.OVER, 1), (Estimate.UNDER, -1)):
        protocol = NegativeBinomial(5, 3.0, 0.5, estimate=estimate)
        views = protocol.sample_view(np.full(5000, ones), rng)
        errors = np.append(protocol.analyze(views), [protocol.run(bits, rng) for _ in range(200)]) - ones
        assert (sign * errors >= 0).all()
        assert (errors == 0).any()
        assert (errors != 0).any()


def test_all_estimates_have_the_same_noise() -> None:
    debiased, over, under = (NegativeBinomial(5, 3.0, 0.5, estimate=estimate) for estimate in Estimate)
    view = [[9], [3]]
    np.testing.assert_array_equal(over.analyze(view) - debiased.analyze(view), [debiased.noise_mean] * 2)
    np.testing.assert_array_equal(under.analyze(view), [5 - 9, 5 - 3])


def test_who_drops_out_breaks_the_side_of_under() -> None:
    protocol = NegativeBinomial(5, 3.0, 0.5, estimate=Estimate.UNDER)
    views = protocol.sample_view(np.zeros(2000, dtype=int), np.random.default_rng(42), participants=1)
    assert (protocol.analyze(views) > 0).any()


def test_names_are_accepted_and_others_refused() -> None:
    assert NegativeBinomial(5, 3.0, 0.5, estimate="under").estimate is Estimate.UNDER  # type: ignore[arg-type]
    with refused("estimate='mean'"):
        NegativeBinomial(5, 3.0, 0.5, estimate="mean")  # type: ignore[arg-type]
