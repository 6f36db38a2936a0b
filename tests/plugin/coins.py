"""A package of its own, as another project would write it: a bitsum, a kernel, a local mechanism and an audit test.

Its entry points are in `entry_points.txt`, as an installer writes them next to it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.audit.subject import Dataset
from dpverify.claims.bitsum.base import BitsumClaims
from dpverify.claims.local.base import LocalClaims
from dpverify.claims.lsq.inner_product import IdentityClaims
from dpverify.claims.shared.bitsum_pairs import ComposedEpsilon, Pairs
from dpverify.formulas import FormulaRangeError
from dpverify.guarantee import InfeasibleBudgetError, Interval, ThreatModel
from dpverify.laws import views
from dpverify.laws.discrete import DiscreteLaw
from dpverify.laws.messages import MessagesLaw, counted_bits
from dpverify.laws.noise import binomial
from dpverify.laws.window import point_mass
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.statistics.family import AuditResult
from protocols.bitsum.base import BitsumProtocol, messages_by_symbol
from protocols.lsq import Identity
from protocols.shuffler import UserMessages


@dataclass(frozen=True)
class Tosses(BitsumProtocol):
    """Every user tosses coins twice: she sends 5 for each head and for a bit 1, and the decoy -2 for a head later."""

    alphabet = (-2, 5)
    divided = ()

    coins: int = field(metadata={"within": "[1, inf)", "help": "Coins that each user tosses, each time."})

    def _randomize(self, bits: NDArray[np.int64], rng: np.random.Generator) -> UserMessages:
        heads, decoys = rng.binomial(self.coins, 0.5, (2, bits.size))
        return messages_by_symbol({5: bits + heads, -2: decoys})

    def _sample_view(self, ones: NDArray[np.int64], participants: int, rng: np.random.Generator) -> NDArray[Any]:
        heads, decoys = rng.binomial(self.coins * participants, 0.5, (2, *ones.shape))
        return np.stack([decoys, ones + heads], axis=-1)

    def _analyze(self, view: NDArray[Any]) -> NDArray[np.float64]:
        return np.asarray(view[..., 1] - self.coins * self.users / 2.0)


class TossesClaims(BitsumClaims[Tosses]):
    """What is true of it: the noise Bin(coins n, 1/2) is the same for every dataset, and decoys depend on nothing."""

    name = "tosses"
    protocol = Tosses

    def pairs(self, protocol: Tosses) -> Pairs:
        law = binomial(protocol.coins * protocol.users, 0.5)
        higher, lower = np.append(0.0, law.pmf), np.append(law.pmf, 0.0)
        accuracy = {"missing_mass": law.tail_below + law.tail_above, "relative_error": law.relative_error}
        directions = (
            PrivacyLossDistribution.from_pmfs(higher, lower, **accuracy),
            PrivacyLossDistribution.from_pmfs(lower, higher, **accuracy),
        )
        return Pairs(directions, directions, note="the noise does not depend on the data: one pair for every dataset")

    def rmse(self, protocol: Tosses) -> float:
        return math.sqrt(protocol.coins * protocol.users) / 2.0

    def messages_per_user(self, protocol: Tosses, fraction_of_ones: float = 1.0) -> float:
        return fraction_of_ones + protocol.coins

    def messages_law(self, protocol: Tosses, instances: int = 1, fraction_of_ones: float = 1.0) -> MessagesLaw:
        heads = binomial(2 * instances * protocol.coins, 0.5)
        return MessagesLaw((counted_bits(instances, fraction_of_ones), (1, heads)))

    def messages_range(self, protocol: Tosses) -> tuple[int, float]:
        return 0, 2 * protocol.coins + 1

    def _view(self, protocol: Tosses, ones: int, participants: int) -> DiscreteLaw:
        noise = binomial(protocol.coins * participants, 0.5, views.TAIL)
        return views.two_counts(noise, views.total(point_mass(ones), noise), point_mass(0))

    def published(self, users: int, epsilon0: float, delta0: float) -> Tosses:
        raise FormulaRangeError("No source states a number of coins: use method='exact'.")

    def published_notes(self, users: int, epsilon0: float, delta0: float) -> tuple[str, ...]:
        return ()

    def least_error(
        self, users: int, composed_epsilon: ComposedEpsilon, target: float, max_messages_per_user: float | None = None
    ) -> Tosses:
        coins = 1
        while composed_epsilon(self.pairs(Tosses(users, coins)).every, decide=True) > target:
            coins += 1
            if max_messages_per_user is not None and coins + 1.0 > max_messages_per_user:
                raise InfeasibleBudgetError(f"max_messages_per_user={max_messages_per_user!r} is too few for tosses.")
        return Tosses(users, coins)


@dataclass(frozen=True)
class OwnIdentity(Identity):
    """A kernel of another package; this one is the inner product again."""


class OwnIdentityClaims(IdentityClaims):
    """What is true of it."""

    name = "own-identity"
    protocol = OwnIdentity
    theorems = ()


@dataclass(frozen=True)
class Truth:
    """Each user tells her bit truly with a probability, else the other one."""

    probability: float = field(metadata={"within": "(1/2, 1)", "help": "Of telling the truth, in (1/2, 1)."})

    def randomize(self, inputs: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        return np.asarray(np.where(rng.random(inputs.size) < self.probability, inputs, 1 - inputs))


class TruthClaims(LocalClaims[Truth]):
    """What is true of it: one pair, whose loss is ln(p / (1-p)) in either direction."""

    name = "truth"
    protocol = Truth

    def inputs(self, protocol: Truth) -> Sequence[int]:
        return (0, 1)

    def report_law(self, protocol: Truth, value: int) -> DiscreteLaw:
        return DiscreteLaw.of([value, 1 - value], [protocol.probability, 1.0 - protocol.probability])

    def pairs(self, protocol: Truth) -> Sequence[PrivacyLossDistribution]:
        p = protocol.probability
        return (PrivacyLossDistribution.from_pmfs([p, 1.0 - p], [1.0 - p, p]),)

    def pure_epsilon(self, protocol: Truth, threat_model: ThreatModel) -> Interval:
        loss = math.log(protocol.probability / (1.0 - protocol.probability))
        return Interval(loss * (1.0 - 1e-15), loss * (1.0 + 1e-15))


def support(
    dataset: Dataset, outputs: NDArray[np.float64], rng: np.random.Generator, *, level: float, detect: float
) -> list[AuditResult]:
    """Refute outputs that the law does not have at all."""
    results = []
    for column, (name, law) in dataset.laws.items():
        strange = int((law.index(outputs[:, column]) < 0).sum())
        p_value = min(1.0, len(outputs) * law.outside) if strange else 1.0
        evidence = f"{strange} of {len(outputs)} outputs are impossible"
        check = f"support of {name}, {dataset.name}"
        results.append(AuditResult(check, p_value, len(outputs), "exact", evidence, "an impossible output", 1.0))
    return results


def marks(
    dataset: Dataset, outputs: NDArray[np.float64], rng: np.random.Generator, *, level: float, detect: float
) -> list[AuditResult]:
    """Refute outputs that hold a mark which no honest run leaves: it needs no law, so black boxes have it, too."""
    marked = int((outputs == 1234.5).any(axis=1).sum())
    evidence = f"{marked} of {len(outputs)} outputs are marked"
    return [AuditResult(f"marks, {dataset.name}", float(not marked), len(outputs), "exact", evidence, "a mark", 1.0)]
