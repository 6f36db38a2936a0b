"""What is true of `protocols.sums.vectors`.

**Privacy.** The view is 2d independent counts with additive noise, shifted by the positive and the negative parts of v,
rounded at random. Replacing v by v' increases counts by at most the parts of v', so that the squares of the increases
add up to s^2 at most, and decreases them by at most those of v; of either there is one per coordinate.
`privacy_loss.joint.real_moves` bounds that, whatever the other users hold: additive noise hides their counts in a known
shift. A vector against one in other coordinates attains it. Runs on the same users add up their budgets.

**Error**, of unit vectors. A coordinate w of a uniformly rotated one has `w^2 ~ Beta(1/2, (d-1)/2)`. Noise adds
`2 d V / s^2` to the mean squared error of the sum, V the variance of a count's; rounding adds `n d E f (1-f) / s^2`, f
the fraction of s |w|; what is clipped is a bias of `n sqrt(d E ((|w| - clip/sqrt d)+)^2)` at most, where all users hold
the same vector. All that is on average over the rotation, whatever the vectors are. Without one nothing is clipped,
and rounding adds `n min(d/4, s l1) / s^2` at most.
"""

from __future__ import annotations

import functools
import itertools
import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from dpverify.changes import Change, Full
from dpverify.claims.base import MechanismClaims, MoreUsers
from dpverify.claims.bitsum.negative_binomial import SingleNoiseClaims
from dpverify.claims.registry import claims_of
from dpverify.guarantee import PrivacyCurve, ThreatModel
from dpverify.laws import views
from dpverify.laws.discrete import DiscreteLaw
from dpverify.laws.noise import binomial
from dpverify.laws.window import IntegerLaw, point_mass
from dpverify.privacy_loss.joint.attained_change import Parts
from dpverify.privacy_loss.joint.real_moves import RealMoves
from dpverify.rounding import UNIT
from protocols.sums.vectors import UnaryVectorSum

__all__ = ["SquaredErrors", "UnaryVectorClaims", "bits_of_message"]

_PLACES = 2**14
"""Quantiles of a coordinate by which means over the rotation are computed."""


class SquaredErrors(NamedTuple):
    """The parts of the mean squared error of the sum of unit vectors, on average over the rotation.

    - noise, rounding: Whatever the vectors are.
    - clipping: At most; much less where users hold different vectors.
    """

    noise: float
    rounding: float
    clipping: float


