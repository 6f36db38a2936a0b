"""Privacy amplification by shuffling: upper bounds by clones and blankets, lower bounds by datasets that attain them.

An upper bound is a *cover*: pairs of which one dominates the view, whatever the mechanism of a class and the dataset.
The proofs are in docs/amplification.md. With `p` the largest ratio of the victim's two laws, of total variation
`(p - 1) alpha`, and `q` that of her laws to another user's, the pair at alpha is

    first = (p alpha, alpha, rho),  second = (alpha, p alpha, rho),  others = (alpha p / q, alpha p / q, rho / q),

rho = 1 - (p + 1) alpha. The total variation may be less than its bound, so that a cover needs all smaller alpha: cells
of alpha whose pairs one pair dominates.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dpverify.privacy_loss.shuffling.amplified_curve import Amplification, Cover
from dpverify.privacy_loss.shuffling.hidden_report import HiddenReport
from dpverify.rounding import UNIT
from protocols.validation import check_integer, check_probability, check_real

__all__ = [
    "Amplification",
    "adaptive",
    "approximate",
    "clones",
    "merged_response",
    "pure",
    "randomized_response",
    "reports",
    "variation_ratio",
]

_GAP = 1e-6
"""The first cell of alpha, relative: it costs about half of this, relative, in epsilon."""
_FINE, _ROUGH = 3e-4, 0.03
_MOST_INPUTS = 12
"""With more extreme inputs than this, lower bounds look at some of the datasets only."""
_SMALLEST, _LARGEST = 1e-12, 300.0


def _array(*entries: float) -> NDArray[np.float64]:
    return np.array(entries, dtype=np.float64)


def _two(users: int, high: float, low: float, coin: float) -> HiddenReport:
    """Return the pair of two counts: a report of (high, low) or reversed, among coins of probability `coin` each."""
    return HiddenReport(users, _array(coin, coin), _array(high, low), _array(low, high), error=16.0 * UNIT)


def _cover(p: float, q: float, total_variation: float, users: int) -> Cover:
    """Return pairs that dominate those at all alpha up to `total_variation / (p - 1)`."""
    share = min(total_variation / (p - 1.0) * (p + 1.0) * (1.0 + 16.0 * UNIT), 1.0)
    pairs: list[HiddenReport] = []
    # share is (p + 1) alpha and gap is rho, 1 - share: each is kept accurate where it is small.
    gap, top = 1.0 - share, share
    width = 0.5 * _GAP * gap
    if gap < _GAP:
        # A report elsewhere is known to be: the divergence is at most that of the pair given that it is not.
        gap, share, width = _GAP, 1.0 - _GAP, 0.5 * _GAP
        pairs.append(_two(users, p / (p + 1.0), 1.0 / (p + 1.0), share / (p + 1.0) * (p / q)))
    while share > 0.0:
        if width >= 0.5 * share:
            width = share
        alpha, third = share / (p + 1.0), (gap - (p - 1.0) / (p + 1.0) * width * (1.0 + 1e-9)) / q
        coin = alpha * (p / q)
        pairs.append(
            HiddenReport(
                users,
                _array(coin, coin, third),
                _array(p * alpha, alpha, gap),
                _array(alpha, p * alpha, gap),
                error=64.0 * UNIT,
                # Far from the top less is at stake: a rough bound does.
                smoothing=min(max(0.3 * math.sqrt(1.0 - share / top), _FINE), _ROUGH),
            )
        )
        share, gap = (share - width, 1.0 - (share - width)) if gap > 0.5 else (1.0 - (gap + width), gap + width)
        width = min(2.0 * width, 0.5 * gap)
    return tuple(pairs)


def clones(epsilon0: float, users: int, *, kept: float = 1.0) -> HiddenReport:
    """Return the pair of feldman2021 for every epsilon0-LDP mechanism: each other user is a coin with e^-epsilon0.

    - epsilon0: In [1e-12, 300].
    - users: n, at least 1.
    - kept: A factor of that probability, in (0, 1].
    """
    check_real("epsilon0", epsilon0, low=_SMALLEST, high=_LARGEST)
    high, low = 1.0 / (1.0 + math.exp(-epsilon0)), 1.0 / (1.0 + math.exp(epsilon0))
    check_real("kept", kept, low=0.0, high=1.0, low_open=True)
    return _two(check_integer("users", users, low=1), high, low, 0.5 * kept * math.exp(-epsilon0))


def randomized_response(epsilon0: float, classes: int) -> NDArray[np.float64]:
    """Return the probability of every report given every input, k-ary randomized response, shape (classes, classes)."""
    check_real("epsilon0", epsilon0, low=_SMALLEST, high=_LARGEST)
    check_integer("classes", classes, low=2)
    other = 1.0 / (math.exp(epsilon0) + classes - 1.0)
    matrix = np.full((classes, classes), other)
    np.fill_diagonal(matrix, math.exp(epsilon0) * other)
    return matrix


def merged_response(epsilon0: float, classes: int) -> NDArray[np.float64]:
    """Return randomized response as any three of its values see it, all further reports taken together.

    Any two inputs make every further report alike, so that nothing is lost; and all inputs are alike, so that three say
    what holds for all.

    Returns: ndarray of float64, shape (min(classes, 3), min(classes, 4)).
    """
    check_integer("classes", classes, low=2)
    matrix = randomized_response(epsilon0, min(classes, 4))[:3]
    if classes > 4:
        power = math.exp(epsilon0)
        matrix *= (power + 3.0) / (power + (classes - 1.0))
        matrix[:, 3] *= classes - 3.0
    return matrix


def _as_three_see(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return k-ary randomized response as `merged_response` does, as its pairs are all alike; others as they are."""
    own, other = matrix[0, 0], matrix[0, -1]
    if len(matrix) < 4 or own < other or (matrix != np.where(np.eye(*matrix.shape) > 0.0, own, other)).any():
        return matrix
    return np.column_stack([matrix[:3, :3], np.full(3, (matrix.shape[1] - 3) * other)])


