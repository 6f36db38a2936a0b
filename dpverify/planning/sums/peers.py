"""What published protocols need for a sum of vectors of norm at most 1: messages, bytes, error at the same budget.

**One bit per coordinate.** Rotated, clipped at c / sqrt d, rounded at random to one of two ends, and flipped. The
probabilities' distances from 1/2 have the squares d / (4 c^2) in all, whose change our own account of joint changes
charges, so that nobody gets more out of bits. A bit of mean (1 + x sqrt(d) / c) / 2 is scaled by 2 c / sqrt d: rounding
adds n (c^2 - 1), and the noise of a sum of bits 4 c^2 times its square.

**PrivUnit** (bhowmick2018): a vector of norm 1/m in a random direction, of the density a within a cap around hers and b
outside, a / b = e^epsilon0. With k the cap's share of the sphere and g the cosine at its edge, a k + b (1 - k) = 1 and

    m = (a - b) T,  T = integral over t > g of t f(t) = (1 - g^2)^((d-1)/2) / ((d - 1) B(1/2, (d-1)/2)),

as the vector's mean is in her direction. The error of n users is n (1/m^2 - 1), exactly. Shuffling is accounted by the
bound of wang2024 in our own evaluation (`privacy_loss.shuffling.amplification`): two such laws have the ratio
e^epsilon0 and a distance of (a - b) k at most, and either is at most e^epsilon0 times anybody else's law.
asi2022 choose the cap for the least error at a local epsilon0, here it is that for the shuffled budget.

**PREAMBLE** (asi2025): two servers, one of whom is honest, add shares of vectors and the noise, which is a curator's.
Users send k of D / B blocks, chosen at random and scaled by what is left out. For unit vectors that alone errs by
n (1/q - 1), q the share of the blocks. With q < 1 an estimate is shown, no bound: that, and a curator's noise. Of the
abstract it is a little more, and as nobody knows whose blocks were sent, less may do for some vectors.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from dpverify.claims.bitsum.baselines import least_sigma
from dpverify.claims.sums.vectors import UnaryVectorClaims, bits_of_message
from dpverify.guarantee import Budget, BudgetLike
from dpverify.planning.plan import plan
from dpverify.privacy_loss.shuffling.amplification import variation_ratio
from dpverify.privacy_loss.shuffling.amplified_curve import Amplification
from dpverify.search import bisected
from dpverify.shown import Plain
from protocols.bitsum import Poisson
from protocols.classes.frozen import dataclass
from protocols.sums.vectors import UnaryVectorSum
from protocols.validation import check_integer

__all__ = ["UNKNOWN", "VectorPeer", "cap_of", "central_rmse", "vector_peers"]

UNKNOWN = (
    "Not shown: takagi_liew2026 (one message of d numbers), whose abstract promises nearly a curator's error where "
    "epsilon is small, and gives no figures; its text is not at hand."
)
"""Which peer has no row, and why."""
_SHUFFLER, _SERVERS = "a shuffler", "one of two servers, and the noise that they add"
_REAL = 4
"""Bytes of a number that is sent as it is, or of an element of a field."""
_CLIPS = np.linspace(1.5, 6.0, 91)
_SHARES = (1.0, 0.5)
_GROWN = 1.0 + 1e-9


@dataclass(frozen=True)
class VectorPeer(Plain):
    """What a published protocol needs for the sum of unit vectors at a budget.

    - name, source: What it is, and the cite keys of docs/references.md.
    - messages: Of a user.
    - bytes: Of a user, to each who receives any; keys and proofs not counted.
    - rmse: The root mean squared error of the sum of n unit vectors, as a norm.
    - estimated: Whether bytes and rmse are estimates, no bounds.
    - ratio: That over the error of central Gaussian noise of the same guarantee.
    - trust: In whom.
    """

    plain_as: ClassVar[str] = "name messages bytes rmse estimated ratio trust source"

    name: str
    messages: int
    bytes: int
    rmse: float
    ratio: float
    trust: str
    source: str
    estimated: bool = False


def central_rmse(budget: BudgetLike, dimension: int) -> float:
    """Return the error of the sum of vectors of norm at most 1 with central Gaussian noise, as a norm.

    - budget: delta positive; replace-one adjacency, so that the sum has sensitivity 2.
    - dimension: d.
    """
    target = Budget.of(budget)
    return 2.0 * least_sigma(target.epsilon, target.delta) * math.sqrt(dimension)


def vector_peers(budget: BudgetLike, *, users: int, dimension: int) -> tuple[VectorPeer, ...]:
    """Return what published protocols need for a sum of vectors of norm at most 1.

    - budget: Replace-one adjacency, delta positive, for who sees all shuffled messages; PREAMBLE's is for one server.
    - users, dimension: n and d, at least 2.
    """
    target = Budget.of(budget)
    check_integer("users", users, low=2)
    central = central_rmse(target, check_integer("dimension", dimension, low=2))
    found = []
    for name, messages, size, made, trust, source in (
        ("one bit per coordinate", dimension, _one_bit_bytes(dimension), _one_bit, _SHUFFLER, "wagner2025"),
        ("PrivUnit, shuffled", 1, _REAL * dimension, _privunit, _SHUFFLER, "bhowmick2018, asi2022, wang2024"),
    ):
        rmse = math.sqrt(made(target, users, dimension))
        found.append(VectorPeer(name, messages, size, rmse, rmse / central, trust, source))
    for share in _SHARES:
        rmse, sent = math.sqrt(central**2 + users * (1.0 / share - 1.0)), math.ceil(share * dimension) * _REAL
        name = "PREAMBLE, all blocks" if share == 1.0 else f"PREAMBLE, {share:.0%} of the blocks"
        found.append(VectorPeer(name, 2, sent, rmse, rmse / central, _SERVERS, "asi2025", share < 1.0))
    return tuple(found)


def _one_bit_bytes(dimension: int) -> int:
    """Return what a message for each coordinate takes that says which, and the bit: as signed unary ones are priced."""
    return math.ceil(dimension * bits_of_message(dimension) / 8)


def _one_bit(budget: Budget, users: int, dimension: int) -> float:
    """Return the squared error of one bit per coordinate, clipped where rounding and clipping err least.

    The noise, whose size in the estimate hardly depends on that, is planned at that clip.
    """
    claims, best = UnaryVectorClaims(), (math.inf, 0.0)
    for clip in _CLIPS:
        limit = min(float(clip), math.sqrt(dimension))
        clipped = claims.squared_errors(UnaryVectorSum(Poisson(users, 1.0), dimension, 1.0, limit)).clipping
        best = min(best, (users * (limit**2 - 1.0) + clipped, limit))
    clip = best[1]
    row = plan("rr", budget, users=users, instances=dimension, squared_change=dimension / clip**2, ball=True)
    return best[0] + 4.0 * clip**2 * row.bitsum_rmse**2


def cap_of(cosine: float, dimension: int) -> tuple[float, float]:
    """Return k and T of a cap around a direction: its share of the sphere, and the integral of the cosine over it.

    - cosine: Of its edge, in [0, 1).
    - dimension: d, at least 2.
    """
    from scipy.special import betainc, betaln

    half = 0.5 * (dimension - 1.0)
    share = 0.5 * float(betainc(half, 0.5, 1.0 - cosine**2))
    return share, math.exp(half * math.log1p(-(cosine**2)) - betaln(0.5, half)) / (2.0 * half)


def _shuffled(epsilon0: float, share: float, users: int) -> Amplification:
    """Return what shuffling PrivUnit with a cap of this share gives."""
    ratio = math.exp(epsilon0)
    distance = share * (ratio - 1.0) / (share * ratio + 1.0 - share)
    return variation_ratio(ratio, min(distance * _GROWN, (ratio - 1.0) / (ratio + 1.0)), ratio, users)


def _privunit(budget: Budget, users: int, dimension: int) -> float:
    """Return the squared error of PrivUnit with the cap that is best to first order, and the largest epsilon0."""
    # To first order the loss is normal, of the variance 2 k (a - b)^2 / (n b): that of a curator's at the same budget.
    allowed = users * 4.0 * dimension / central_rmse(budget, dimension) ** 2
    best = (0.0, 0.0, 0.0, 0.0)
    for cosine in np.linspace(0.02, 7.0, 350) / math.sqrt(dimension):
        if cosine >= 1.0:
            break
        share, moment = cap_of(float(cosine), dimension)
        # 2 k D^2 = allowed (1 - k D), D = a - b.
        root = allowed * share
        height = 2.0 * allowed / (root + math.sqrt(root**2 + 8.0 * share * allowed))
        if share * height < 1.0:
            best = max(best, (height * moment, share, moment, math.log1p(height / (1.0 - share * height))))
    _, share, moment, guess = best

    def missed(point: float, *, leading: bool = True) -> bool:
        return not _shuffled(point, share, users).meets(budget.epsilon, budget.delta, leading=leading)

    # A local epsilon of the budget's is enough, whatever is shuffled.
    met, high = budget.epsilon * (2.0 - _GROWN), max(2.0 * guess, 2.0 * budget.epsilon)
    met = -bisected(lambda point: not missed(-point), -high, -met, absolute=1e-3 * met)[1]
    # What the leading pair promises the others may miss, by little.
    while missed(met, leading=False):
        met *= 0.998
    ratio = math.exp(met)
    mean = moment * (ratio - 1.0) / (share * ratio + 1.0 - share)
    return users * (1.0 / mean**2 - 1.0)
