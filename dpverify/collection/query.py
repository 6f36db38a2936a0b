"""One question that users are asked every day: how many sums it is, and what an error of these is of it.

`Query` is what a design is asked for, `Asked` what it becomes: a protocol, and what one answer makes of its sums.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dpverify.claims.registry import mechanism_claims_of
from dpverify.claims.shared.shares import split_distance
from dpverify.collection.densities.signs import SECOND_MOMENT, Signs
from dpverify.collection.rotations.turned import MOST_DIMENSION, ROUNDED_SHARE, Turned, planned, signs_of
from dpverify.formulas.contexts import FLOATS
from dpverify.formulas.protocols import randomized_response
from dpverify.guarantee import InfeasibleBudgetError, Number, exact_number
from dpverify.laws.two_sided import two_sided
from dpverify.planning.schedules.day import Day
from protocols.bitsum.base import BitsumProtocol
from protocols.bitsum.poisson import Poisson
from protocols.bitsum.randomized_response import RandomizedResponse
from protocols.classes.frozen import dataclass
from protocols.sums.base import SumProtocol
from protocols.sums.split_and_mix import SplitAndMix
from protocols.sums.unary import PoissonSum
from protocols.sums.vectors import UnaryVectorSum
from protocols.validation import check_choice, check_flag, check_integer

__all__ = ["BITSUMS", "ONE_OF", "TWO_OF", "Asked", "Query"]


def _response(users: int, error: float) -> RandomizedResponse:
    p = float(randomized_response.flip_probability_at_rmse(FLOATS, users, error))
    if not 0.0 < p < 0.5:
        raise InfeasibleBudgetError(f"error={error:.4g} users is more, or less, than randomized response can err.")
    return RandomizedResponse(users, p)


BITSUMS: dict[str, Callable[[int, float], Any]] = {
    "rr": _response,
    "poisson": lambda users, error: Poisson(users, error * error),
}
"""The protocol whose root mean squared error is given, for those that have one parameter."""
_LEAST = {"bits": 1, "levels": 2, "buckets": 2, "strings": 2, "density": 1, "vector": 1}
"""What a query may ask, and how much of it at least."""
ONE_OF = ("buckets", "strings")
"""Of these an answer is in one sum."""
TWO_OF = (*ONE_OF, "weights")
"""Of these a change moves two sums."""
_FINE, _ROUNDED = 64, 0.01
"""Up to so many steps integers are sent as they are; and how much of a number's squared error rounding may be else."""
_SHAPES = {"split-and-mix": 16.0, "laplace": 1.0}
"""Of noise of either sign: nearly normal, as many sums together ask for, and the best for one alone."""
_NEAR, _MOST_SHARES, _WRAPS = 2.0**-60, 64, 1e-20
"""How near shares are to the sum among half of the users, of how many at most; and how often noise wraps round."""
_NUMBERS = ("poisson", *_SHAPES)
_ASKS = (*_LEAST, "weights")
_MOST_INSTANCES = 2**20  # of each there is a field in memory wherever a manifest is read


