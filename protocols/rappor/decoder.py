"""From reported bits to the strings behind them: counts that add up, and a regression on candidate strings.

Every candidate's share of the users is a coefficient of one linear model of all cohorts' debiased bits, whose noise has
a known variance. Where candidates are few beside the bits, least squares is all that is needed. Else a Lasso with
positive coefficients finds the frequent ones, as in erlingsson2014, and every other candidate is fitted to what these
leave.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from protocols.classes.frozen import dataclass
from protocols.classes.optional import needing
from protocols.rappor.bloom import check_texts
from protocols.rappor.response import Rappor
from protocols.validation import check_generator, check_indices, check_integer, check_real

__all__ = ["BitCounts", "Decoded", "decode"]


_FEW = 1.0 / 8.0
"""The share of the bits up to which all candidates are fitted together: that costs 7 % of precision."""

_CLEAR = 2.0
"""The standard errors from which on a string is taken to be there when the noise of its bits is weighed."""
_MOST_USERS = 2**62
_RESOLVED = 1e-9
"""The share of a candidate's bits that must be its own, in squares: less is rounding."""
_TOO_MANY = "candidates must not be combinations of each other's bits: list fewer, or have more bits or cohorts."


@dataclass(frozen=True, eq=False)
class BitCounts:
    """How many users of each cohort reported each bit as 1, in one collection: one report of each user.

    Counts of batches add up, so that 10^9 reports take no more memory than one batch.

    Parameters
    ----------
    mechanism : Rappor
        What the users run.
    users : ndarray of int64, shape (cohorts,)
        How many users of each cohort have reported.
    ones : ndarray of int64, shape (cohorts, bits)
        How many of them sent a 1.

    Raises
    ------
    ValueError
        If the counts have another shape or kind, or there are more reports than users.

    Examples
    --------
    >>> import numpy as np
    >>> mechanism = Rappor(bits=4, hashes=1, cohorts=2, f=0.5, p=0.25, q=0.75)
    >>> counts = BitCounts.of(mechanism, [0, 0, 1], np.eye(3, 4, dtype=bool))
    >>> counts.users.tolist(), counts.ones.tolist()
    ([2, 1], [[1, 1, 0, 0], [0, 0, 1, 0]])
    """

    mechanism: Rappor
    users: NDArray[np.int64]
    ones: NDArray[np.int64]

    def __post_init__(self) -> None:
        wanted = (self.mechanism.cohorts,), (self.mechanism.cohorts, self.mechanism.bits)
        for name, array, shape in zip(("users", "ones"), (self.users, self.ones), wanted, strict=True):
            if array.shape != shape or array.dtype.kind not in "iu":
                raise ValueError(
                    f"{name} has shape {array.shape} and dtype {array.dtype}, but must hold integers, {shape}."
                )
        if not ((self.ones >= 0) & (self.ones <= self.users[:, np.newaxis])).all():
            raise ValueError("ones must hold at least 0 and at most as many reports as each cohort has users.")

    @classmethod
    def of(cls, mechanism: Rappor, cohorts: ArrayLike, bits: ArrayLike) -> BitCounts:
        """Return the counts of a batch: the users' cohorts, shape (users,), and a report of each, shape (users, bits).

        ValueError for another shape, a cohort out of range, or an entry that is no bit.
        """
        array = np.asarray(bits)
        if array.ndim != 2 or array.shape[1] != mechanism.bits:
            raise ValueError(f"bits has shape {array.shape}, but must have shape (users, {mechanism.bits}).")
        if array.dtype != np.bool_ and not ((array == 0) | (array == 1)).all():
            raise ValueError("bits must hold zeros and ones only.")
        chosen = check_indices("cohorts", cohorts, mechanism.cohorts, users=len(array))
        ones = np.zeros((mechanism.cohorts, mechanism.bits), dtype=np.int64)
        order = np.argsort(chosen, kind="stable")
        users = np.bincount(chosen, minlength=mechanism.cohorts)
        starts = np.cumsum(users) - users
        present = users > 0
        if present.any():
            ones[present] = np.add.reduceat(array[order].astype(np.int64), starts[present], axis=0)
        return cls(mechanism, users.astype(np.int64), ones)

    @classmethod
    def sample(cls, mechanism: Rappor, values: Mapping[str, int], rng: np.random.Generator) -> BitCounts:
        """Return counts of the law that reports have, for so many users of each string, in uniformly random cohorts.

        Given her cohort and string, a user's reported bits are independent: the counts are binomial, and cost nothing
        for any number of users.
        """
        check_generator("rng", rng)
        for value, number in values.items():
            check_integer(f"values[{value!r}]", number, low=0)
        if sum(values.values()) > _MOST_USERS:
            raise ValueError(f"values has {sum(values.values())} users, but must have at most 2^62.")
        uniform = np.full(mechanism.cohorts, 1.0 / mechanism.cohorts)
        holders = rng.multinomial(np.fromiter(values.values(), dtype=np.int64, count=len(values)), uniform)
        users = holders.sum(axis=0)
        positions = mechanism.filter.positions(list(values))
        true = np.zeros((mechanism.cohorts, mechanism.bits), dtype=np.int64)
        for own, places in zip(holders, positions, strict=True):
            filled = np.zeros(true.shape, dtype=np.bool_)
            np.put_along_axis(filled, places, True, axis=1)
            true += filled * own[:, np.newaxis]
        zero, one = mechanism.report_probabilities
        return cls(mechanism, users, rng.binomial(true, one) + rng.binomial(users[:, np.newaxis] - true, zero))

    def __add__(self, other: BitCounts) -> BitCounts:
        if not isinstance(other, BitCounts):
            return NotImplemented
        if other.mechanism != self.mechanism:
            raise ValueError(f"counts of {self.mechanism!r} and of {other.mechanism!r} must not be added.")
        return BitCounts(self.mechanism, self.users + other.users, self.ones + other.ones)

    @property
    def debiased(self) -> NDArray[np.float64]:
        """Unbiased estimates of how many users of each cohort hold each bit, shape (cohorts, bits)."""
        zero, one = self.mechanism.report_probabilities
        return np.asarray((self.ones - zero * self.users[:, np.newaxis]) / (one - zero))

    @property
    def noise(self) -> NDArray[np.float64]:
        """The variance that both responses add to each of them, at the debiased counts, shape (cohorts, bits)."""
        return self.noise_of(self.debiased)

    def noise_of(self, holders: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return that variance where so many users hold each bit, shape (cohorts, bits); brought into range."""
        zero, one = self.mechanism.report_probabilities
        users = self.users[:, np.newaxis]
        true = np.clip(holders, 0.0, users)
        return np.asarray((true * one * (1.0 - one) + (users - true) * zero * (1.0 - zero)) / (one - zero) ** 2)


@dataclass(frozen=True, eq=False)
class Decoded:
    """What was found of each candidate string, in the order given.

    Parameters
    ----------
    candidates : tuple of str
        The strings, in normal form C.
    counts : ndarray of float64, shape (candidates,)
        Estimates of how many users hold each; some are negative, as they must be where nobody does.
    deviations : ndarray of float64, shape (candidates,)
        Their standard errors, as estimates of a population's shares: that users are a sample of it is included.
    p_values : ndarray of float64, shape (candidates,)
        Of nobody holding it, times the number of candidates (Bonferroni), at most 1.

    Examples
    --------
    >>> import numpy as np
    >>> result = Decoded(("red", "blue"), np.array([900.0, 20.0]), np.array([50.0, 50.0]), np.array([1e-9, 1.0]))
    >>> result.found()
    {'red': 900.0}
    """

    candidates: tuple[str, ...]
    counts: NDArray[np.float64]
    deviations: NDArray[np.float64]
    p_values: NDArray[np.float64]

    def found(self, level: float = 0.05) -> dict[str, float]:
        """Return the strings that are there, with their counts, most frequent first.

        The level, in (0, 1), is about the probability, at most, that any string is named that nobody holds.
        """
        check_real("level", level, low=0.0, high=1.0, low_open=True, high_open=True)
        there = [index for index in np.argsort(-self.counts, kind="stable") if self.p_values[index] <= level]
        return {self.candidates[index]: float(self.counts[index]) for index in there}


def decode(counts: BitCounts, candidates: Sequence[str]) -> Decoded:
    """Estimate how many users hold each candidate string.

    Parameters
    ----------
    counts : BitCounts
        What the users reported.
    candidates : sequence of str
        Distinct strings, at least one. Users may hold others, whose bits are taken for random ones.

    Returns
    -------
    Decoded
        Counts, standard errors and p-values, in the order of the candidates.

    Raises
    ------
    TypeError
        If a candidate is no string.
    ValueError
        If there is none, one occurs twice or has the bits of another in every cohort, one sets all bits in every
        cohort, the bits cannot tell them apart, or nobody has reported.

    Notes
    -----
    With at most an eighth as many candidates as cohorts have bits, the estimates are those of least squares: unbiased
    if the users hold candidates only, whatever the hash functions are. With more, candidates that the Lasso leaves out
    take no part in the fit of others. Like strings that are not listed, they then bias what shares bits with them: over
    random hash functions that is noise, and the residuals' variance, where it is above that of the responses, enters
    the standard errors.

    P-values are those of a normal law. Where hardly any bit is reported by chance, fewer than ten or so of a string's
    bits by all users together, no sum is normal, and wrong strings are named more often than the level says.

    Examples
    --------
    >>> import numpy as np
    >>> mechanism = Rappor(bits=32, hashes=2, cohorts=8, f=0.2, p=0.25, q=0.75)
    >>> sent = mechanism.randomize(["red"] * 9_000 + ["blue"] * 1_000, np.random.default_rng(7))
    >>> counts = BitCounts.of(mechanism, sent.cohorts, sent.bits[:, 0])
    >>> [round(count / 1_000) for count in decode(counts, ["red", "blue", "green"]).counts.tolist()]
    [9, 1, 0]
    """
    texts = tuple(check_texts("candidates", candidates))
    if not texts:
        raise ValueError("candidates is empty, but must hold at least one string.")
    total = int(counts.users.sum())
    if total == 0:
        raise ValueError("counts hold no reports, but must hold at least one.")
    design = _design(counts.mechanism, texts)
    users = np.repeat(counts.users, counts.mechanism.bits)
    present = users > 0
    design, users = design[present], users[present]
    full = np.asarray(design.sum(axis=0)).ravel() == users.size
    if full.any():
        at = int(np.argmax(full))
        raise ValueError(f"candidates[{at}]={texts[at]!r} must leave a bit at 0 in some cohort: have more bits.")
    shares = counts.debiased.reshape(-1)[present] / users

    def noise(expected: NDArray[np.float64]) -> NDArray[np.float64]:
        holders = np.zeros(present.size)
        holders[present] = expected * users
        return counts.noise_of(holders.reshape(counts.ones.shape)).reshape(-1)[present] / users**2

    # A bit's own count must not say how noisy it is, as bits that came out low would count for more: so noise is first
    # taken for even, and then for that of the strings that stand out.
    even = noise(np.full(users.size, float(users @ shares) / float(users.sum())))
    few = len(texts) <= _FEW * users.size
    fitted = np.arange(len(texts)) if few else _frequent(design, shares, math.sqrt(float(even.mean())))
    constant, estimates, variances = _fit(design, fitted, shares, 1.0 / even)
    clear = np.where(estimates > _CLEAR * np.sqrt(variances), estimates, 0.0)
    _, estimates, variances = _fit(design, fitted, shares, 1.0 / noise(constant + design @ clear))
    held = np.clip(estimates, 0.0, 1.0)
    deviations = np.sqrt(variances + held * (1.0 - held) / total)
    p_values = np.minimum(len(texts) * scipy.stats.norm.sf(estimates / deviations), 1.0)
    return Decoded(texts, total * estimates, total * deviations, p_values)


def _design(mechanism: Rappor, texts: tuple[str, ...]) -> scipy.sparse.csc_matrix:
    """Return which candidate sets which bit, shape (cohorts * bits, candidates)."""
    positions = mechanism.filter.positions(texts)
    first: dict[bytes, int] = {}
    for index, places in enumerate(np.sort(positions, axis=2)):
        other = first.setdefault(places.tobytes(), index)
        if other != index:
            raise ValueError(
                f"candidates[{index}]={texts[index]!r} must not have the bits of candidates[{other}]={texts[other]!r} "
                "in every cohort: list each string once, and have more bits or cohorts."
            )
    rows = positions + mechanism.bits * np.arange(mechanism.cohorts)[:, np.newaxis]
    columns = np.broadcast_to(np.arange(len(texts))[:, np.newaxis, np.newaxis], rows.shape)
    shape = (mechanism.cohorts * mechanism.bits, len(texts))
    matrix = scipy.sparse.csc_matrix((np.ones(rows.size), (rows.ravel(), columns.ravel())), shape=shape)
    matrix.data[:] = 1.0  # entries of two hash functions that agree were added up
    return matrix


def _frequent(design: scipy.sparse.csc_matrix, shares: NDArray[np.float64], deviation: float) -> NDArray[np.int64]:
    """Return the candidates that a Lasso with positive coefficients keeps.

    Its penalty is where noise alone lets about one candidate pass.
    """
    with needing("Decoding reports"):
        from sklearn.linear_model import Lasso

    bits, candidates = design.shape
    penalty = math.sqrt(2.0 * math.log(max(candidates, 2)) * design.nnz / candidates) / bits
    # In units of the noise, as the solver's tolerance is relative to the size of the data.
    model = Lasso(alpha=penalty, positive=True, max_iter=10_000, tol=1e-6).fit(design, shares / deviation)
    return np.flatnonzero(model.coef_)


def _fit(
    design: scipy.sparse.csc_matrix,
    fitted: NDArray[np.int64],
    shares: NDArray[np.float64],
    weights: NDArray[np.float64],
) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
    """Return a constant, and all candidates' coefficients and their variances: of these together, then of the others.

    The others are fitted to what these leave. The constant stands for strings that are not listed, whose bits are
    spread over all.
    """
    own = scipy.sparse.hstack([np.ones((design.shape[0], 1)), design[:, fitted]], format="csc")
    weighted = own.multiply(weights[:, np.newaxis]).tocsc()
    gram = (own.T @ weighted).toarray()
    try:
        inverse = scipy.linalg.cho_solve(scipy.linalg.cho_factor(gram), np.eye(len(gram)))
    except scipy.linalg.LinAlgError:
        raise ValueError(_TOO_MANY) from None
    # Of each candidate's bits, what is no combination of the other fitted ones and the constant.
    whole = weights @ design
    rest, others = np.empty(whole.size), np.setdiff1d(np.arange(whole.size), fitted)
    rest[fitted] = 1.0 / np.diagonal(inverse)[1:]
    across = (weighted.T @ design[:, others]).toarray()
    rest[others] = whole[others] - np.einsum("ij,ij->j", across, inverse @ across)
    if shares.size <= len(gram) or not (rest > _RESOLVED * whole).all():
        raise ValueError(_TOO_MANY)
    coefficients = inverse @ (weighted.T @ shares)
    residual = shares - own @ coefficients
    # More than the noise is there, if strings are not modelled.
    excess = max(1.0, float(weights @ residual**2) / (shares.size - len(gram)))
    estimates = design.T @ (weights * residual) / rest
    estimates[fitted] = coefficients[1:]
    return float(coefficients[0]), estimates, excess / rest
