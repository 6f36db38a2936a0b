import itertools
from collections import defaultdict

import numpy as np
import pytest
from scipy import stats

from dpverify.laws.discrete import DiscreteLaw
from dpverify.statistics.instances import UNLISTED, Sides, SummedLoss

FIRST = [
    DiscreteLaw.from_mapping({0: 0.5, 1: 0.3, 2: 0.2}),
    DiscreteLaw.from_mapping({0.5: 0.9, 1.5: 0.1}),
    DiscreteLaw.from_mapping({3: 1.0}),
]
SECOND = [
    DiscreteLaw.from_mapping({0: 0.2, 1: 0.3, 3: 0.5}),
    DiscreteLaw.from_mapping({0.5: 0.6, 1.5: 0.4}),
    DiscreteLaw.from_mapping({3: 1.0}),
]


@pytest.mark.parametrize("laws", [FIRST, SECOND])
def test_the_law_of_the_sum_is_that_of_all_outcomes(laws: list[DiscreteLaw]) -> None:
    loss = SummedLoss(FIRST, SECOND)
    rows = list(itertools.product(*(law.points.tolist() for law in laws)))
    masses = np.array([np.prod(masses) for masses in itertools.product(*(law.pmf.tolist() for law in laws))])
    wanted: dict[float, float] = defaultdict(float)
    for score, mass in zip(loss.scores(rows).tolist(), masses.tolist(), strict=True):
        wanted[score] += mass
    found = loss.law(laws)
    assert found.points.tolist() == sorted(wanted)
    assert found.pmf == pytest.approx([wanted[score] for score in sorted(wanted)], rel=1e-12)


def test_scores_are_losses() -> None:
    loss = SummedLoss(FIRST, SECOND)
    assert loss.informative == 2
    rows = np.array([[0, 0.5, 3], [1, 0.5, 3], [1, 1.5, 3], [2, 0.5, 3], [3, 0.5, 3]])
    scores = loss.scores(rows)
    assert scores[3] > scores[0] > scores[1] > scores[2] > scores[4]
    step = (scores[0] - scores[1]) / np.log(2.5)
    assert scores[1] / np.log(1.5) == pytest.approx(step, rel=0.05)
    assert loss.scores([[0, 0.5, 4]]).tolist() == [UNLISTED]


def test_many_instances_have_a_law_of_mass_one() -> None:
    first = [DiscreteLaw.of(np.arange(30), stats.binom.pmf(np.arange(30), 29, 0.4))] * 80
    second = [DiscreteLaw.of(np.arange(30), stats.binom.pmf(np.arange(30), 29, 0.42))] * 80
    law = SummedLoss(first, second).law(first)
    assert law.pmf.sum() + law.outside == pytest.approx(1.0, abs=1e-12)
    assert 150 < law.variance**0.5 < 250


def binomials(rng: np.random.Generator, runs: int) -> np.ndarray:
    return rng.binomial(9, 0.3, (runs, 6)) * 0.5


LAWS = [DiscreteLaw.of(np.arange(10) * 0.5, stats.binom.pmf(np.arange(10), 9, 0.3))] * 6


def counted(laws: list[DiscreteLaw], outputs: np.ndarray) -> Sides:
    sides = Sides(laws)
    for part in np.array_split(outputs, 3):
        sides.update(part)
    return sides


def test_one_instance_without_noise_and_two_with_the_same() -> None:
    quiet, shared = (binomials(np.random.default_rng(seed), 200) for seed in (6, 7))
    quiet[:, 4] = 1.5
    shared[:, 5] = shared[:, 1]
    single = counted(LAWS, quiet).single()
    assert single.p_value < 1e-6
    assert "instance 4" in single.evidence
    assert counted(LAWS, shared).single().p_value > 0.01
    tied = counted(LAWS, shared).tied()
    assert tied.p_value < 1e-12
    assert tied.evidence.startswith("instances 1 and 5 ")


@pytest.mark.parametrize("at", [(0, 2, 5), (1, 2, 3, 4)])
def test_sets_of_instances_that_only_together_tell(at: tuple[int, ...]) -> None:
    # Any two of them are independent; the parity of the sides of all is the same in half of the runs.
    rng = np.random.default_rng(3)
    outputs = binomials(rng, 1_000)
    cut = Sides(LAWS)._cuts[0, 0]
    odd = (outputs[:, list(at)] > cut).sum(axis=1) % 2 == 1
    turned = odd & (rng.random(1_000) < 0.7)
    outputs[turned, at[-1]] = np.where(outputs[turned, at[-1]] > cut, 0.5, 2.5)
    sides = counted(LAWS, outputs)
    assert sides.sets == 20 + 15
    found = sides.several()
    assert found.p_value < 1e-12
    assert found.evidence.startswith(f"of instances {', '.join(map(str, at))} an odd number is above")
    # The p-value is the union bound of exact tails, by counting each set by itself.
    above = outputs > cut
    chance = float(LAWS[0].pmf[LAWS[0].points > cut].sum())
    least = 1.0
    for size in (3, 4):
        for each in itertools.combinations(range(6), size):
            seen = int((above[:, each].sum(axis=1) % 2 == 1).sum())
            odd_chance = (1.0 - (1.0 - 2.0 * chance) ** size) / 2.0
            tail = min(stats.binom.cdf(seen, 1_000, odd_chance), stats.binom.sf(seen - 1, 1_000, odd_chance))
            least = min(least, 2.0 * float(tail))
    assert found.p_value == pytest.approx(35 * least, rel=1e-6)
    assert counted(LAWS, binomials(rng, 1_000)).several().p_value > 1e-6


def test_the_p_values_are_binomial_tails() -> None:
    sides = counted([DiscreteLaw.from_mapping({0: 0.25, 1: 0.75})], np.repeat([1.0, 0.0], [40, 10])[:, np.newaxis])
    # Both events are the same here: the cut is between 0 and 1, and only 0 is farther than sqrt(3)/4 from 3/4.
    assert sides.single().p_value == pytest.approx(min(1.0, 4.0 * float(stats.binom.sf(39, 50, 0.75))))
    assert (sides.constant, sides.agreement) == (0.75, 0.0)


def test_shapes_are_checked() -> None:
    with pytest.raises(ValueError, match="first and second hold 3 and 2 laws"):
        SummedLoss(FIRST, SECOND[:2])
    with pytest.raises(ValueError, match=r"outputs has shape \(2, 2\)"):
        SummedLoss(FIRST, SECOND).scores(np.zeros((2, 2)))
