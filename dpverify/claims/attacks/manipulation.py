"""How far users who send what they like move an estimate; the figures and the attacks are in docs/crowds.md.

Every analyzer here is affine in the view, but for sums modulo q: a message adds the same to the estimate whatever else
was sent. So what some users add, compared with staying away, is a sum over their messages, exactly, whatever the others
hold and draw. Modulo q, one of them adds what she likes. Reports outside the alphabet are refused by `view`, and where
the protocol has each user send a fixed number of messages the shuffler can refuse others. Where the noise has any
number of messages, so has a user, unless the shuffler caps it (`dpverify.claims.attacks.caps`).

A report of a local mechanism is debiased by itself, and then added up: what it adds is one of few numbers, of which
both ends count; Laplace noise has no ends, and neither have its reports.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpverify.claims.attacks.caps import MOST
from dpverify.claims.registry import claims_of
from dpverify.rounding import UNIT
from dpverify.shown import Plain
from protocols.bitsum.base import BitsumProtocol
from protocols.classes.frozen import dataclass
from protocols.histogram import BucketSums
from protocols.kde import KernelDensityProtocol
from protocols.local.labels import LabelRandomizedResponse
from protocols.local.laplace import DiscreteLaplaceMean, LaplaceMean
from protocols.local.means import LocalMean
from protocols.local.randomized_response import RandomizedResponseMean
from protocols.rappor.response import Rappor
from protocols.sums.augmented import AugmentedSum
from protocols.sums.base import SumProtocol
from protocols.sums.split_and_mix import SplitAndMix
from protocols.sums.vectors import UnaryVectorSum
from protocols.validation import check_integer, check_real
from protocols.vector_sum import VectorSum

__all__ = ["Manipulation", "density_manipulation", "honest_norm", "manipulation"]


@dataclass(frozen=True)
class Manipulation(Plain):
    """What some users can add to an estimate, compared with staying away; up to rounding both ends are attained.

    Of a sum of numbers from another one than 0 on it is compared with holding the smallest.

    - malicious: How many users send what they like.
    - lower, upper: The least, at most 0, and the most, at least 0, in the units of the estimate; infinite where nothing
      bounds how many messages a user sends.
    """

    malicious: int
    lower: float
    upper: float


def manipulation(
    protocol: object,
    malicious: int,
    cap: int | None = None,
    *,
    per_count: int | None = None,
    norm: float | None = None,
) -> Manipulation:
    """Return how far some users can move one estimate: of a sum, of a bucket's or label's count, of a coordinate.

    Of a `UnaryVectorSum` it is the norm by which the estimate of the sum of vectors moves; an honest user's is at most
    1, and her noise's. Of a local mean it is the sum of values: divided by how many report, that moves the mean. Of
    RAPPOR it is how many users of a cohort hold a bit (`dpverify.collection.analysis.strings` has candidates).

    Parameters
    ----------
    protocol : BitsumProtocol, SumProtocol, BucketSums, VectorSum, UnaryVectorSum, or a local mechanism
        The protocol. For `KernelDensityProtocol` see `density_manipulation`.
    malicious : int
        m, from 0 to n; of local mechanisms, which have none, any number.
    cap : int, optional
        B, from 1 to 2^53: the shuffler passes on at most so many messages of a user, in one instance (of a histogram:
        in all buckets together). Without it there is no bound where the noise has none.
    per_count : int, optional
        k, of a `UnaryVectorSum` only: at most so many of these with the same coordinate and sign. A shuffler that sees
        no messages cannot tell: who counts must be trusted with it, or each user proves it.
    norm : float, optional
        rho, positive, of a `UnaryVectorSum` only, with neither cap: each user proves that the integers which she adds
        have at most this norm, over the scale. Her noise is not among them: others draw it, who must be trusted to.
        `honest_norm` is the least that refuses no honest user.

    Returns
    -------
    Manipulation
        `lower` and `upper`: by how much the estimate moves, infinite where nothing bounds it. Of a sum of numbers from
        a to b in its own units, and compared with users who hold a.

    Raises
    ------
    TypeError, ValueError
        For a protocol of another kind, or a number out of range.

    Notes
    -----
    An honest user adds her bit and her noise. So the estimate is off from the sum of all users' true bits by no more
    than this, one more for each of the m users (b - a more in a sum of numbers), and the honest users' noise.

    Examples
    --------
    >>> from protocols.bitsum import RandomizedResponse, ThreeNB
    >>> found = manipulation(RandomizedResponse(users=1000, flip_probability=0.25), 10)
    >>> found.lower, found.upper
    (-5.0, 15.0)
    >>> manipulation(ThreeNB(users=1000, p=0.8, flood_shape=9, flood_p=0.99), 10, cap=4).upper
    40.0
    """
    if cap is not None:
        check_integer("cap", cap, low=1, high=MOST)
    for name, value in (("per_count", per_count), ("norm", norm)):
        if value is not None and not isinstance(protocol, UnaryVectorSum):
            raise TypeError(f"{name}={value!r} must be omitted but for a UnaryVectorSum.")
    if isinstance(protocol, LabelRandomizedResponse | LocalMean | Rappor):
        check_integer("malicious", malicious, low=0)
        return _times(malicious, *_of_report(protocol))
    if not isinstance(protocol, BitsumProtocol | BucketSums | VectorSum | SumProtocol | UnaryVectorSum):
        raise TypeError(
            f"protocol={protocol!r} must be a BitsumProtocol, SumProtocol, BucketSums, VectorSum, UnaryVectorSum, "
            "LabelRandomizedResponse, LocalMean or Rappor."
        )
    check_integer("malicious", malicious, low=0, high=protocol.users)
    if isinstance(protocol, UnaryVectorSum):
        return _times(malicious, 0.0, _of_vectors(protocol, cap, per_count, norm))
    if isinstance(protocol, BitsumProtocol):
        return _times(malicious, *_of_bitsum(protocol, cap))
    if isinstance(protocol, BucketSums):
        return _times(malicious, *_of_bitsum(protocol.bitsum, cap))
    if isinstance(protocol, VectorSum):
        return _times(malicious, *_of_reports(protocol, cap))
    if isinstance(protocol, SplitAndMix):
        # One share of any size makes the sum anything, whatever the cap: no more of them get farther.
        most = (protocol.modulus - 1.0) * float(protocol.step)
        return _times(min(malicious, 1), -most, most, malicious)
    most_sent = protocol.levels if isinstance(protocol, AugmentedSum) else math.inf
    return _times(malicious, *_over_messages(np.full(1, float(protocol.step)), most_sent, cap))


def density_manipulation(
    protocol: KernelDensityProtocol, malicious: int, queries: ArrayLike, cap: int | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the least and the most that some users can add to a density estimate at each query.

    They choose every bit of theirs, in all I Q bitsums: where the query's feature is positive the most, and where it is
    negative the least.

    - protocol: The protocol, its public features included.
    - malicious: m, from 0 to n.
    - queries (array_like, shape (queries, dimension)): Where the density is asked for; the users are taken to know.
    - cap: As for `manipulation`, in each bitsum.

    Returns: (ndarray, ndarray), each of shape (queries,).
    """
    one = manipulation(protocol.bitsum, malicious, cap)
    features = protocol.features
    g = features.g(queries).reshape(-1, features.coordinates)
    # A bitsum moved by s moves F~ = (2 B~ - n) R by 2 R s, and the density by that times g / (n I).
    scale = 2.0 * features.family.R / (protocol.users * features.instances)
    up, down = np.where(g > 0.0, g, 0.0).sum(axis=1), np.where(g < 0.0, -g, 0.0).sum(axis=1)

    def added(rising: float, falling: float) -> NDArray[np.float64]:
        # Where all features have one sign the other end does not count, infinite or not.
        with np.errstate(invalid="ignore"):
            parts = np.where(up > 0.0, rising * up, 0.0) - np.where(down > 0.0, falling * down, 0.0)
        return np.asarray(scale * parts)

    return added(one.lower, one.upper), added(one.upper, one.lower)