@dataclass(frozen=True)
class Asked:
    """A query as clients answer it: some instances of a protocol on a day, and what an answer makes of their inputs.

    Parameters
    ----------
    name : str
        Of the query: printable ASCII.
    protocol : object
        Of each instance.
    instances : int
        At least 1, at most 2^20.
    honest : number, optional
        As for `dpverify.account`; kept as their number.
    asks : {"bits", "levels", "buckets", "strings", "density", "vector", "weights"}
        Whether an answer is an input for each instance, a bit or for a sum of numbers a number; one of `instances + 1`
        levels, of each of which but the lowest it is counted whether it is reached; one of `instances` buckets, of each
        of which it is counted whether it is the answer; a string, which is hashed into one of `instances` cells; a
        point; a vector of norm at most 1; or one of `instances` buckets and a number from 0 on, which is counted in it.
        All but bits, vectors and weights are for protocols of bits, densities for rr and poisson, a vector for
        `UnaryVectorSum`, and weights for sums of numbers.
    points : Signs, optional
        How a point becomes `instances` bits.
    signs : str, optional
        Of a vector's coordinates, public, 0 and 1: see `dpverify.collection.rotations.turned.Turned`.
    whole : bool
        Of a sum of numbers in steps: whether users hold integers all the same, which clients see to.

    Raises
    ------
    TypeError, ValueError
        For a protocol without an account, or an argument out of its range.
    """

    name: str
    protocol: Any
    instances: int = 1
    honest: Any = None
    asks: str = "bits"
    points: Signs | None = None
    signs: str | None = None
    whole: bool = False

    def __post_init__(self) -> None:
        _check_name(self.name)
        check_choice("asks", self.asks, _ASKS)
        given = {self.asks == "vector", isinstance(self.protocol, UnaryVectorSum), self.signs is not None}
        if len(given) > 1:
            raise ValueError(f"protocol={self.protocol!r} must be a UnaryVectorSum, with signs, for a vector alone.")
        if self.signs is not None:
            check_integer("instances", self.instances, low=1, high=1)
            Turned(self.signs, self.protocol)
        elif self.asks == "weights":
            if not isinstance(self.protocol, SumProtocol) or self.protocol.smallest != 0:
                raise TypeError(f"protocol={self.protocol!r} must be a sum of numbers from 0 on for weights.")
        elif self.asks != "bits" and not isinstance(self.protocol, BitsumProtocol):
            raise TypeError(f"protocol={self.protocol!r} must be one of bits for answers that are {self.asks}.")
        check_integer("instances", self.instances, low=2 if self.asks in TWO_OF else 1, high=_MOST_INSTANCES)
        check_flag("whole", self.whole)
        if self.whole and (not isinstance(self.protocol, SumProtocol) or self.protocol.steps is None):
            raise ValueError(f"whole={self.whole} must be False but for a sum of numbers in steps.")
        if (self.asks == "density") is (self.points is None):
            raise ValueError(f"points={self.points!r} must be given for a density, and for nothing else.")
        if self.points is not None:
            if not isinstance(self.protocol, (RandomizedResponse, Poisson)):
                raise TypeError(f"protocol={self.protocol!r} must be rr or poisson for a density.")
            check_integer("instances", self.instances, low=self.points.sums, high=self.points.sums)
        object.__setattr__(self, "honest", self.day().honest)

    @property
    def changed(self) -> int:
        """How many full changes of instances a change of one user's answer costs at most, in a day.

        Of a density one for each wave: of its bits in two classes one becomes a coin and one was a coin, which costs no
        more than one full change (`dpverify.changes`).
        """
        return _changed(self.asks, self.instances) if self.points is None else self.points.features

    @property
    def turned(self) -> Turned | None:
        """How a vector becomes integers, where one is asked for."""
        return None if self.signs is None else Turned(self.signs, self.protocol)

    @property
    def touched(self) -> int:
        """Of how many instances the law of what a user sends may change at all."""
        return self.changed if self.points is None else self.changed * min(2, self.points.classes)

    def day(self, days: int = 1) -> Day:
        """Return what so many days are for `dpverify.account`: what one user does not change costs her nothing."""
        return Day(self.protocol, self.changed * days, self.honest)


def _check_name(name: Any) -> None:
    if not isinstance(name, str) or not name.strip() or not name.isascii() or not name.isprintable():
        raise ValueError(f"name={name!r} must be a text of printable ASCII that is not empty.")


def _changed(asks: str, sums: int) -> int:
    return 2 if asks in TWO_OF else sums


