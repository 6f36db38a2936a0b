"""What every protocol asks of its parameters: beyond each end of a range, it is refused by its name."""

import dataclasses
import math
from typing import Any

import pytest

from protocols.bitsum import (
    CentralDiscreteGaussian,
    CentralDiscreteLaplace,
    CentralGaussian,
    NegativeBinomial,
    Poisson,
    Pure,
    RandomizedResponse,
    ThreeNB,
)
from protocols.local.baselines import CentralLaplaceMean
from protocols.local.labels import LabelRandomizedResponse
from protocols.lsq import ExponentialTessellation, GaussianFeatures, Identity, LinearMap
from protocols.rappor import BloomFilter, Rappor
from protocols.shuffled_mean import ShuffledMean
from protocols.user_level.central_selection import ExponentialSelection
from protocols.user_level.littlestone import FrequentLearner
from protocols.user_level.local_selection import HadamardSelection
from protocols.user_level.lower_bound import LearnedRepresentation
from protocols.user_level.representations import DecisionLists, HashedPoints, Repeated, Thresholds
from protocols.user_level.separators import Separators, SeparatorSearch
from protocols.user_level.stable_learner import WeighingLearner
from protocols.user_level.statistical_queries import Bisection, QueryLearner
from protocols.vector_sum import VectorSum
from tests.refusals import refused

NAN, INF = math.nan, math.inf
WRONG: list[tuple[Any, dict[str, tuple[Any, ...]]]] = [
    (CentralGaussian(3, 1.0), {"sigma": (-1.0,)}),
    (CentralDiscreteGaussian(3, 1.0), {"sigma": (0.0, 2.0**26 + 1)}),
    (CentralDiscreteLaplace(3, 0.5), {"p": (-0.1, 1.0)}),
    (NegativeBinomial(3, 2.0, 0.4), {"p": (-0.1, 1.0), "shape": (0.0, NAN)}),
    (Poisson(3, 1.0), {"mean": (-1.0, INF, NAN)}),
    (Pure(3, 0.4), {"p": (1.0,), "drop_probability": (-0.1, 1.0), "flood_p": (1.0,), "flood_shape": (0.0,)}),
    (RandomizedResponse(3, 0.1), {"flip_probability": (-0.1, 0.5, 1.0, NAN)}),
    (ThreeNB(3, 0.4, 1.0, 0.5), {"p": (-0.1, 1.0), "flood_p": (1.0,), "flood_shape": (0.0,), "shape": (INF,)}),
    (CentralLaplaceMean(4, 1.0), {"users": (0,), "epsilon": (0.0,), "largest": (-1.0,)}),
    (LabelRandomizedResponse(3, 1.0), {"epsilon": (0.0, -1.0, 701.0, INF, NAN), "classes": (0,)}),
    (ShuffledMean(6, 0.5), {"coin_probability": (0.0, 1.0, -0.1, NAN, 5e-324)}),
    (
        VectorSum(3, 3, 2, 0.4),
        {"users": (0,), "levels": (0,), "blanket_probability": (1.0, NAN), "sampled": (0, 4), "centre": (1.5,)},
    ),
    (BloomFilter(4, 2), {"bits": (0, 10**7 + 1), "hashes": (0, 5), "cohorts": (0,)}),
    (BloomFilter(128, 2), {"hashes": (65,)}),
    (Rappor(3, 2, f=0.5, p=0.25, q=0.875), {"f": (0.0, 1.0), "p": (0.0,), "q": (1.0, NAN, 0.25), "reports": (0,)}),
    (GaussianFeatures(2), {"bandwidth": (0.0, -1.0, INF, NAN)}),
    (ExponentialTessellation(2), {"radius": (0.0,)}),
    # The squares of 1e-170 are 0: a norm would not tell that the vector is far outside a ball of radius 1e-200.
    (Identity(2, radius=1.0), {"radius": (0.0, -1.0, INF, 1e-200, 1e200), "outside": ("clip",)}),
    (LinearMap(4), {"kind": ("gauss",), "limit": (0.0,), "rows": (0,), "gain": (0.0,), "seed": (-1,)}),
    (ExponentialSelection(3, 3, 1.0), {"epsilon": (0.0, 101.0, INF)}),
    (HadamardSelection(3, 1.0), {"epsilon": (0.0, -1.0, 701.0, NAN), "candidates": (10**18 + 1,)}),
    (Thresholds(3), {"size": (0,)}),
    (DecisionLists(3), {"variables": (6,)}),
    (HashedPoints(3, 2), {"size": (0,), "buckets": (1,)}),
    (Repeated(Thresholds(3), 2), {"copies": (0,), "representation": (3,)}),
    (Separators(2), {"variables": (5,)}),
    (SeparatorSearch(2, 0.5), {"alpha": (0.0,)}),
    (WeighingLearner(Thresholds(3), 1.0), {"sharpness": (0.0, -1.0, NAN, INF), "representation": (3,)}),
    (Bisection(3, 0.5), {"tolerance": (0.0, 1.0, -0.5)}),
    (QueryLearner(Bisection(3, 0.5)), {"algorithm": (3,)}),
    (FrequentLearner(Thresholds(3), 0.1, 1, 1), {"representation": (3,), "share": (1.5,), "batch": (0,)}),
    (LearnedRepresentation(Thresholds(3), lambda rng: None, 1), {"runs": (0,), "represented": (5,)}),
]


@pytest.mark.parametrize(
    ("made", "name", "value"),
    [(made, name, value) for made, wrong in WRONG for name, values in wrong.items() for value in values],
    ids=lambda part: type(part).__name__ if dataclasses.is_dataclass(part) else str(part),
)
def test_what_is_out_of_range_is_refused_by_its_name(made: Any, name: str, value: Any) -> None:
    with refused(f"{name}={value!r}", TypeError if dataclasses.is_dataclass(getattr(made, name)) else ValueError):
        dataclasses.replace(made, **{name: value})


def test_the_probabilities_of_reports_are_in_order() -> None:
    with refused("q=0.875"):
        Rappor(3, 2, f=0.5, p=0.9, q=0.875)