def _merged(
    users: int,
    others: NDArray[np.float64],
    first: NDArray[np.float64],
    second: NDArray[np.float64],
    error: float,
    outside: float,
) -> HiddenReport:
    """Return the pair with reports of the same likelihoods taken together; what the others lack is seen, or missing."""
    common = others > 0.0
    hers = ~common & (second == 0.0)
    missing = float(np.maximum(first, second)[~common & ~hers].sum()) * (1.0 + 4.0 * error) + outside
    seen = float(first[hers].sum())
    others, first, second = others[common], first[common], second[common]
    _, group = np.unique(np.column_stack([first / others, second / others]), axis=0, return_inverse=True)
    others, first, second = (
        np.bincount(group.ravel(), weights=row).astype(np.float64) for row in (others, first, second)
    )
    complete = outside == 0.0 and math.isclose(float(others.sum()), 1.0, abs_tol=4.0 * error)
    return HiddenReport(users, others, first, second, missing, seen, complete, error=error)


def _distinct(pairs: Iterable[HiddenReport], most: int | None = None) -> Cover:
    """Return the pairs without repetitions, the least private first, by their indices."""
    found = {
        (report.missing, report.seen, report.others.tobytes(), report.first.tobytes(), report.second.tobytes()): report
        for report in pairs
    }
    return tuple(sorted(found.values(), key=lambda report: report.index)[:most])


