"""Faults of the protocols that hide the sum in divisible noise, and of central noise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.audit.subjects.bitsum import Implementation
from protocols.bitsum import (
    BitsumProtocol,
    CentralDiscreteGaussian,
    CentralDiscreteLaplace,
    Estimate,
    NegativeBinomial,
    Poisson,
    Pure,
    ThreeNB,
)
from protocols.bitsum.base import messages_by_symbol
from protocols.bitsum.three_nb import negative_binomial
from protocols.shuffler import UserMessages
from tests.faults.bitsums import fault
from tests.faults.fault import Fault

__all__ = ["NOISE_FAULTS", "altered", "analyzer_of", "messages_of", "views_of", "with_deviation"]

Bits = NDArray[np.int64]
Counts = dict[int, Bits]

THREE_NB = ThreeNB(20, 0.6, 2.0, 0.5)
NB = NegativeBinomial(20, 5.0, 0.3)
UNDER = NegativeBinomial(20, 5.0, 0.3, estimate=Estimate.UNDER)
POISSON = Poisson(20, 12.0)
PURE = Pure(20, 0.6, 0.2, 2.0, 0.5)
LAPLACE = CentralDiscreteLaplace(20, 0.6)
GAUSSIAN = CentralDiscreteGaussian(20, 2.0)


def nb(rng: np.random.Generator, shape: float, p: float, size: int) -> Bits:
    return negative_binomial(rng, shape, p, size)


def _arguments(protocol: BitsumProtocol) -> dict[str, Any]:
    return {field.name: getattr(protocol, field.name) for field in fields(protocol)}


def messages_of(reference: BitsumProtocol, counts: Callable[[Bits, np.random.Generator], Counts]) -> Any:
    """Return an implementation whose users send these counts, and whose analyzer is right."""

    class Faulty(type(reference)):  # type: ignore[misc]
        def _randomize(self, bits: Bits, rng: np.random.Generator) -> UserMessages:
            return messages_by_symbol(counts(bits, rng))

        def __repr__(self) -> str:
            return f"faulty {reference!r}"

    faulty = Faulty(**_arguments(reference))
    return lambda: Implementation.of(faulty)


def views_of(reference: BitsumProtocol, sample: Callable[[Bits, int, np.random.Generator], Bits]) -> Any:
    """Return an implementation whose views are drawn so, and whose analyzer is right."""

    class Faulty(type(reference)):  # type: ignore[misc]
        def _sample_view(self, ones: Bits, participants: int, rng: np.random.Generator) -> Bits:
            return sample(ones, participants, rng)

    faulty = Faulty(**_arguments(reference))
    return lambda: Implementation.of(faulty, aggregated=True)


def analyzer_of(reference: BitsumProtocol, analyze: Callable[[Bits], NDArray[Any]]) -> Any:
    """Return an implementation whose views are right, and whose analyzer is not."""

    class Faulty(type(reference)):  # type: ignore[misc]
        def _analyze(self, view: Bits) -> NDArray[np.float64]:
            return np.asarray(analyze(view), dtype=np.float64)

    faulty = Faulty(**_arguments(reference))
    return lambda: Implementation.of(faulty, aggregated=True)


def altered(reference: BitsumProtocol, **changes: float) -> Any:
    """Return an implementation whose users have other parameters than the analyzer."""
    other = replace(reference, **changes)
    return views_of(reference, lambda ones, participants, rng: other._sample_view(ones, participants, rng))


def with_deviation(factor: float) -> float:
    """Return the p at which `sqrt(2 p) / (1 - p)`, discrete Laplace noise's deviation, is so many times that at 0.6."""
    half = 1.0 + (0.4 / factor) ** 2 / 1.2
    return half - (half * half - 1.0) ** 0.5


