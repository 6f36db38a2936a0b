"""What is true of `protocols.bitsum.baselines`: every guarantee here is central or local, and says so.

Replacing a user changes a bitsum by at most 1, in either direction; symmetric noise gives both directions one law.

More noise is more privacy: normal noise of a larger sigma is that of a smaller one plus independent noise; the two
losses of a mechanism that is pure epsilon-DP with one law for both directions shrink when p grows, and one with smaller
losses is the other's output, randomized again.

Discrete Gaussian noise is not more private with every larger sigma. Of k instances only the noises' sum S tells: with m
the largest integer below `k/2 - epsilon sigma^2` the divergence is `Pr[S <= m] - e^epsilon Pr[S <= m - k]`. While m
stays, it may rise before it falls, so it is least at an end, `epsilon sigma^2 = k/2 - m`. For k = 1 it is log-concave
in `u = -1/(2 sigma^2)`: e^(u m^2), times `1 - (e^epsilon - 1) sum_(i >= 1) e^(u ((|m| + i)^2 - m^2))`, concave, over
`sum_x e^(u x^2)`, log-convex. So the least private sigma is just before the first private end, or after the last. For
more that is measured, as is that nothing rises for epsilon <= k/2; there, and for joint changes, it is the least found.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from typing import ClassVar, TypeVar

from dpverify.changes import Change, Full
from dpverify.claims.base import MoreUsers
from dpverify.claims.bitsum.base import OneMessageClaims
from dpverify.claims.bitsum.randomized_response import reports_law
from dpverify.claims.shared.bitsum_pairs import (
    LARGEST_LOSS,
    LEFT_OUT,
    ComposedEpsilon,
    Pairs,
    noise_tail,
    normal_deviation,
    tail_for,
)
from dpverify.formulas.contexts import FLOATS, arb_context, enclosure, nudged
from dpverify.formulas.protocols import baselines as formulas
from dpverify.formulas.protocols import randomized_response, three_nb
from dpverify.guarantee import InfeasibleBudgetError, Interval, ThreatModel
from dpverify.laws import noise as laws
from dpverify.laws import views
from dpverify.laws.discrete import DiscreteLaw
from dpverify.laws.window import point_mass
from dpverify.privacy_loss.composing.bounds import BestCurve, LargestLossCurve
from dpverify.privacy_loss.losses import pairs
from dpverify.privacy_loss.losses.pairs import two_valued
from dpverify.privacy_loss.losses.renyi import ConcentratedCurve
from dpverify.privacy_loss.losses.two_valued import TwoValuedCurve
from dpverify.privacy_loss.windows.gaussian import DiscreteNoiseCurve, GaussianPrivacyLoss, NormalNoiseCurve
from dpverify.search import before_first, smallest, smallest_at_level
from protocols.bitsum.base import BitsumProtocol
from protocols.bitsum.baselines import (
    CentralDiscreteGaussian,
    CentralDiscreteLaplace,
    CentralGaussian,
    LocalRandomizedResponse,
)
from protocols.validation import check_real

__all__ = [
    "CentralDiscreteGaussianClaims",
    "CentralDiscreteLaplaceClaims",
    "CentralGaussianClaims",
    "LocalRandomizedResponseClaims",
    "least_sigma",
]

P = TypeVar("P", bound=BitsumProtocol)

_LEAST_TAIL = 1e-280
"""The least tail that the law of normal noise is listed up to."""
_INVERTED_AGAIN = 1e-11
"""What inverting the curve may round, relatively: `least_sigma` is on the safe side, and needs it next to never."""
_LEAST_SIGMA, _MOST_ENDS = 2.0**-26, 64
"""No law of discrete Gaussian noise is computed below the one; so many ends before a private sigma are tried."""
_NORMAL_SIGMA = 8.0
"""From here on the variance is sigma^2 as a float: it is off by a share of `8 (pi sigma)^2 e^(-2 (pi sigma)^2)`."""
_SYMMETRIC = "the noise is symmetric and does not depend on the data: one law for every dataset and both directions"


class _Baseline(OneMessageClaims[P]):
    """What the baselines share: formulas that are exact, hence always in range."""

    threat_models = (ThreatModel.CENTRAL,)
    more_users = MoreUsers.SAME

    def published_notes(self, users: int, epsilon0: float, delta0: float) -> tuple[str, ...]:
        return ()

    def _cannot(self, target: float) -> InfeasibleBudgetError:
        return InfeasibleBudgetError(
            f"epsilon={target!r} cannot be met by {self.name} with any noise that is computed with."
        )


def least_sigma(epsilon: float, delta: float, instances: int = 1) -> float:
    """Return the least sigma, within 4e-15 and on the safe side, at which normal noise is (epsilon, delta)-DP.

    The analytic calibration of balle2018 (Algorithm 1), for every epsilon and any number of instances; the classical
    `sqrt(2 ln(1.25/delta)) / epsilon` holds below epsilon = 1 only, and is larger.

    - epsilon: Of the whole, positive, in nats.
    - delta: Of the whole, in (0, 1).
    - instances: How many instances are composed, at least 1.
    """
    check_real("epsilon", epsilon, low=0.0, low_open=True)
    check_real("delta", delta, low=0.0, high=1.0, low_open=True, high_open=True)

    def meets(sigma: float) -> bool:
        return NormalNoiseCurve(sigma, instances).delta(epsilon).upper <= delta

    start = math.sqrt(-2.0 * instances * math.log(delta)) / epsilon
    sigma = smallest(meets, start, 1e100, 4e-15)
    if sigma is None:
        raise InfeasibleBudgetError(f"epsilon={epsilon!r} cannot be met by normal noise with a finite sigma.")
    return sigma


class CentralGaussianClaims(_Baseline[CentralGaussian]):
    """The twin of `CentralGaussian`: closed form, composed any number of times."""

    name = "central-gaussian"
    protocol = CentralGaussian
    noise = "sigma"
    more_private_towards: ClassVar[Mapping[str, float]] = {"sigma": math.inf}

    def pairs(self, protocol: CentralGaussian) -> Pairs:
        """Return no pairs: the law is continuous, and `curve` has it in closed form."""
        return Pairs((), (), note=f"{_SYMMETRIC}; full changes in closed form")

    def views_at(self, protocol: CentralGaussian, threat_model: ThreatModel, tail: float) -> Pairs:
        """Return pairs for joint changes, of which no closed form is known: one above the law, and one below."""
        law, cut = GaussianPrivacyLoss(1.0 / protocol.sigma), min(max(tail, _LEAST_TAIL), 0.1)
        below = law.binned(cut)
        return Pairs((law.dominating(cut),), () if below is None else (below,), note=_SYMMETRIC)

    def curve(
        self, protocol: CentralGaussian, changes: Change, threat_model: ThreatModel, **accuracy: float
    ) -> BestCurve:
        if not isinstance(changes, Full):
            listed = super().curve(protocol, changes, threat_model, **accuracy)
            # Where the law that is listed leaves out too much for a small delta: that of full changes of all bits.
            return listed.or_else(lambda: ConcentratedCurve(protocol.sigma, changes.instances))
        return BestCurve(
            LargestLossCurve(self.pure_epsilon(protocol, threat_model), changes),
            lambda: NormalNoiseCurve(protocol.sigma, changes.instances),
        )

    def proves(self, protocol: CentralGaussian, threat_model: ThreatModel, epsilon0: float, delta0: float) -> bool:
        return NormalNoiseCurve(protocol.sigma, 1).delta(epsilon0).upper <= delta0

    def guaranteed_epsilon(self, protocol: CentralGaussian, composed_epsilon: ComposedEpsilon) -> float:
        if not isinstance(composed_epsilon.change, Full):
            return super().guaranteed_epsilon(protocol, composed_epsilon)
        curve = NormalNoiseCurve(protocol.sigma, composed_epsilon.mechanisms)
        return curve.epsilon(composed_epsilon.delta).upper

    def rmse(self, protocol: CentralGaussian) -> float:
        return protocol.sigma

    def published(self, users: int, epsilon0: float, delta0: float) -> CentralGaussian:
        """Return the analytic calibration of balle2018."""
        if delta0 == 0.0:
            raise InfeasibleBudgetError("delta0=0.0 must be in (0, 1): normal noise is not pure DP.")
        return CentralGaussian(users, least_sigma(epsilon0, delta0))

    def least_noise(self, users: int, composed_epsilon: ComposedEpsilon, target: float) -> CentralGaussian:
        if not isinstance(composed_epsilon.change, Full):
            return self._least_noise_of_joint(users, composed_epsilon, target)
        for margin in (0.0, _INVERTED_AGAIN):
            sigma = least_sigma(target * (1.0 - margin), composed_epsilon.delta, composed_epsilon.mechanisms)
            protocol = CentralGaussian(users, sigma)
            if self.guaranteed_epsilon(protocol, composed_epsilon) <= target:
                break
        return protocol

    def _least_noise_of_joint(self, users: int, composed_epsilon: ComposedEpsilon, target: float) -> CentralGaussian:
        def epsilon(sigma: float) -> float:
            return self.guaranteed_epsilon(CentralGaussian(users, sigma), composed_epsilon)

        start = least_sigma(target, composed_epsilon.delta, math.ceil(composed_epsilon.change.full))
        sigma = smallest_at_level(epsilon, target, start, 2.0**40, 1e-4)
        if sigma is None:
            raise self._cannot(target)
        return CentralGaussian(users, sigma)


def _closed_form(sigma: float, change: Change) -> DiscreteNoiseCurve | None:
    """Return the curve of full changes of wide discrete Gaussian noise, or None."""
    full = isinstance(change, Full) and DiscreteNoiseCurve.holds(sigma, change.instances)
    return DiscreteNoiseCurve(sigma, change.instances) if full else None


class CentralDiscreteGaussianClaims(_Baseline[CentralDiscreteGaussian]):
    """The twin of `CentralDiscreteGaussian`."""

    name = "central-discrete-gaussian"
    protocol = CentralDiscreteGaussian

    def pairs(self, protocol: CentralDiscreteGaussian) -> Pairs:
        return self.views_at(protocol, self.threat_models[0], LEFT_OUT)

    def views_at(self, protocol: CentralDiscreteGaussian, threat_model: ThreatModel, tail: float) -> Pairs:
        one = (pairs.discrete_gaussian(protocol.sigma, noise_tail(tail)).up,)
        return Pairs(one, one, note=_SYMMETRIC)

    def curve(
        self, protocol: CentralDiscreteGaussian, changes: Change, threat_model: ThreatModel, **accuracy: float
    ) -> BestCurve:
        listed = super().curve(protocol, changes, threat_model, **accuracy)
        # See `CentralGaussianClaims.curve`.
        listed = listed.or_else(lambda: ConcentratedCurve(protocol.sigma, changes.instances))
        closed = _closed_form(protocol.sigma, changes)
        if closed is None:
            return listed
        width = accuracy.get("relative_width", 1e-6)
        largest = LargestLossCurve(self.pure_epsilon(protocol, threat_model), changes)
        return BestCurve(largest, lambda: closed, lambda: listed, relative_width=width)

    def guaranteed_epsilon(self, protocol: CentralDiscreteGaussian, composed_epsilon: ComposedEpsilon) -> float:
        closed = _closed_form(protocol.sigma, composed_epsilon.change)
        if closed is None:
            return super().guaranteed_epsilon(protocol, composed_epsilon)
        return closed.epsilon(composed_epsilon.delta).upper

    def note(self, protocol: CentralDiscreteGaussian, threat_model: ThreatModel) -> str:
        return _SYMMETRIC

    def rmse(self, protocol: CentralDiscreteGaussian) -> float:
        if protocol.sigma >= _NORMAL_SIGMA:
            return protocol.sigma
        law = laws.discrete_gaussian(protocol.sigma)
        return math.sqrt(float(law.pmf @ law.support.astype(float) ** 2))

    def _view(self, protocol: CentralDiscreteGaussian, ones: int, participants: int) -> DiscreteLaw:
        noise = laws.discrete_gaussian(protocol.sigma, views.TAIL)
        return views.one_count(views.total(point_mass(ones), noise))

    def published(self, users: int, epsilon0: float, delta0: float) -> CentralDiscreteGaussian:
        """Return the sigma that zero-concentrated privacy gives (canonne2020, bun2016)."""
        if delta0 == 0.0:
            raise InfeasibleBudgetError("delta0=0.0 must be in (0, 1): discrete Gaussian noise is not pure DP.")
        return CentralDiscreteGaussian(users, float(formulas.discrete_gaussian_sigma(FLOATS, epsilon0, delta0)))

    def least_noise(self, users: int, composed_epsilon: ComposedEpsilon, target: float) -> CentralDiscreteGaussian:
        tail = tail_for(composed_epsilon)

        def epsilon(sigma: float, decide: bool = False) -> float:
            if closed := _closed_form(sigma, change):
                return closed.epsilon(composed_epsilon.delta).upper
            return composed_epsilon([pairs.discrete_gaussian(sigma, tail).up], decide=decide)

        change = composed_epsilon.change
        try:
            normal = least_sigma(target, composed_epsilon.delta, math.ceil(change.full))
        except InfeasibleBudgetError as error:
            raise self._cannot(target) from error
        start = max(normal, _LEAST_SIGMA)
        sigma = smallest_at_level(epsilon, target, start, 2.0**26 if isinstance(change, Full) else 2.0**20, 1e-4)
        if sigma is None:
            raise self._cannot(target)
        if isinstance(change, Full) and target > 0.5 * change.instances:
            half = 0.5 * (change.instances % 2)
            last = math.ceil(target * sigma * sigma - half)
            ends = (math.sqrt((index + half) / target) for index in range(max(0, last - _MOST_ENDS), last))
            sigma = before_first(lambda tried: epsilon(tried, True) <= target, ends, _LEAST_SIGMA, 1e-4) or sigma
        return CentralDiscreteGaussian(users, sigma)


class _TwoValued(_Baseline[P]):
    """A mechanism with just two privacy losses, eps and -eps: the worst that is pure eps-DP."""

    pure = True

    @abstractmethod
    def _at(self, users: int, epsilon0: float) -> P:
        """Return the protocol whose loss is epsilon0, up to rounding."""

    def pairs(self, protocol: P) -> Pairs:
        one = (two_valued(self.pure_epsilon(protocol, self.threat_models[0])),)
        return Pairs(one, one, note="one two-valued law for every dataset and both directions")

    def curve(
        self, protocol: P, changes: Change, threat_model: ThreatModel, relative_width: float = 1e-6, **accuracy: float
    ) -> BestCurve:
        """Return the closed form of full changes; for others, and too many instances, what bounds it."""
        loss = self.pure_epsilon(protocol, threat_model)
        rest = super().curve(protocol, changes, threat_model, relative_width=relative_width, **accuracy)
        if not (isinstance(changes, Full) and 0.0 < loss.lower < math.inf):
            return rest
        return BestCurve(
            LargestLossCurve(loss, changes),
            lambda: TwoValuedCurve(loss, changes.instances),
            lambda: rest,
            relative_width=relative_width,
        )

    def published(self, users: int, epsilon0: float, delta0: float) -> P:
        """Return the protocol that is epsilon0-DP, on the safe side of all rounding; delta0 is not used."""
        if not math.exp(-epsilon0) < 1.0:
            raise InfeasibleBudgetError(
                f"epsilon={epsilon0!r} is too small for floats to hold the noise of {self.name}."
            )

        def meets(aim: float) -> bool:
            return self.pure_epsilon(self._at(users, aim), self.threat_models[0]).upper <= epsilon0

        return self._at(users, nudged(meets, min(epsilon0, LARGEST_LOSS), 0.0))

    def least_noise(self, users: int, composed_epsilon: ComposedEpsilon, target: float) -> P:
        if composed_epsilon.delta == 0.0:
            return self.published(users, target, 0.0)

        def epsilon(spread: float) -> float:
            return composed_epsilon([pairs.discrete_laplace(1.0 / spread).up])

        start = normal_deviation(composed_epsilon, target) / math.sqrt(2.0)
        spread = smallest_at_level(epsilon, target, start, 1e9, 1e-5)
        if spread is None:
            raise self._cannot(target)
        return self.published(users, 1.0 / spread, 0.0)


class CentralDiscreteLaplaceClaims(_TwoValued[CentralDiscreteLaplace]):
    """The twin of `CentralDiscreteLaplace`."""

    name = "central-discrete-laplace"
    protocol = CentralDiscreteLaplace
    noise = "p"
    more_private_towards: ClassVar[Mapping[str, float]] = {"p": 1.0}

    def _at(self, users: int, epsilon0: float) -> CentralDiscreteLaplace:
        return CentralDiscreteLaplace(users, float(formulas.discrete_laplace_p(FLOATS, epsilon0)))

    def pure_epsilon(self, protocol: CentralDiscreteLaplace, threat_model: ThreatModel) -> Interval:
        if protocol.p == 0.0:
            return Interval(math.inf, math.inf)
        with arb_context() as ctx:
            return enclosure(-ctx.log(protocol.p))

    def _view(self, protocol: CentralDiscreteLaplace, ones: int, participants: int) -> DiscreteLaw:
        return views.one_count(views.total(point_mass(ones), views.discrete_laplace(protocol.p)))

    def rmse(self, protocol: CentralDiscreteLaplace) -> float:
        return float(three_nb.rmse(FLOATS, protocol.p))


class LocalRandomizedResponseClaims(_TwoValued[LocalRandomizedResponse]):
    """The twin of `LocalRandomizedResponse`."""

    name = "local-rr"
    protocol = LocalRandomizedResponse
    threat_models = (ThreatModel.LOCAL,)
    noise = "flip_probability"
    more_private_towards: ClassVar[Mapping[str, float]] = {"flip_probability": 0.5}

    def _at(self, users: int, epsilon0: float) -> LocalRandomizedResponse:
        return LocalRandomizedResponse(users, float(formulas.local_flip_probability(FLOATS, epsilon0)))

    def pure_epsilon(self, protocol: LocalRandomizedResponse, threat_model: ThreatModel) -> Interval:
        if protocol.flip_probability == 0.0:
            return Interval(math.inf, math.inf)
        with arb_context() as ctx:
            p = ctx.convert(protocol.flip_probability)
            return enclosure(ctx.log1p(-p) - ctx.log(p))

    def _view(self, protocol: LocalRandomizedResponse, ones: int, participants: int) -> DiscreteLaw:
        return reports_law(protocol, ones, participants)

    def rmse(self, protocol: LocalRandomizedResponse) -> float:
        return float(randomized_response.rmse(FLOATS, protocol.users, protocol.flip_probability))
