"""Plans of sums of vectors by signed unary messages: what an error, or a number of bytes, takes at a budget.

**What is searched.** With s and the variance V both in place, the privacy depends on V / s^2 and the noise's shape r
nearly alone: counts and moves over s are those of one continuous law. So V / s^2 is guessed for a few r at one s, where
it is computed quickly, and the error and the messages of every (s, r) follow in closed form. The best of a grid of them
is then searched for the least V that the account proves, at that s and r. The plan is proved; that no other (s, r) is
better is as good as the grid.

NB noise of a shape r has the mean `(sqrt(1 + 4 V / r) - 1) r / 2` where Poisson noise has V: fewer messages. It is
skewed, which costs about `1 / r` of the error, and more where d is small and few coordinates are large.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpverify.changes import Full
from dpverify.claims.bitsum.baselines import least_sigma
from dpverify.claims.sums.vectors import UnaryVectorClaims, bits_of_message
from dpverify.digits import typed
from dpverify.guarantee import Budget, BudgetLike, Guarantee, InfeasibleBudgetError, ThreatModel
from dpverify.planning.answers import PROOF, upper_bound, within_limits
from dpverify.planning.sums.peers import VectorPeer, central_rmse, vector_peers
from dpverify.shown import Drawn, Plain
from protocols.bitsum import NegativeBinomial, Poisson
from protocols.classes.frozen import dataclass
from protocols.sums.vectors import UnaryVectorSum
from protocols.validation import budget_by_name, check_integer, check_real

__all__ = ["BYTES", "RATIO", "VectorFront", "VectorPlan", "central_rmse", "plan_of", "plan_vectors", "vector_front"]

Floats = NDArray[np.float64]

_CLAIMS = UnaryVectorClaims()
_SHAPES = np.geomspace(12.0, 4000.0, 6)
"""At which V / s^2 is guessed; what they need more than Poisson noise falls like 1 / r beyond them."""
_REFERENCE = (6.0, 1000.0)
"""The scale where it is guessed, or a larger one so that the variance is so much at least."""
_SCALES, _GRID_SHAPES = 300, np.append(np.geomspace(_SHAPES[0], 1e6, 120), math.inf)
"""Of the grid: how many scales, and the shapes, Poisson noise the last."""
_BELOW = (6e-4, 1.5e-3)
"""How far below the budget an epsilon is aimed at, relatively, and is taken."""
_CLIPPED = 2e-4
"""The share of the mean squared error of central Gaussian noise that what is clipped may add at most."""
RATIO = 1.15
"""The error over that of central Gaussian noise that is planned for where nothing is asked."""
BYTES = (100, 300, 1000, 3000)
"""Limits for a user that are compared where none are given."""
_ATTEMPTS, _LEAST_DELTA = 8, 1e-280
_GUESSES, _NEARLY, _LACKING, _FALLS = 4, 3e-4, 5e-3, 0.45
"""Guesses before each attempt, how near they shall come, what they lack at first, and of which power that falls."""
_FAILS, _RAISED = 1.05, 1.5
"""Not rotated: from which excess on guesses fail at a scale, too small for them, and how much larger the next is."""
_NEAR = 2e-3
"""What the least squared error within a limit may be exceeded by, relatively, where that takes fewer messages."""
_MOST_USERS = 10**9
"""Of as many scale and noise are so large that an account takes minutes."""


@dataclass(frozen=True)
class VectorPlan(Plain):
    """A protocol for the sum of vectors of norm at most 1 that meets a budget, and what it costs.

    - rmse: The root mean squared error of the sum of n unit vectors, as a norm, on average over the rotation.
    - central_rmse: That of central Gaussian noise of the same guarantee.
    - messages_per_user, bytes_per_user: Expected, of a unit vector; the payload.
    - guarantee: What the account proves.
    """

    plain_as: ClassVar[str] = "parameters rmse central_rmse ratio messages_per_user bytes_per_user guarantee"

    protocol: UnaryVectorSum = field(repr=False)
    parameters: dict[str, Any]
    rmse: float
    central_rmse: float
    messages_per_user: float
    bytes_per_user: float
    guarantee: Guarantee

    @property
    def ratio(self) -> float:
        """The error over that of central Gaussian noise of the same guarantee."""
        return self.rmse / self.central_rmse


@dataclass(frozen=True)
class VectorFront(Drawn):
    """What bytes buy of the error of a sum of vectors of norm at most 1.

    - budget: Of the whole.
    - users, dimension: n and d.
    - plans: In the order of the limits.
    - failures: By limit of the others, why there is none.
    - peers: What published protocols need, where that is asked for.
    """

    table_by: ClassVar[str] = "dpverify.report.plans.fronts:vectors_table"
    figure_by: ClassVar[str] = "dpverify.report.plans.fronts:vectors_figure"
    plain_as: ClassVar[str] = "budget users dimension rows=plans failures peers"

    budget: Budget
    users: int
    dimension: int
    plans: tuple[VectorPlan, ...]
    failures: dict[str, str]
    peers: tuple[VectorPeer, ...] = ()


def plan_vectors(
    budget: BudgetLike,
    *,
    users: int,
    dimension: int,
    ratio: float | None = None,
    max_bytes: float | None = None,
    max_messages: float | None = None,
    clip: float | None = None,
    l1: float | None = None,
) -> VectorPlan:
    """Find scale and noise of a sum of vectors of norm at most 1.

    - budget: Replace-one adjacency, delta positive.
    - users, dimension: n, at most 10^9, and d, public.
    - ratio: The error over that of central Gaussian noise, above 1: the fewest messages are sought. 1.15 when neither
      this nor a limit is given. Where noise of next to no messages is enough, a plan may spend less than the budget, as
      its guarantee says, and fewer would do.
    - max_bytes, max_messages: Expected for each user at most: the least error is sought.
    - clip, l1: Those of `UnaryVectorSum`, for vectors that are not rotated: both or neither.

    Returns: The protocol, and what it costs. Raises TypeError or ValueError for an argument out of range, or a ratio
    and a limit together. Raises InfeasibleBudgetError if nothing that is tried meets the budget within that.

    >>> found = plan_vectors(("1", "1e-6"), users=10_000, dimension=64, max_bytes=100)
    >>> found.bytes_per_user <= 100, f"{found.ratio:.1f}"
    (True, '1.1')
    """
    target, bits = _checked(budget, users, dimension)
    limits = [8.0 * limit / bits for limit in (max_bytes,) if limit is not None]
    for name, limit in (("max_bytes", max_bytes), ("max_messages", max_messages)):
        if limit is not None:
            check_real(name, limit, low=0.0, low_open=True)
            if ratio is not None:
                raise ValueError(f"{name}={limit!r} must be omitted where ratio={ratio!r} is given.")
    most = min([math.inf, *limits, *([max_messages] if max_messages is not None else [])])
    wanted = RATIO if ratio is None and most == math.inf else ratio
    if wanted is not None:
        check_real("ratio", wanted, low=1.0, low_open=True)
    if (clip is None) != (l1 is None):
        raise ValueError(f"clip={clip!r} and l1={l1!r} must be given together: of vectors that are not rotated.")
    return _Search(target, users, dimension, clip, l1).found(wanted, most)


@budget_by_name
def vector_front(
    budget: BudgetLike,
    *,
    users: int,
    dimension: int,
    max_bytes: Sequence[float] = BYTES,
    peers: bool = False,
    progress: Callable[[int, int], Any] | None = None,
) -> VectorFront:
    """Find the least error of a sum of vectors within several limits on the bytes of a user.

    Parameters
    ----------
    budget : Budget or (epsilon, delta)
        As for `plan_vectors`.
    users, dimension : int
        n, at most 10^9, and d, public.
    max_bytes : sequence of float
        The limits, positive.
    peers : bool
        Whether to show what published protocols need beside that: one bit per coordinate, PrivUnit shuffled, PREAMBLE.
        For at least 2 users and dimensions; some seconds.
    progress : callable, optional
        Called with how many limits are planned for, and with the number of all.

    Returns
    -------
    VectorFront
        A plan for each limit, and the reasons where there is none.

    Raises
    ------
    TypeError, ValueError
        For an argument out of range.
    InfeasibleBudgetError
        If delta is 0.

    Examples
    --------
    >>> front = vector_front(("1", "1e-6"), users=10_000, dimension=64, max_bytes=(1, 30, 100))
    >>> [f"{row.ratio:.1f}" for row in front.plans], len(front.failures)
    (['1.5', '1.1'], 1)
    """
    target, bits = _checked(budget, users, dimension)
    if isinstance(max_bytes, str) or not isinstance(max_bytes, Iterable) or not max_bytes:
        raise TypeError(f"max_bytes={max_bytes!r} must be a sequence of numbers, at least one.")
    search, found, failures = _Search(target, users, dimension), list[VectorPlan](), dict[str, str]()
    for done, limit in enumerate(max_bytes):
        if progress is not None:
            progress(done, len(max_bytes))
        check_real("max_bytes", limit, low=0.0, low_open=True)
        try:
            found.append(search.found(None, 8.0 * limit / bits))
        except InfeasibleBudgetError:
            failures[f"{limit:g}"] = f"the budget {target} cannot be met within {limit:g} bytes by what is tried."
    return VectorFront(
        target,
        users,
        dimension,
        tuple(found),
        failures,
        vector_peers(target, users=users, dimension=dimension) if peers else (),
    )


def _checked(budget: BudgetLike, users: int, dimension: int) -> tuple[Budget, int]:
    """Return the budget, and the bits of a message."""
    target = Budget.of(budget)
    if target.delta == 0.0:
        raise InfeasibleBudgetError("delta=0.0 must be positive: one count may lose any amount.")
    if target.delta < _LEAST_DELTA:
        raise ValueError(f"delta={typed(target.delta)} must be at least {_LEAST_DELTA:g}: none is listed below.")
    check_integer("users", users, low=1, high=_MOST_USERS)
    return target, bits_of_message(check_integer("dimension", dimension, low=1, high=2**24))


@dataclass(frozen=True)
class _Search:
    budget: Budget
    users: int
    dimension: int
    given_clip: float | None = None
    l1: float | None = None

    @functools.cached_property
    def sigma(self) -> float:
        return least_sigma(self.budget.epsilon, self.budget.delta)

    @functools.cached_property
    def clip(self) -> float:
        """What is given, or the least clip, in halves, that hardly counts in the error of central Gaussian noise."""
        if self.given_clip is not None:
            return self.given_clip
        least, clip = _CLIPPED * 4.0 * self.sigma**2 * self.dimension, 3.5
        while True:
            noise = Poisson(self.users, 1.0)
            made = UnaryVectorSum(noise, self.dimension, 1.0, max(clip, 1.0))
            if _CLAIMS.squared_errors(made).clipping <= least:
                return clip
            clip += 0.5

    def made(self, scale: float, shape: float, variance: float) -> UnaryVectorSum:
        """Return the protocol whose noise has this variance."""
        mean = _mean(variance, shape)
        noise = (
            Poisson(self.users, mean)
            if shape == math.inf
            else NegativeBinomial(self.users, shape, mean / (shape + mean))
        )
        return UnaryVectorSum(noise, self.dimension, scale, self.clip, l1=self.l1)

    def epsilon(self, protocol: UnaryVectorSum, *, guess: bool = False) -> float:
        """Return an upper bound on epsilon, or about that."""
        with within_limits(_CLAIMS.name):
            curve = _CLAIMS.moves(protocol, Full(1), reference_delta=self.budget.delta, guess=guess)
            return curve.epsilon_upper(self.budget.delta)

    def _guessed(self, shape: float, start: float = 1.0) -> float:
        """Return about the least V / s^2 for a shape, over that of central Gaussian noise; inf if that is far more."""
        scale = max(_REFERENCE[0], math.sqrt(_REFERENCE[1] / (2.0 * self.sigma**2)))
        for _ in range(3):
            made = self.made(scale, shape, start * 2.0 * self.sigma**2 * scale**2)
            spent = self.epsilon(made, guess=True) / self.budget.epsilon
            if not 0.0 < spent < 10.0:
                return math.inf
            start *= spent**2
            if abs(spent - 1.0) < 5e-3:
                break
        return start

    @functools.cached_property
    def _factors(self) -> Floats:
        """About the least V / s^2 over that of central Gaussian noise, for each shape of the grid."""
        poisson = self._guessed(math.inf)
        if poisson == math.inf:
            raise InfeasibleBudgetError(f"the budget {self.budget} allows less noise than is tried.")
        guessed = [self._guessed(float(shape), poisson) / poisson - 1.0 for shape in _SHAPES]
        excess = np.interp(np.log(_GRID_SHAPES[:-1]), np.log(_SHAPES), np.log(np.clip(guessed, 1e-9, 1e9))) - np.log(
            np.maximum(_GRID_SHAPES[:-1] / _SHAPES[-1], 1.0)
        )
        return poisson * np.append(1.0 + np.exp(excess), 1.0)

    @functools.cached_property
    def _parts(self) -> tuple[Floats, Floats, Floats]:
        """Scales, and for each what is sent without noise, and what errs, over central Gaussian noise, squared."""
        most = 30.0 + 7.0 * math.sqrt(self.users) / self.sigma
        scales = np.geomspace(min(0.3, 0.1 * most), most, _SCALES)
        made = [self.made(float(s), math.inf, 0.0) for s in scales]
        errors = np.array([sum(_CLAIMS.squared_errors(each)) for each in made])
        return scales, np.array([_CLAIMS.messages_per_user(each) for each in made]), errors / self._central

    @property
    def _central(self) -> float:
        return 4.0 * self.sigma**2 * self.dimension

    @functools.cached_property
    def _proofs(self) -> dict[float, float]:
        """By scale what a proof exceeded a guess by, relatively."""
        return {}

    def _lacking(self, scale: float) -> float:
        """Return about the factor from a guess to a proof: what is lacking falls with the scale."""
        if not self._proofs:
            return 1.0 + _LACKING
        nearest = min(self._proofs, key=lambda seen: abs(math.log(seen / scale)))
        return 1.0 + self._proofs[nearest] * math.pow(nearest / scale, _FALLS)

    def _chosen(self, ratio: float | None, most: float, correction: float, floor: float) -> UnaryVectorSum | None:
        """Return the best of the grid if the least V / s^2 are so many times what is guessed; None if none will do.

        - ratio, most: As for `found`.
        - floor: The least scale.
        """
        scales, own, errors = self._parts
        factors = correction * self._factors
        variances = 2.0 * self.sigma**2 * factors * scales[:, None] ** 2
        messages = own[:, None] + 2.0 * self.dimension / self.users * _mean(variances, _GRID_SHAPES)
        squares = errors[:, None] + factors
        squares[scales < floor] = math.inf
        if ratio is not None:
            cost = np.where(squares <= ratio**2, messages, math.inf)
        else:
            # The last thousandth of error may cost most of the messages, and of the time.
            least = np.where(messages <= most, squares, math.inf).min()
            cost = np.where((messages <= most) & (squares <= least * (1.0 + _NEAR)), messages, math.inf)
        row, column = np.unravel_index(int(np.argmin(cost)), cost.shape)
        if cost[row, column] == math.inf:
            return None
        return self.made(float(scales[row]), float(_GRID_SHAPES[column]), float(variances[row, column]))

    def found(self, ratio: float | None, most: float) -> VectorPlan:
        """Return a plan of a ratio and the fewest messages, or within so many messages of the least error."""
        target, correction, floor = self.budget.epsilon, 1.0, 0.0
        kept: tuple[float, UnaryVectorSum | None] = (0.0, None)
        for _ in range(_ATTEMPTS):
            for step in range(_GUESSES + 1):
                made, guessed = self._chosen(ratio, most, correction, floor), 0.0
                if made is None or self.l1 is not None:
                    break
                guessed = self.epsilon(made, guess=True)
                about = guessed * self._lacking(made.scale) / target
                if abs(about - 1.0 + _BELOW[0]) <= _NEARLY or step == _GUESSES or not 0.1 < about < 10.0:
                    break
                correction *= (about / (1.0 - _BELOW[0])) ** 2
            if made is None:
                break
            spent = self.epsilon(made)
            if guessed > 0.0:
                self._proofs[made.scale] = spent / guessed - 1.0
            if (1.0 - _BELOW[1]) * target <= spent <= target:
                return plan_of(made, self.budget, spent)
            if kept[0] < spent <= target:
                kept = spent, made
            if self.l1 is not None and spent > _FAILS * target:
                floor = _RAISED * made.scale
                continue
            correction *= (min(spent / target, 4.0) / (1.0 - _BELOW[0])) ** 2
        if kept[1] is not None:  # at small scales a guess may jump over the budget again and again
            return plan_of(kept[1], self.budget, kept[0])
        wish = f"ratio={ratio!r}" if ratio is not None else f"{most:.6g} messages for each user"
        raise InfeasibleBudgetError(f"the budget {self.budget} cannot be met with {wish} by what is tried.")


def plan_of(protocol: UnaryVectorSum, budget: Budget, spent: float) -> VectorPlan:
    """Return what a protocol costs that was found to spend so much epsilon at the budget's delta."""
    return VectorPlan(
        protocol,
        _CLAIMS.parameters(protocol),
        _CLAIMS.rmse(protocol),
        central_rmse(budget, protocol.dimension),
        _CLAIMS.messages_per_user(protocol),
        _CLAIMS.bytes_per_user(protocol),
        upper_bound(spent, budget.delta, ThreatModel.COMMUNICATION, "exact law, joint changes", PROOF),
    )


def _mean(variance: Any, shape: Any) -> Any:
    """Return the mean of NB noise of this variance and shape; of Poisson noise where the shape is infinite."""
    return 2.0 * variance / (1.0 + np.sqrt(1.0 + 4.0 * variance / shape))