def reports(
    matrix: NDArray[np.float64], users: int, *, relative_error: float = 4.0 * UNIT, outside: float = 0.0
) -> Amplification:
    """Return what holds for one mechanism with finitely many reports, whatever the dataset.

    Above: the blanket, what all inputs report at least, among all pairs of inputs. Below: all others hold one input,
    where the divergence is exact. Inputs whose law is a mixture of the rows are covered: the blanket of a mixture is no
    less, and the divergence is convex in the pair.

    - matrix (ndarray of float64, shape (inputs, reports)): The probability of every report given every input, at least
      two.
    - users: n, at least 1.
    - relative_error: Bound on the relative error of every entry.
    - outside: Bound on what each row lacks to 1: reports that are not listed, which count as seen in upper bounds.

    Raises ValueError for a matrix that holds no laws, or all inputs' reports of which have no report in common.
    """
    check_integer("users", users, low=1)
    if matrix.ndim != 2 or matrix.shape[0] < 2 or not np.isfinite(matrix).all() or (matrix < 0.0).any():
        raise ValueError(f"matrix of shape {matrix.shape} must hold the probabilities of reports, two inputs or more.")
    check_real("outside", outside, low=0.0, high=0.5)
    if float(np.abs(matrix.sum(axis=1) - 1.0).max()) > 1e-9 + outside:
        raise ValueError(f"matrix has a row that adds up to {float(matrix.sum(axis=1).min())!r}, but each must to 1.")
    matrix = _as_three_see(matrix)
    blanket = matrix.min(axis=0)
    if not blanket.any():
        raise ValueError("matrix has no report that all inputs make: nothing hides a report of the others.")
    error = 4.0 * relative_error + 16.0 * UNIT
    every = range(matrix.shape[0])
    pairs = [(x, y) for x in every for y in every if x != y and (matrix[x] != matrix[y]).any()]
    if not pairs:
        raise ValueError("matrix has the same law of reports for all inputs: there is nothing to hide.")
    cover = _distinct(_merged(users, blanket, matrix[x], matrix[y], error, outside) for x, y in pairs)
    crowd = list(every)[:_MOST_INPUTS]
    attained = _distinct(
        (
            _merged(users, matrix[z], matrix[x], matrix[y], error, outside)
            for x, y in _first(pairs, crowd)
            for z in crowd
        ),
        4,
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        losses = [np.log(matrix[x] / matrix[y])[matrix[x] > 0.0].max() for x, y in pairs]
    # What is not listed may have any loss.
    largest = float(max(losses)) if outside == 0.0 else math.inf
    least = float(max(losses))
    return Amplification(
        (cover,),
        attained,
        largest=largest + 4.0 * relative_error * (largest < math.inf) + 8.0 * UNIT * largest,
        least=least * (1.0 - 8.0 * UNIT) - 4.0 * relative_error if least < math.inf else math.inf,
    )


def _first(pairs: Sequence[tuple[int, int]], crowd: Sequence[int]) -> list[tuple[int, int]]:
    return [pair for pair in pairs if set(pair) <= set(crowd)]


def pure(epsilon0: float, users: int) -> Amplification:
    """Return what holds for every epsilon0-LDP mechanism that all users run on their inputs.

    - epsilon0: In [1e-12, 300].
    - users: n, at least 1: how many take part and follow the protocol.

    Raises TypeError or ValueError for an argument out of range.
    """
    check_integer("users", users, low=1)
    check_real("epsilon0", epsilon0, low=_SMALLEST, high=_LARGEST)
    p = math.exp(epsilon0)
    cover = _cover(p, p, (p - 1.0) / (p + 1.0), users)
    responses = (reports(randomized_response(epsilon0, classes), users) for classes in (2, 3))
    attained = _distinct(report for response in responses for report in response.attained)
    return Amplification((cover,), attained, largest=epsilon0, least=epsilon0)


def adaptive(epsilon0: float, users: int) -> Amplification:
    """Return what holds where the users come in random order, and each one's mechanism may depend on earlier reports.

    - epsilon0: In [1e-12, 300]: what every one of these mechanisms keeps, whatever was reported before.
    - users: n, at least 1.
    """
    clone = clones(epsilon0, users)
    return Amplification(((clone,),), pure(epsilon0, users).attained, largest=epsilon0, least=epsilon0)


def approximate(epsilon0: float, delta0: float, users: int) -> Amplification:
    """Return what holds for every (epsilon0, delta0)-LDP mechanism.

    - epsilon0: In [1e-12, 300].
    - delta0: In [0, 1).
    - users: n, at least 1.
    """
    check_probability("delta0", delta0, high_open=True)
    if delta0 == 0.0:
        return pure(epsilon0, users)
    moved = (users - 1) * delta0 * math.exp(-epsilon0) * (1.0 + 8.0 * UNIT)
    clone = clones(epsilon0, users, kept=(1.0 - delta0) * (1.0 - 4.0 * UNIT))
    hidden = replace(clone, missing=delta0, replaced=moved)
    # Her report alone, which is post-processed to the view, needs no one moved.
    alone = replace(clone, users=1, missing=delta0)
    return Amplification(((hidden,), (alone,)), pure(epsilon0, users).attained, least=math.inf)


def variation_ratio(ratio: float, total_variation: float, blanket_ratio: float, users: int) -> Amplification:
    """Return what holds for every mechanism with these (p, beta, q).

    - ratio: p > 1: the largest ratio of the probabilities of a report given the victim's two inputs, either way.
    - total_variation: beta in (0, (p - 1) / (p + 1)]: a bound on the distance of these two laws.
    - blanket_ratio: q >= 1: the largest ratio of either of them to the law of any other user's report.
    - users: n, at least 1.

    Raises TypeError or ValueError for an argument out of range.
    """
    p = check_real("ratio", ratio, low=1.0, low_open=True, high=math.exp(_LARGEST))
    q = check_real("blanket_ratio", blanket_ratio, low=1.0, high=math.exp(_LARGEST))
    most = (p - 1.0) / (p + 1.0)
    beta = check_real("total_variation", total_variation, low=0.0, high=most * (1.0 + 4.0 * UNIT), low_open=True)
    if 2.0 * beta / (p - 1.0) * p > q * (1.0 + 4.0 * UNIT):
        raise ValueError(
            f"blanket_ratio={blanket_ratio!r} must be at least 2 p beta / (p - 1) = {2.0 * beta * p / (p - 1.0):.6g}: "
            "two laws at this distance have more than 1 in common otherwise."
        )
    cover = _cover(p, q, beta, check_integer("users", users, low=1))
    # A mechanism of the class: its total variation is no more than beta, whatever the rounding of this.
    share = beta / (p - 1.0) * (p + 1.0) * (1.0 - 16.0 * UNIT)
    gap = max(1.0 - share, _GAP * 0.01)
    share = 1.0 - gap if gap < 0.5 else share
    alpha = share / (p + 1.0)
    coin = alpha * (p / q)
    first, second = _array(p * alpha, alpha, gap), _array(alpha, p * alpha, gap)
    pair = HiddenReport(users, _array(coin, coin, gap / q), first, second, error=64.0 * UNIT)
    return Amplification((cover,), (pair,), largest=math.log(p) * (1.0 + 4.0 * UNIT), least=math.log(p) * (1.0 - 1e-15))
