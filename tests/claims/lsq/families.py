"""The checks that the tests of every family's twin inherit."""

from typing import ClassVar

import numpy as np
import pytest

from dpverify.claims.bitsum import claims_of
from dpverify.claims.kde.error import mse, sup_rmse
from protocols.bitsum import BitsumProtocol, ExactSum, RandomizedResponse
from protocols.kde import KernelDensityProtocol
from protocols.lsq import LSQFamily
from protocols.streaming import count_groups
from tests.samples import assert_mean

USERS = 4
BITSUMS: tuple[BitsumProtocol, ...] = (ExactSum(USERS), RandomizedResponse(USERS, 0.2))
RUNS = 5_000


def rmse_of(bitsum: BitsumProtocol) -> float:
    return 0.0 if isinstance(bitsum, ExactSum) else claims_of(bitsum).rmse(bitsum)


def users_of(family: LSQFamily, seed: int = 1, count: int = USERS) -> np.ndarray:
    """Unit vectors that lean to one side."""
    vectors = np.random.default_rng(seed).normal(size=(count, family.dimension))
    vectors[:, 0] += 1.0
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


class FamilyContract:
    """Inherit it, and set `families` to instances of one class."""

    families: ClassVar[tuple[LSQFamily, ...]]

    @pytest.mark.parametrize("bitsum", BITSUMS, ids=lambda bitsum: type(bitsum).__name__)
    def test_exact_error_against_simulation(self, bitsum: BitsumProtocol) -> None:
        for number, family in enumerate(self.families):
            x, rng = users_of(family), np.random.default_rng([2, number])
            y = np.concatenate([0.8 * x[:1], -0.5 * x[1:2] + 0.3 * x[2:3]])
            truth = family.kernel(x, y).mean(axis=0)
            if family.deterministic:
                protocol = KernelDensityProtocol(bitsum, family.sample(1, rng))
                # Some hundred runs as so many groups of users, which are counted in one pass.
                users, groups = np.tile(x, (500, 1)), np.repeat(np.arange(500), USERS)
                counts = count_groups(protocol.features, users, groups, rng, name="x")
                estimates = np.array([protocol.publish(each, rng)(y) for each in counts.values()])
            else:
                # Instances are independent, so each is a run of the protocol with I = 1.
                features = family.sample(RUNS, rng)
                density = KernelDensityProtocol(bitsum, features).simulate(x, rng, chunk_size=1)
                estimates = np.einsum("ij,yij->iy", density.published, features.g(y)) / USERS
            exact = [mse(family, x, query, instances=1, bitsum_rmse=rmse_of(bitsum)) for query in y]
            assert_mean((estimates - truth) ** 2, np.array(exact))

    def test_supremum_holds_at_random_queries(self) -> None:
        for family in self.families:
            rng = np.random.default_rng(3)
            for count in (1, 6):
                x, instances = users_of(family, 4, count), 1 if family.deterministic else 5
                worst = sup_rmse(family, x, instances=instances, bitsum_rmse=0.5)
                y = rng.normal(size=(40, family.dimension))
                y *= rng.random((40, 1)) / np.linalg.norm(y, axis=1, keepdims=True)
                errors = [mse(family, x, query, instances=instances, bitsum_rmse=0.5) for query in y]
                assert max(errors) ** 0.5 <= worst.sup_rmse.upper
                assert worst.sup_rmse.upper <= worst.published
                # The lower end is the error at a query of the domain.
                at = mse(family, x, worst.query, instances=instances, bitsum_rmse=0.5)
                assert at**0.5 == pytest.approx(worst.sup_rmse.lower, rel=1e-6)
                told = sup_rmse(family, x, instances=instances, bitsum_rmse=0.5, queries=y[:15])
                assert told.sup_rmse.lower >= max(errors[:15]) ** 0.5 * (1 - 1e-6)

    def test_instances_divide_the_variance_only(self) -> None:
        for family in self.families:
            if family.deterministic:
                continue
            x = users_of(family, 5)
            bias = self.bias(family, x, 0.4 * x[0])
            one, many = (mse(family, x, 0.4 * x[0], instances=i, bitsum_rmse=1.5) for i in (1, 10))
            assert many == pytest.approx(bias**2 + (one - bias**2) / 10, rel=1e-9)
            assert bias <= family.beta

    def bias(self, family: LSQFamily, x: np.ndarray, y: np.ndarray) -> float:
        return 0.0