class UnaryVectorClaims(MechanismClaims[UnaryVectorSum]):
    """The twin of `UnaryVectorSum`."""

    name = "unary-vector-sum"
    protocol = UnaryVectorSum
    audited_as = "dpverify.audit.subjects.vector_sum:unary_vector_subject"
    more_users = MoreUsers.SAME

    def _noise(self, protocol: UnaryVectorSum) -> SingleNoiseClaims[Any]:
        claims = claims_of(protocol.noise)
        if not isinstance(claims, SingleNoiseClaims):
            raise TypeError(f"noise={protocol.noise!r} must have a twin that states the law of its noise.")
        return claims

    def curve(
        self,
        protocol: UnaryVectorSum,
        changes: Change,
        threat_model: ThreatModel,
        *,
        relative_width: float = 1e-6,
        reference_delta: float = 1e-6,
    ) -> PrivacyCurve:
        """Return the privacy curve of many runs; the accuracy is that of `RealMoves`, some tenths of a per cent."""
        return self.moves(protocol, changes, reference_delta=reference_delta)

    def moves(
        self, protocol: UnaryVectorSum, changes: Change, *, reference_delta: float, guess: bool = False
    ) -> RealMoves:
        """Return that curve; with `guess` one whose upper ends are about right, and prove nothing."""
        runs, noise = self.in_full(changes), self._noise(protocol)
        return RealMoves(
            lambda tail: noise.noise_law(protocol.noise, 1.0, tail),
            runs * protocol.scale**2 * (1.0 + 4.0 * UNIT),
            min(protocol.largest * (1.0 + 8.0 * UNIT), protocol.scale),
            runs * protocol.dimension,
            runs=runs,
            reference_delta=reference_delta,
            guess=guess,
        )

    def changes_jointly(self, protocol: UnaryVectorSum, threat_model: ThreatModel) -> bool:
        """Return True: a vector moves all counts together."""
        return True

    def joint(
        self,
        protocol: UnaryVectorSum,
        threat_model: ThreatModel,
        runs: int,
        reference_delta: float,
        *,
        guess: bool = False,
    ) -> tuple[RealMoves, Parts]:
        found = self.moves(protocol, Full(runs), reference_delta=reference_delta, guess=guess)
        return found, () if guess else found.attained[0]

    def note(self, protocol: UnaryVectorSum, threat_model: ThreatModel) -> str:
        return (
            "the upper end holds for all vectors of norm at most 1, whatever the others hold; the lower end is "
            "attained by two vectors without a common coordinate, rotated"
        )

    def parameters(self, protocol: UnaryVectorSum) -> dict[str, Any]:
        """Return the noise of every count, by its name and parameters, and what is done to a vector."""
        claims, found = self._noise(protocol), super().parameters(protocol)
        noise = claims.parameters(protocol.noise)
        del noise["estimate"]
        if protocol.l1 is None:
            del found["l1"]
        return {**found, "noise": {"name": claims.name, **noise}}

    def with_users(self, protocol: UnaryVectorSum, users: int, *, more_private: bool) -> UnaryVectorSum:
        noise = self._noise(protocol).with_users(protocol.noise, users, more_private=more_private)
        return replace(protocol, noise=noise)

    def messages_per_user(self, protocol: UnaryVectorSum) -> float:
        """Return the expected number of messages of a user whose vector has norm 1, on average over the rotation.

        At most: clipping takes away from it, and a shorter vector. Not rotated, of the most that sizes add up to.
        """
        d = protocol.dimension
        if protocol.l1 is not None:
            return protocol.scale * protocol.l1 + 2.0 * d * protocol.noise.noise_mean / protocol.users
        coordinate = math.exp(math.lgamma(d / 2.0) - math.lgamma((d + 1.0) / 2.0)) / math.sqrt(math.pi)
        return d * (protocol.scale * coordinate + 2.0 * protocol.noise.noise_mean / protocol.users)

    def bytes_per_user(self, protocol: UnaryVectorSum) -> float:
        """Return the expected payload of a user's messages in bytes, each the bits that tell 2d symbols apart."""
        return self.messages_per_user(protocol) * bits_of_message(protocol.dimension) / 8.0

    def _count(self, protocol: UnaryVectorSum, places: NDArray[np.float64], share: float) -> IntegerLaw:
        noise = self._noise(protocol).noise_law(protocol.noise, share, views.TAIL)
        fractions, users = np.unique(places - np.floor(places), return_counts=True)
        rounded = map(binomial, users.tolist(), fractions.tolist(), itertools.repeat(views.TAIL))
        return views.total(point_mass(int(np.floor(places).sum())), noise, *rounded)

    def count_law(self, protocol: UnaryVectorSum, places: NDArray[np.float64], share: float = 1.0) -> DiscreteLaw:
        """Return the law of one count: a share of the noise, and these users' coordinates, rounded at random."""
        return DiscreteLaw.from_integer_law(self._count(protocol, places, share))

    def difference_law(self, protocol: UnaryVectorSum, places: NDArray[np.float64]) -> DiscreteLaw:
        """Return the law of the difference of both counts of a coordinate, s times its estimate before the rotation."""
        up, down = (self._count(protocol, np.maximum(sign * places, 0.0), 1.0) for sign in (1.0, -1.0))
        return DiscreteLaw.from_integer_law(views.total(up, down.mirrored()))

    def squared_errors(self, protocol: UnaryVectorSum) -> SquaredErrors:
        """Return what the mean squared error of the sum of n unit vectors consists of."""
        d, s, n = protocol.dimension, protocol.scale, protocol.users
        noise = 2.0 * d * self._noise(protocol).variance(protocol.noise) / s**2
        if protocol.l1 is not None:  # f (1-f) is at most 1/4, and at most |v|
            return SquaredErrors(noise, n * min(d / 4.0, s * protocol.l1) / s**2, 0.0)
        places = s * np.minimum(_coordinates(d), protocol.clip / math.sqrt(d))
        fractions = places - np.floor(places)
        rounding = n * d * float(np.mean(fractions * (1.0 - fractions))) / s**2
        return SquaredErrors(noise, rounding, n**2 * _clipped(d, protocol.clip))

    def rmse(self, protocol: UnaryVectorSum) -> float:
        """Return the root mean squared error of the sum of n unit vectors, as a norm, on average over the rotation.

        At most: what is clipped adds up where all users hold the same vector, and hardly counts elsewhere.
        """
        return math.sqrt(sum(self.squared_errors(protocol)))


@functools.lru_cache(maxsize=8)
def _coordinates(dimension: int) -> NDArray[np.float64]:
    """Return quantiles of the size of a coordinate of a rotated unit vector, at the middles of even parts."""
    if dimension == 1:
        return np.ones(1)
    middles = (np.arange(_PLACES) + 0.5) / _PLACES
    return np.asarray(np.sqrt(scipy.special.betaincinv(0.5, 0.5 * (dimension - 1), middles)))


@functools.lru_cache(maxsize=64)
def _clipped(dimension: int, clip: float) -> float:
    """Return `d E ((|w| - clip/sqrt d)+)^2`, by quadrature over the angle, whose density is smooth from d = 2 on."""
    limit = clip / math.sqrt(dimension)
    if limit >= 1.0:
        return 0.0
    nodes, weights = np.polynomial.legendre.leggauss(200)
    start, end = math.asin(limit), math.asin(min(1.0, limit + 12.0 / math.sqrt(dimension)))
    angles = start + 0.5 * (end - start) * (nodes + 1.0)
    log_density = math.lgamma(dimension / 2.0) - math.lgamma((dimension - 1.0) / 2.0) - 0.5 * math.log(math.pi)
    density = 2.0 * np.exp(log_density + (dimension - 2.0) * np.log(np.cos(angles)))
    return dimension * float(0.5 * (end - start) * np.sum(weights * density * (np.sin(angles) - limit) ** 2))


def bits_of_message(dimension: int) -> int:
    """Return what tells 2d symbols apart, each a coordinate and a sign: the bits of a message of a sum of vectors."""
    return (2 * dimension - 1).bit_length()
