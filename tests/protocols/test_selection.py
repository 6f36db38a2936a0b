import numpy as np

from protocols.bitsum.negative_binomial import Estimate, NegativeBinomial
from protocols.selection import Selection
from tests.contracts import SelectionContract
from tests.samples import assert_same_law

VALUES = np.array([0, 2, 2, 1, 2])
COUNTS = np.bincount(VALUES, minlength=4)


def test_messages_and_aggregates_have_one_law() -> None:
    rng = np.random.default_rng(1)
    protocol = Selection(NegativeBinomial(5, 2.0, 0.4, estimate=Estimate.UNDER), 4)
    selected = protocol.analyze(protocol.sample_view(np.tile(COUNTS, (6000, 1)), rng))
    assert selected.shape == (6000,)
    assert_same_law([int(protocol.run(VALUES, rng)) for _ in range(1000)], selected.tolist())


def test_without_noise_the_fullest_bucket_wins_and_ties_go_to_the_first() -> None:
    protocol = Selection(NegativeBinomial(5, 2.0, 0.0, estimate=Estimate.UNDER), 4)
    rng = np.random.default_rng(2)
    assert protocol.run(VALUES, rng) == 2
    assert protocol.run([3, 3, 1, 1, 0], rng) == 1


def test_shortfall_is_at_most_the_noise_of_the_fullest_bucket() -> None:
    protocol = Selection(NegativeBinomial(5, 2.0, 0.6, estimate=Estimate.UNDER), 4)
    views = protocol.sample_view(np.tile(COUNTS, (5000, 1)), np.random.default_rng(3))
    noise = COUNTS.max() - protocol.estimates(views)[:, COUNTS.argmax()]
    assert (COUNTS.max() - COUNTS[protocol.analyze(views)] <= noise).all()


class TestSelection(SelectionContract):
    @staticmethod
    def make(users: int, candidates: int) -> Selection:
        return Selection(NegativeBinomial(users, 20.0, 0.8, estimate=Estimate.UNDER), candidates)