def _summed(query: Query, bitsum: str, users: int, error: float) -> SumProtocol:
    """Return the sum of numbers with this root mean squared error: so many steps that rounding hardly errs."""
    assert query.number is not None
    (low, high), steps = map(float, query.number), None
    if query.real or high - low > _FINE:
        steps = max(math.ceil((high - low) * math.sqrt(users / (4.0 * _ROUNDED)) / error), 1)
        steps = None if not query.real and steps >= high - low else steps
    step = 1.0 if steps is None else (high - low) / steps
    # Less than rounding leaves of the squared error, so that more error is always more noise.
    variance = (1.0 - _ROUNDED * (steps is not None)) * (error / step) ** 2
    if bitsum == "poisson":
        return PoissonSum(users, high, variance, smallest=low, steps=steps)
    # 2 r p / (1-p)^2 is the variance; p may be tiny.
    shape = _SHAPES[bitsum]
    p = 2.0 * variance * shape / (shape + math.sqrt(shape * shape + 2.0 * shape * variance)) ** 2
    most = users * (int(high - low) if steps is None else steps)
    modulus = 2 ** (most + 2 * math.ceil(1.1 * two_sided(shape, p, _WRAPS).stop)).bit_length()
    if modulus > 2**31:
        raise InfeasibleBudgetError(f"users={users} have sums that no modulus below 2^31 has room for.")
    for shares in range(3, _MOST_SHARES + 1):
        if split_distance(max(2, users // 2), shares, modulus, _NEAR) <= _NEAR:
            return SplitAndMix(users, high, modulus, shares, p, shape, smallest=low, steps=steps)
    raise InfeasibleBudgetError(f"users={users} are too few to hide shares among, of which {_MOST_SHARES} are tried.")


@dataclass(frozen=True)
class Query:
    """One question, asked of every user on every day.

    Parameters
    ----------
    name : str
        Of the question, printable ASCII; no other of a design has it.
    bits : int, optional
        So many yes-or-no questions: how many users say yes to each. Her answers to all may change.
    levels : int, optional
        A number from so many equidistant ones, such as 5 for a rating from 1 to 5: its mean. It is sent as one bit for
        each level but the lowest, whether it is reached.
    buckets : int, optional
        One of so many values: how many users have each, and so which is the most frequent. A change moves two counts.
    strings : int, optional
        Any string, hashed into one of so many cells, which are counted as buckets are. Strings of one cell are counted
        together; a second query with another name hashes in another way, and what few users have is told apart by both.
    density : int, optional
        A point of some dimension: its density, of the Gaussian kernel exp(-|x - y|^2 / bandwidth^2), by the signs of so
        many public random waves. Its error is that of noise, relative to the kernel's largest value; that of the waves,
        1.12 over their root at most, comes on top and costs no privacy.
    vector : int, optional
        A vector of so many coordinates, at most 65,536, and of norm at most 1: the sum of all users', and so their
        mean. Its error is that of the mean, as a norm: of noise and of rounding, which a client does at random.
    number : (smallest, largest), optional
        An integer from one to the other, such as (1, 5) for a rating: the sum of all users'. Its error is relative to
        the range. A range wider than 64 may have fewer steps, to which a client rounds integers at random. Ends, also
        of real numbers, are in [-2^53, 2^53].
    real : bool
        Any number from one to the other.
    categories : int, optional
        Each user has a number in one of so many categories, such as her purchase in a country: the sum of each.
    dimension : int, optional
        Of the points.
    bandwidth : number, optional
        In their units.
    classes : int
        Of a density: each user's point has one of so many labels, as private as the point, and each class a density.
    seed : int
        Of the waves, or of a vector's rotation, with the name: public.
    weight : number
        A query of twice the weight shall have half of the relative error.
    bitsum : {"rr", "poisson", "split-and-mix", "laplace"}, optional
        The protocol of each sum; when omitted that of which a user uploads fewer bits. Of a vector
        "poisson", and of a number, too, unless it is "split-and-mix", whose shares tell no more than the sum, or the
        same with "laplace" noise: a third of the error where one number of one day is all that is asked.

    Raises
    ------
    TypeError, ValueError
        If not exactly one of bits, levels, buckets, strings, density, vector and number is given, or an argument is out
        of its range.

    Examples
    --------
    >>> rating = Query("rating", levels=5)
    >>> rating.sums, rating.changed
    (4, 4)
    """

    name: str
    bits: int | None = None
    levels: int | None = None
    buckets: int | None = None
    strings: int | None = None
    density: int | None = None
    vector: int | None = None
    number: tuple[Any, Any] | None = None
    real: bool = False
    categories: int | None = None
    dimension: int | None = None
    bandwidth: Number | None = None
    classes: int = 1
    seed: int = 0
    weight: Number = 1
    bitsum: str | None = None

    def __post_init__(self) -> None:
        _check_name(self.name)
        asked = [kind for kind in (*_LEAST, "number") if getattr(self, kind) is not None]
        if len(asked) != 1:
            raise ValueError(f"the query {self.name!r} must have exactly one of {', '.join((*_LEAST, 'number'))}.")
        if asked == ["number"]:
            self._check_number()
        else:
            check_integer(asked[0], getattr(self, asked[0]), low=_LEAST[asked[0]])
            if self.real or self.categories is not None:
                raise ValueError(f"the query {self.name!r} must have real and categories with number only.")
        given = {self.dimension is None, self.bandwidth is None, self.density is None}
        if len(given) > 1 or (self.density is None and self.classes != 1):
            raise ValueError(f"the query {self.name!r} must have dimension and bandwidth with density, and only then.")
        if self.density is None and self.vector is None and self.seed != 0:
            raise ValueError(f"seed={self.seed!r} must be omitted but for densities and vectors.")
        check_integer("seed", self.seed, low=0)
        if self.vector is not None:
            check_integer("vector", self.vector, low=1, high=MOST_DIMENSION)
        if self.density is not None:
            Signs.sample(1, self.dimension or 0, self.bandwidth or 0, self.classes, np.random.default_rng(0))
        if not exact_number("weight", self.weight) > 0:
            raise ValueError(f"weight={self.weight!r} must be in (0, inf).")
        if self.bitsum is not None:
            known = ("poisson",) if self.vector is not None else BITSUMS if self.number is None else _NUMBERS
            object.__setattr__(self, "bitsum", check_choice("bitsum", self.bitsum, known))

    def _check_number(self) -> None:
        if not isinstance(self.number, (list, tuple)) or len(self.number) != 2:
            raise ValueError(f"number={self.number!r} must be (smallest, largest).")
        check_flag("real", self.real)
        exact = [exact_number("number", end) for end in self.number]
        if max(map(abs, exact)) > 2**53:  # before floats round them
            raise ValueError(f"number={self.number!r} must have both ends in [-2^53, 2^53].")
        ends = tuple(map(float, exact))
        made = PoissonSum(1, ends[1], 0.0, smallest=ends[0], steps=1 if self.real else None)
        object.__setattr__(self, "number", (made.smallest, made.largest))
        if self.categories is not None:
            check_integer("categories", self.categories, low=2)
            if made.smallest != 0:
                raise ValueError(f"number={self.number!r} must begin at 0 where there are categories.")

    @property
    def kind(self) -> str:
        """Which of `bits`, `levels`, `buckets`, `strings`, `density`, `vector` and `number` it is, or `weights`."""
        kind = next(kind for kind in (*_LEAST, "number") if getattr(self, kind) is not None)
        return kind if self.categories is None else "weights"

    @property
    def sums(self) -> int:
        """How many sums it is; a vector is one."""
        if self.vector is not None or self.number is not None:
            return self.categories or 1
        size: int = getattr(self, self.kind)
        return size - 1 if self.kind == "levels" else size * self.classes

    @property
    def changed(self) -> int:
        """How many full changes of its sums one user's answer costs at most in a day; see `Asked.changed`."""
        return _changed(self.kind, self.sums) if self.density is None else self.density

    @property
    def _range(self) -> float:
        assert self.number is not None
        return float(self.number[1]) - float(self.number[0])

    def asked(self, protocol: Any, honest: int | None) -> Asked:
        """Return it as clients answer it, with the protocol of each of its sums."""
        points, public = None, np.random.default_rng([self.seed, *self.name.encode()])
        if self.vector is not None:
            return Asked(self.name, protocol, 1, honest, self.kind, None, signs_of(self.vector, public))
        if self.number is not None:
            whole, asks = protocol.steps is not None and not self.real, "bits" if self.categories is None else "weights"
            return Asked(self.name, protocol, self.sums, honest, asks, whole=whole)
        if self.density is not None and self.dimension is not None and self.bandwidth is not None:
            points = Signs.sample(self.density, self.dimension, self.bandwidth, self.classes, public)
        return Asked(self.name, protocol, self.sums, honest, self.kind, points)

    def relative(self, users: int) -> float:
        """Return the root mean squared error, relative to all users (a mean's to its range), per user of a sum's.

        Of a density that of its noise, relative to the kernel's largest value, 1. Of a mean of vectors, as a norm.
        """
        if self.density is not None:  # each sum counts twice, times g over users and waves
            return 2.0 * math.sqrt(SECOND_MOMENT / self.density) / users
        if self.number is not None:
            return 1.0 / (users * self._range)
        # The errors of a mean's sums are independent, and their sum is to be compared with users * sums.
        return 1.0 / (users * math.sqrt(self.sums)) if self.kind == "levels" else 1.0 / users

    def chosen(self, users: int, error: float) -> str:
        """Return the name of the bitsum, where a sum may have this root mean squared error in users."""
        known = self.bitsum or (None if self.vector is None and self.number is None else "poisson")
        return known or min(BITSUMS, key=lambda name: self.upload(BITSUMS[name](users, error)))

    def protocol(self, bitsum: str, users: int, error: float) -> Any:
        """Return the protocol of each of its sums, by that bitsum, with this root mean squared error in users."""
        if self.number is not None:
            return _summed(self, bitsum, users, error)
        return BITSUMS[bitsum](users, error) if self.vector is None else planned(users, self.vector, error)

    def rmse(self, protocol: Any) -> float:
        """Return the root mean squared error of a sum in users; of a vector's, as a norm, at most."""
        claims: Any = mechanism_claims_of(protocol)
        return float(claims.rmse(protocol)) if self.vector is None else Turned("0" * self.vector, protocol).rmse

    @property
    def spent(self) -> float:
        """About how many full changes of a sum with its error a change of the answer is like: of what it spends."""
        if self.number is not None:
            return self.changed * self._range**2
        # A vector moves by 2, and the error in each of its directions is its share.
        return float(self.changed) if self.vector is None else 4.0 * self.vector / (1.0 - ROUNDED_SHARE)

    def upload(self, protocol: Any) -> float:
        """Return how many bits a user uploads a day, at most on average: a bit a sum, or each message's place."""
        claims: Any = mechanism_claims_of(protocol)
        if self.vector is not None:
            size, noise = protocol.dimension, protocol.noise.noise_mean / protocol.users
            return float(size * (protocol.scale / math.sqrt(size) + 2.0 * noise) * size.bit_length())
        if self.number is not None:
            if isinstance(protocol, SplitAndMix):
                return float(self.sums * protocol.shares * (protocol.modulus - 1).bit_length())
            noise = self.sums * protocol.noise_mean / protocol.users
            return float(protocol.levels + noise) * max(1, (self.sums - 1).bit_length())
        if claims.messages_range(protocol) == (1, 1):
            return float(self.sums)
        ones = 1.0 / self.sums if self.kind in ONE_OF else 1.0
        return self.sums * float(claims.messages_per_user(protocol, ones)) * max(1, (self.sums - 1).bit_length())