@dataclass(frozen=True)
class Pieces:
    """The three pieces of 3NB noise of each user, with knobs for what can go wrong."""

    p: float = 0.6
    flood_p: float = 0.5
    divide: float = 20.0

    def __call__(self, bits: Bits, rng: np.random.Generator) -> tuple[Bits, Bits, Bits]:
        up, down = (nb(rng, 1.0 / self.divide, self.p, bits.size) for _ in range(2))
        return up, down, nb(rng, 2.0 / self.divide, self.flood_p, bits.size)


def _one_term_missing(bits: Bits, rng: np.random.Generator) -> Counts:
    up, _, flood = Pieces()(bits, rng)
    return {1: bits + up + flood, -1: flood}


def _numpy_convention(bits: Bits, rng: np.random.Generator) -> Counts:
    up, down, flood = Pieces(p=0.4)(bits, rng)
    return {1: bits + up + flood, -1: down + flood}


def _undivided(bits: Bits, rng: np.random.Generator) -> Counts:
    up, down, flood = Pieces(divide=1.0)(bits, rng)
    return {1: bits + up + flood, -1: down + flood}


def _by_participants(bits: Bits, rng: np.random.Generator) -> Counts:
    up, down, flood = Pieces(divide=float(bits.size))(bits, rng)
    return {1: bits + up + flood, -1: down + flood}


def _by_ones(bits: Bits, rng: np.random.Generator) -> Counts:
    up, down, flood = Pieces(divide=float(max(1, int(bits.sum()))))(bits, rng)
    return {1: bits + up + flood, -1: down + flood}


def _unpaired(bits: Bits, rng: np.random.Generator) -> Counts:
    up, down, flood = Pieces()(bits, rng)
    return {1: bits + up + flood, -1: down + nb(rng, 0.1, 0.5, bits.size)}


def _no_flood(bits: Bits, rng: np.random.Generator) -> Counts:
    up, down, _ = Pieces()(bits, rng)
    return {1: bits + up, -1: down}


def _same_up_and_down(bits: Bits, rng: np.random.Generator) -> Counts:
    up, _, flood = Pieces()(bits, rng)
    return {1: bits + up + flood, -1: up + flood}


def _central_user(bits: Bits, rng: np.random.Generator) -> Counts:
    """The whole noise is sent by the first user: right in total, and gone if she drops out or colludes."""
    up, down, flood = (np.zeros_like(bits) for _ in range(3))
    up[0], down[0], flood[0] = nb(rng, 1.0, 0.6, 1)[0], nb(rng, 1.0, 0.6, 1)[0], nb(rng, 2.0, 0.5, 1)[0]
    return {1: bits + up + flood, -1: down + flood}


def _shared_piece(bits: Bits, rng: np.random.Generator) -> Counts:
    up, down, flood = (np.full_like(bits, piece[0]) for piece in Pieces()(bits[:1], rng))
    return {1: bits + up + flood, -1: down + flood}


def _only_zeros_noisy(bits: Bits, rng: np.random.Generator) -> Counts:
    return {1: bits + nb(rng, 0.25, 0.3, bits.size) * (1 - bits)}


def _undivided_nb(bits: Bits, rng: np.random.Generator) -> Counts:
    return {1: bits + nb(rng, 5.0, 0.3, bits.size)}


def _numpy_nb(bits: Bits, rng: np.random.Generator) -> Counts:
    return {1: bits + nb(rng, 0.25, 0.7, bits.size)}


def _rounded_shape(bits: Bits, rng: np.random.Generator) -> Counts:
    return {1: bits + nb(rng, float(round(5.0 / 20.0)), 0.3, bits.size)}


def _ones_counted(bits: Bits, rng: np.random.Generator) -> Counts:
    return {1: bits + nb(rng, 0.25, 0.3, bits.size)}


def _undivided_poisson(bits: Bits, rng: np.random.Generator) -> Counts:
    return {1: bits + rng.poisson(12.0, bits.size)}


def _squared_poisson(bits: Bits, rng: np.random.Generator) -> Counts:
    return {1: bits + rng.poisson(12.0**0.5 / 20.0, bits.size)}


