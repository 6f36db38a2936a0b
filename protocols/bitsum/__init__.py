"""Binary-sum protocols, one file each."""

from protocols.bitsum.base import BitsumProtocol
from protocols.bitsum.baselines import (
    CentralDiscreteGaussian,
    CentralDiscreteLaplace,
    CentralGaussian,
    CentralSum,
    LocalRandomizedResponse,
)
from protocols.bitsum.exact_sum import ExactSum
from protocols.bitsum.negative_binomial import Estimate, NegativeBinomial
from protocols.bitsum.poisson import Poisson
from protocols.bitsum.pure import Pure
from protocols.bitsum.randomized_response import RandomizedResponse
from protocols.bitsum.three_nb import ThreeNB

__all__ = [
    "BitsumProtocol",
    "CentralDiscreteGaussian",
    "CentralDiscreteLaplace",
    "CentralGaussian",
    "CentralSum",
    "Estimate",
    "ExactSum",
    "LocalRandomizedResponse",
    "NegativeBinomial",
    "Poisson",
    "Pure",
    "RandomizedResponse",
    "ThreeNB",
]
