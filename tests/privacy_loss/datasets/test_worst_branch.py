"""The largest sum over a tree of branches: what is left bounds every leaf, and little is looked at."""

import numpy as np
import pytest

from dpverify.privacy_loss.datasets.covers import Branch
from dpverify.privacy_loss.datasets.worst_branch import worst_branch
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution

PAIR = PrivacyLossDistribution(np.zeros(1), np.ones(1))


def tree(rng: np.random.Generator, depth: int, most: float, sums: dict[Branch, float]) -> Branch:
    """Return a branch, with sums that fall from each to its parts."""
    value = most * rng.uniform(0.5, 1.0)
    parts = [tree(rng, depth - 1, value, sums) for _ in range(rng.integers(1, 4))] if depth else []
    branch = Branch(PAIR, lambda: parts)
    sums[branch] = value
    return branch


def ends(branch: Branch) -> list[Branch]:
    parts = branch.split()
    return [end for part in parts for end in ends(part)] if parts else [branch]


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("most_splits", [0, 2, 300])
def test_what_is_left_bounds_every_end_of_the_tree(seed: int, most_splits: int) -> None:
    rng, sums, looked_at = np.random.default_rng(seed), dict[Branch, float](), list[Branch]()
    branches = [tree(rng, 3, 1.0, sums) for _ in range(3)]
    largest = max(sums[end] for branch in branches for end in ends(branch))

    def sum_of(branch: Branch) -> float:
        looked_at.append(branch)
        return sums[branch]

    found = worst_branch(
        branches, lambda some: [1.1 * sums[one] for one in some], sum_of, enough=0.0, most_splits=most_splits
    )
    assert found.largest == max(found.sums) >= largest
    assert most_splits < 300 or found.largest == largest
    left = {end for leaf in found.leaves for end in ends(leaf)}
    assert left == {end for branch in branches for end in ends(branch)}
    assert all(sums[leaf] <= high for leaf, high in zip(found.leaves, found.sums, strict=True))
    assert len(looked_at) == len(set(looked_at))


def test_what_is_below_the_least_or_enough_is_left_as_it_is() -> None:
    sums = dict[Branch, float]()
    branches = [tree(np.random.default_rng(1), 2, 1.0, sums) for _ in range(2)]
    nothing = worst_branch(branches, lambda some: [sums[one] for one in some], {}.__getitem__, least=2.0)
    assert nothing.largest == 2.0
    assert set(nothing.leaves) == set(branches)
    whole = worst_branch(branches, lambda some: [1.0 for _ in some], sums.__getitem__, enough=1.0)
    assert whole.largest == max(sums[branch] for branch in branches)