def _normal_poisson(ones: Bits, participants: int, rng: np.random.Generator) -> Bits:
    mean = 12.0 * participants / 20.0
    return np.maximum(ones + np.rint(rng.normal(mean, mean**0.5, ones.shape)).astype(np.int64), 0)[..., np.newaxis]


def _drops_nothing(bits: Bits, rng: np.random.Generator) -> Counts:
    return _correct_three_nb(bits, rng)


def _correct_three_nb(bits: Bits, rng: np.random.Generator) -> Counts:
    up, down, flood = Pieces()(bits, rng)
    return {1: bits + up + flood, -1: down + flood}


def _replaces_zeros(bits: Bits, rng: np.random.Generator) -> Counts:
    return _correct_three_nb(np.where(rng.random(bits.size) < 0.2, 1, bits), rng)


def _drops_noise_too(bits: Bits, rng: np.random.Generator) -> Counts:
    kept = rng.random(bits.size) >= 0.2
    return {symbol: count * kept for symbol, count in _correct_three_nb(bits, rng).items()}


def _keeps_with_q(bits: Bits, rng: np.random.Generator) -> Counts:
    return _correct_three_nb(bits * (rng.random(bits.size) < 0.2), rng)


def _rounded_laplace(ones: Bits, participants: int, rng: np.random.Generator) -> Bits:
    return (ones + np.rint(rng.laplace(0.0, -1.0 / np.log(0.6), ones.shape)).astype(np.int64))[..., np.newaxis]


def _truncated_laplace(ones: Bits, participants: int, rng: np.random.Generator) -> Bits:
    noise = nb(rng, 1.0, 0.6, ones.size) - nb(rng, 1.0, 0.6, ones.size)
    return (ones + np.clip(noise.reshape(ones.shape), -4, 4))[..., np.newaxis]


def _one_sided_laplace(ones: Bits, participants: int, rng: np.random.Generator) -> Bits:
    return (ones + rng.geometric(0.4, ones.shape) - 1)[..., np.newaxis]


def _numpy_geometric(ones: Bits, participants: int, rng: np.random.Generator) -> Bits:
    """One geometric variable starts at 1, as numpy's does, the other at 0."""
    return (ones + rng.geometric(0.4, ones.shape) - (rng.geometric(0.4, ones.shape) - 1))[..., np.newaxis]


def _zero_twice(ones: Bits, participants: int, rng: np.random.Generator) -> Bits:
    """A random sign on a geometric magnitude: 0 is drawn with both signs, so too often (canonne2020, Algorithm 2)."""
    sign = 2 * rng.integers(0, 2, ones.shape) - 1
    return (ones + sign * (rng.geometric(0.4, ones.shape) - 1))[..., np.newaxis]


def _rounded_gaussian(ones: Bits, participants: int, rng: np.random.Generator) -> Bits:
    return (ones + np.rint(rng.normal(0.0, 2.0, ones.shape)).astype(np.int64))[..., np.newaxis]


def _variance_for_deviation(ones: Bits, participants: int, rng: np.random.Generator) -> Bits:
    return CentralDiscreteGaussian(20, 2.0**0.5)._sample_view(ones, participants, rng)


def _floor_laplace(ones: Bits, participants: int, rng: np.random.Generator) -> Bits:
    """Noise rounded towards zero."""
    return (ones + np.trunc(rng.laplace(0.0, -1.0 / np.log(0.6), ones.shape)).astype(np.int64))[..., np.newaxis]


