"""Learned scores: high where the first input is likelier."""

import numpy as np

from dpverify.statistics.outputs.aspects import Aspect
from dpverify.statistics.outputs.learned import _counted, learned_scores, table_score

RNG = np.random.default_rng(5)


def values(rows: np.ndarray) -> np.ndarray:
    return rows[:, 0].astype(np.int64)


def test_a_table_holds_the_log_ratios_of_frequencies() -> None:
    first, second = np.repeat([0.0, 1.0], [75, 25])[:, None], np.repeat([0.0, 1.0], [25, 75])[:, None]
    table = table_score(Aspect("values", values), first, second)
    scores = table(np.array([[0.0], [1.0], [7.0]]))
    cautious = np.log((75.5 - 75.5**0.5) / (25.5 + 25.5**0.5))
    np.testing.assert_allclose(scores, [cautious, -cautious, 0.0])
    assert table.excess > 40
    # Codes so far away that their distance goes around 64 bits are seen as unknown, too.
    far = np.array([[-(2.0**63)], [1.0 - 2.0**53], [-1.0], [2.0], [2.0**62]])
    np.testing.assert_array_equal(table(far), np.zeros(5))
    high = table_score(Aspect("values", values), 2.0**62 + 1024.0 * first, 2.0**62 + 1024.0 * second)
    np.testing.assert_array_equal(high(far[:1]), [0.0])
    same = table_score(Aspect("values", values), first, first)
    assert same.excess < 0
    assert table_score(Aspect("values", values), np.arange(9.0)[:, None], np.arange(9.0, 18.0)[:, None]) is None


def test_scores_are_higher_on_the_first_input() -> None:
    def draw(flip: float) -> np.ndarray:
        bits = RNG.integers(0, 2, (3000, 2)).astype(float)
        bits[:, 1] = np.where(RNG.random(3000) < flip, 1 - bits[:, 0], bits[:, 0])
        return bits

    scores = learned_scores(draw(0.1), draw(0.9))
    fresh = draw(0.1), draw(0.9)
    best = max(scores, key=lambda score: score.of(fresh[0]).mean() - score.of(fresh[1]).mean())
    assert best.of(fresh[0]).mean() - best.of(fresh[1]).mean() > 2
    assert len({score.name for score in scores}) == len(scores)


def test_a_classifier_learns_where_a_table_of_outputs_does_not_say_all() -> None:
    name = "a gradient-boosted classifier"
    few = RNG.integers(0, 4, (2, 1000, 1)).astype(float)
    assert name not in [score.name for score in learned_scores(*few)]
    # A sixtieth of the outputs are of kinds of their own, or each kind is seen too rarely.
    own = np.where(RNG.random(few.shape) < 1 / 60, RNG.normal(size=few.shape), few)
    rarely = RNG.integers(0, 60, (2, 1000, 1)).astype(float)
    for samples in (own, rarely, RNG.normal(size=(2, 1000, 1))):
        assert name in [score.name for score in learned_scores(*samples)]


def test_codes_are_counted_by_place_as_by_order() -> None:
    narrow = [RNG.integers(-5, 9, 200) for _ in range(2)]
    for samples in (narrow, [codes * 10**9 for codes in narrow], [np.array([4, 4]), np.array([5])]):
        found, counts = _counted(*samples)
        assert found.tolist() == np.unique(np.concatenate(samples)).tolist()
        for codes, often in zip(samples, counts, strict=True):
            assert often.tolist() == [np.count_nonzero(codes == code) for code in found]
