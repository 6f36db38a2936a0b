"""Chosen events: the best ones on held-out outputs, with limits for both of their probabilities."""

import numpy as np
import pytest

from dpverify.statistics.bounds.claim_test import event_limits
from dpverify.statistics.outputs.chosen import choose_events
from dpverify.statistics.outputs.learned import NamedScore

RNG = np.random.default_rng(9)
VALUE = NamedScore("value", lambda rows: rows[:, 0])
USELESS = NamedScore("useless", lambda rows: np.zeros(len(rows)))


def test_the_events_of_laplace_noise_are_half_lines_around_both_inputs() -> None:
    first, second = (RNG.laplace(shift, 1, (40_000, 1)) for shift in (1, 0))
    events = choose_events([USELESS, VALUE], first, second, delta=0, epsilon=1.0, trials=40_000, slack=0.1)
    assert set(events.names) == {"value"}
    assert events.distinct == len(events)
    # Any half-line beyond both inputs has the whole loss; the most frequent one says most.
    for upward, place in ((True, 1.0), (False, 0.0)):
        assert np.abs(events.thresholds[events.upward == upward] - place).min() < 0.2
    likely, other = events.pairs(first, second)
    assert (likely.mean(axis=0) > other.mean(axis=0)).all()


def test_the_event_that_seems_to_show_most_counts_in_a_pass() -> None:
    first = np.where(RNG.random((4_000, 1)) < 0.01, 5.0, 0.0)
    events = choose_events([VALUE], first, np.zeros((4_000, 1)), delta=0, epsilon=1.0, trials=4_000, slack=0.1)
    place = int(np.argmax(events.expected[:, 0] / events.expected[:, 1]))
    assert events.resolved[place]


@pytest.mark.parametrize("fresh", [0.0, 1.0])
def test_where_all_is_alike_another_output_is_the_event(fresh: float) -> None:
    zeros = np.zeros((50, 1))
    events = choose_events([VALUE], zeros, zeros, delta=0, epsilon=1.0, trials=100, slack=0.1)
    likely, other = events.pairs(zeros, zeros + fresh)
    shown = (likely.sum(axis=0) - other.sum(axis=0)).max()
    assert shown == 50 * fresh


def test_a_rare_event_is_tested_next_to_likely_ones_that_keep_the_claim() -> None:
    leaks = [NamedScore(f"leak {k}", lambda rows, k=k: rows[:, k]) for k in (1, 2)]  # type: ignore[misc]
    first, second = (np.c_[RNG.laplace(shift, 1, 40_000), np.zeros((40_000, 2))] for shift in (1, 0))
    first[:40, 1], first[:12, 2] = 1.0, 1.0
    events = choose_events([VALUE, *leaks], first, second, delta=0, epsilon=1.0, trials=200_000, slack=0.1)
    ranks = {name: rank for name, rank in zip(events.names, events.ranks.tolist(), strict=True) if "leak" in name}
    assert ranks["leak 1"] == 0 < ranks["leak 2"]
    shares = events.shares(0.1)
    assert shares.sum() == pytest.approx(1.0)
    assert shares[events.ranks > 0].sum() == pytest.approx(0.1)
    limits = [event_limits(np.array([30] * 2), np.array([9] * 2), 100, 0.01, given) for given in (None, [0.9, 0.1])]
    assert limits[0].p_lower[0] < limits[1].p_lower[0] < 0.3
    assert limits[1].p_lower[1] < limits[0].p_lower[1]


def test_scores_that_were_not_fitted_are_judged_on_the_training_outputs_too() -> None:
    rng = np.random.default_rng(3)

    def drawn(shift: float) -> np.ndarray:
        return rng.laplace(shift, 1, (500, 1))

    training, held = (drawn(1), drawn(0)), (drawn(1), drawn(0))
    own = NamedScore("value", VALUE.of, fitted=False)
    every = tuple(np.concatenate(pair) for pair in zip(training, held, strict=True))
    for score, samples in ((VALUE, held), (own, every)):
        events = choose_events([score], *held, delta=0, epsilon=1.0, trials=3000, slack=0.1, every=every)
        likely, other = events.pairs(*samples)
        size = len(samples[0])
        found = [(x.sum(axis=0) + 0.5) / (size + 1) for x in (likely, other)]
        np.testing.assert_allclose(events.expected.T, found, rtol=1e-12)


def test_a_costly_score_is_looked_at_only_where_it_shows_more_than_the_others() -> None:
    first, second = (RNG.laplace(shift, 1, (4_000, 1)) for shift in (1, 0))
    costly = NamedScore("costly", lambda rows: np.round(rows[:, 0], 1), costly=True)
    for own, scores in (("costly", [USELESS, costly]), ("value", [VALUE, costly])):
        events = choose_events(scores, first, second, delta=0, epsilon=0.5, trials=40_000, slack=0.1)
        assert own in events.names
        assert ("costly" in events.names) == (own == "costly")