C = "conformance"
NOISE_FAULTS: tuple[Fault, ...] = tuple(
    fault(*entry)
    for entry in (
        ("3nb-scale-10-percent-low", "3nb", "noise of 10 % less standard deviation", "a rounded constant", C,
         THREE_NB, altered(THREE_NB, p=with_deviation(0.9))),
        ("3nb-scale-5-percent-low", "3nb", "noise of 5 % less standard deviation", "a rounded constant", C,
         THREE_NB, altered(THREE_NB, p=with_deviation(0.95))),
        ("3nb-scale-10-percent-high", "3nb", "noise of 10 % more standard deviation", "a safety margin twice", C,
         THREE_NB, altered(THREE_NB, p=with_deviation(1.1))),
        ("3nb-one-term-missing", "3nb", "Z2 is missing: the noise is one-sided", "dropped in refactoring", C,
         THREE_NB, messages_of(THREE_NB, _one_term_missing)),
        ("3nb-numpy-convention", "3nb", "p and 1 - p exchanged", "numpy and scipy call 1 - p what papers call p", C,
         THREE_NB, messages_of(THREE_NB, _numpy_convention)),
        ("3nb-undivided", "3nb", "each user sends noise enough for all", "r instead of r / n", C,
         THREE_NB, messages_of(THREE_NB, _undivided)),
        ("3nb-n-from-participants", "3nb", "pieces divided by those who take part, not by the public n",
         "n = len(data)", C, THREE_NB, messages_of(THREE_NB, _by_participants)),
        ("3nb-n-from-private-data", "3nb", "pieces divided by the number of ones", "len() of a filtered table", C,
         THREE_NB, messages_of(THREE_NB, _by_ones)),
        ("3nb-flood-not-in-pairs", "3nb", "Z3 drawn apart for the two symbols", "one function called twice", C,
         THREE_NB, messages_of(THREE_NB, _unpaired)),
        ("3nb-no-flood", "3nb", "Z3 is missing", "the sum is right without it", C,
         THREE_NB, messages_of(THREE_NB, _no_flood)),
        ("3nb-cancelling-noise", "3nb", "Z1 and Z2 are the same draw", "two generators with one seed", C,
         THREE_NB, messages_of(THREE_NB, _same_up_and_down)),
        ("3nb-first-user-noisy", "3nb", "one user sends all the noise", "simulated centrally, then deployed",
         "pieces", THREE_NB, messages_of(THREE_NB, _central_user)),
        ("3nb-shared-piece", "3nb", "all users draw the same piece", "a seed in the client's image", C,
         THREE_NB, messages_of(THREE_NB, _shared_piece)),
        ("3nb-sign-of-minus", "3nb", "messages -1 are added", "an unsigned symbol", C,
         THREE_NB, analyzer_of(THREE_NB, lambda view: view[..., 0] + view[..., 1])),
        ("3nb-minus-first", "3nb", "the difference is taken the other way round", "the order of a dict's keys", C,
         THREE_NB, analyzer_of(THREE_NB, lambda view: view[..., 1] - view[..., 0])),
        ("nb-undivided", "nb", "each user sends noise enough for all", "r instead of r / n", C,
         NB, messages_of(NB, _undivided_nb)),
        ("nb-numpy-convention", "nb", "p and 1 - p exchanged", "numpy's convention", C,
         NB, messages_of(NB, _numpy_nb)),
        ("nb-rounded-shape", "nb", "r / n is rounded to an integer: no noise", "an integer division", C,
         NB, messages_of(NB, _rounded_shape)),
        ("nb-ones-without-noise", "nb", "users with a one send no noise", "noise seen as a disguise of zeros", C,
         NB, messages_of(NB, _only_zeros_noisy)),
        ("nb-scale-10-percent-low", "nb", "noise of 10 % less standard deviation", "a rounded constant", C,
         NB, altered(NB, shape=4.05)),
        ("nb-no-debiasing", "nb", "the mean of the noise is not subtracted", "ghazi2021's analyzer, used as unbiased",
         C, NB, analyzer_of(NB, lambda view: view[..., 0])),
        ("nb-wrong-mean", "nb", "subtracts r (1-p)/p", "the mean in numpy's convention", C,
         NB, analyzer_of(NB, lambda view: view[..., 0] - 5.0 * 0.7 / 0.3)),
        ("nb-under-counts-ones", "nb", "users count ones, the analyzer subtracts from n", "labels exchanged", C,
         UNDER, messages_of(UNDER, _ones_counted)),
        ("nb-under-off-by-one", "nb", "n - 1 instead of n", "the user herself left out", C,
         UNDER, analyzer_of(UNDER, lambda view: 19 - view[..., 0])),
        ("poisson-undivided", "poisson", "each user sends noise enough for all", "mean instead of mean / n", C,
         POISSON, messages_of(POISSON, _undivided_poisson)),
        ("poisson-deviation-for-mean", "poisson", "the mean is the standard deviation", "a variance named scale", C,
         POISSON, messages_of(POISSON, _squared_poisson)),
        ("poisson-mean-10-percent-low", "poisson", "a mean 10 % too small", "a rounded constant", C,
         POISSON, altered(POISSON, mean=10.8)),
        ("poisson-normal", "poisson", "a rounded normal variable instead", "the approximation of textbooks", C,
         POISSON, views_of(POISSON, _normal_poisson)),
        ("pure-drop-uncorrected", "pure", "the sum is not divided by 1 - q",
         "so in a published implementation of wagner2025", C,
         PURE, analyzer_of(PURE, lambda view: view[..., 0] - view[..., 1])),
        ("pure-drop-missing", "pure", "ones are never dropped, and the sum divided by 1 - q",
         "q left at its default in the client", C, PURE, messages_of(PURE, _drops_nothing)),
        ("pure-drop-flipped", "pure", "keeps with probability q", "q and 1 - q exchanged", C,
         PURE, messages_of(PURE, _keeps_with_q)),
        ("pure-replaces-zeros", "pure", "zeros become ones with probability q", "the branch of the wrong bit", C,
         PURE, messages_of(PURE, _replaces_zeros)),
        ("pure-drops-noise", "pure", "a user who drops her one drops her noise too", "an early return", C,
         PURE, messages_of(PURE, _drops_noise_too)),
        ("pure-scale-5-percent-low", "pure", "noise of 5 % less standard deviation", "a rounded constant", C,
         PURE, altered(PURE, p=with_deviation(0.95))),
        ("laplace-rounded", "central-discrete-laplace", "continuous Laplace noise, rounded",
         "the usual shortcut; the law differs most at 0", C, LAPLACE, views_of(LAPLACE, _rounded_laplace)),
        ("laplace-cut", "central-discrete-laplace", "Laplace noise cut towards 0", "an int() around the noise", C,
         LAPLACE, views_of(LAPLACE, _floor_laplace)),
        ("laplace-truncated", "central-discrete-laplace", "noise clipped to [-4, 4]", "outliers removed", C,
         LAPLACE, views_of(LAPLACE, _truncated_laplace)),
        ("laplace-one-sided", "central-discrete-laplace", "geometric noise of one sign", "counts must be positive", C,
         LAPLACE, views_of(LAPLACE, _one_sided_laplace)),
        ("laplace-numpy-geometric", "central-discrete-laplace", "one of two geometrics starts at 1",
         "numpy's geometric starts at 1", C, LAPLACE, views_of(LAPLACE, _numpy_geometric)),
        ("laplace-two-zeros", "central-discrete-laplace", "0 is drawn with both signs",
         "the rejection step that canonne2020 needs is forgotten", C, LAPLACE, views_of(LAPLACE, _zero_twice)),
        ("gaussian-rounded", "central-discrete-gaussian", "normal noise, rounded", "the usual shortcut: at sigma = 2 "
         "the laws differ by 1 % of variance", C, GAUSSIAN, views_of(GAUSSIAN, _rounded_gaussian)),
        ("gaussian-variance-for-deviation", "central-discrete-gaussian", "sigma is sqrt(sigma)",
         "variance and standard deviation exchanged", C, GAUSSIAN, views_of(GAUSSIAN, _variance_for_deviation)),
    )
)  # fmt: skip