def _times(times: int, least: float, most: float, malicious: int | None = None) -> Manipulation:
    # Nobody adds nothing, also where one would add any number.
    users = times if malicious is None else malicious
    return Manipulation(users, times * least if times else 0.0, times * most if times else 0.0)


def _of_bitsum(protocol: BitsumProtocol, cap: int | None) -> tuple[float, float]:
    """Return the least and the most that one user can add."""
    if not protocol.alphabet:
        return 0.0, 1.0  # the curator takes a bit of her, and no other
    views = np.eye(len(protocol.alphabet), dtype=np.int64)
    added = protocol.analyze(views) - protocol.analyze(np.zeros_like(views))
    return _over_messages(added, claims_of(protocol).messages_range(protocol)[1], cap)


def _of_report(protocol: LabelRandomizedResponse | LocalMean | Rappor) -> tuple[float, float]:
    """Return the least and the most that one report of a local mechanism can add, of which each user sends one."""
    if isinstance(protocol, LabelRandomizedResponse):
        added = [protocol.debias(row)[0] for row in np.eye(protocol.classes)[:2]]  # of this label, or of another one
    elif isinstance(protocol, Rappor):
        zero, one = protocol.report_probabilities
        added = [(bit - zero) / (one - zero) for bit in (0.0, 1.0)]
    elif isinstance(protocol, LaplaceMean | DiscreteLaplaceMean):
        return -math.inf, math.inf  # any number is a report
    else:
        added = protocol.debias([0, protocol.most if isinstance(protocol, RandomizedResponseMean) else 1]).tolist()
    return min(0.0, *added), max(0.0, *added)


def _of_reports(protocol: VectorSum, cap: int | None) -> tuple[float, float]:
    """Return the least and the most that one user's t reports can add, all of the coordinate where that is most."""
    values = np.arange(protocol.levels + 1) / protocol.levels
    gamma = protocol.blanket_probability
    added = (values - gamma / 2.0) / (1.0 - gamma) - protocol.centre
    return _over_messages(added / protocol.inclusion_probability.min(), protocol.sampled, cap)


def honest_norm(protocol: UnaryVectorSum) -> float:
    """Return what the norm of an honest user's integers, without noise, over the scale is below in any rounding.

    - protocol: Its dimension, scale and largest coordinate count.
    """
    d, s = protocol.dimension, protocol.scale
    return min(s + math.sqrt(d), math.ceil(protocol.largest) * math.sqrt(d)) / s * (1.0 + 4.0 * UNIT)


def _of_vectors(protocol: UnaryVectorSum, cap: int | None, per_count: int | None, norm: float | None) -> float:
    """Return the largest norm of what one user adds: sum x^2 is convex, so that counts are full, or one is not.

    Where the norm is proved, it is the root of an integer: every one is a sum of four squares.
    """
    if norm is not None:
        if cap is not None or per_count is not None:
            raise ValueError(f"norm={norm!r} must be omitted where cap={cap!r} or per_count={per_count!r} is given.")
        check_real("norm", norm, low=0.0, low_open=True, high=1e100)
        squared = (norm * protocol.scale) ** 2 * (1.0 + 4.0 * UNIT)
        return math.sqrt(math.floor(squared) if squared < MOST else squared) / protocol.scale
    if cap is None and per_count is None:
        return math.inf
    most = check_integer("per_count", MOST if per_count is None else per_count, low=1, high=MOST)
    sent = most * protocol.dimension if cap is None else min(cap, most * protocol.dimension)
    full, rest = divmod(sent, most)
    return math.sqrt(full * most**2 + rest**2) / protocol.scale


def _over_messages(added: NDArray[np.float64], most_sent: float, cap: int | None) -> tuple[float, float]:
    sent = most_sent if cap is None else min(most_sent, cap)
    least, most = min(float(added.min()), 0.0), max(float(added.max()), 0.0)
    return sent * least if least else 0.0, sent * most if most else 0.0
