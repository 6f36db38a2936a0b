"""Exact accounting, calibration and audits for shuffle-model differential-privacy protocols.

From a budget to parameters
---------------------------
`plan` finds the parameters of least error that meet a budget, `plan_bitsums` puts all protocols side by side, and
`per_instance_budget` says what each of many mechanisms may spend:

>>> import dpverify
>>> row = dpverify.plan("3nb", ("1", "1e-6"), users=1000, instances=2)  # epsilon in nats; decimals are taken exactly
>>> row.guarantee.epsilon <= 1
True
>>> print(f"{row.bitsum_rmse:.1f} users")
2.8 users

From an implementation to whether it keeps its promise
------------------------------------------------------
`account` encloses what parameters really guarantee. `audit_protocol` runs code whose outputs have a law, and tests
whether it does what its parameters say; `audit_mechanism` needs no law, and `audit_one_run` a single run:

>>> protocol = dpverify.RandomizedResponse(users=100, flip_probability=0.25)
>>> print(f"{dpverify.account(protocol, delta=1e-6).epsilon.upper:.2f}")
0.55
>>> without_noise = lambda bits, rng: float(bits.sum())
>>> print(dpverify.audit_protocol(protocol, implementation=without_noise, trials=200).verdict.value)
violates

For readers: theorems, and what was found about each
----------------------------------------------------
`theorems` holds the theorems of the source papers as data, `compose` applies composition theorems forwards, and
`hockey_stick` encloses one divergence to any number of digits:

>>> [theorem.verdict.value for theorem in dpverify.theorems() if theorem.name == "wagner2025-a2-per-user-shape"]
['fails']
>>> dpverify.compose("basic", 0.125, 0.0, 16)
(2.0, 0.0)
>>> dpverify.hockey_stick(dpverify.GaussianPair("2"), "0.3", digits=10).text
'[0.09635282406 +/- 2.35e-12]'

All names, each with its own `help(dpverify.plan)`
--------------------------------------------------
- To plan: plan, plan_bitsums, plan_grid, front; least_users, least_epsilon, least_messages; budgets: split_budget,
  per_instance_budget; numbers and vectors: plan_means, plan_sums, sum_front, vector_front; densities:
  least_density_users, least_density_epsilon; strings: plan_rappor; days of many queries: design, Query.
- What parameters give: account, amplify, largest_epsilon0, crowd, manipulation, PrivacyLedger; full_report.
- Steps of a training: NoisyStep, MixtureStep, DiscreteLaplaceStep, IntegerStep, BoundedRangeStep, RenyiStep,
  ConcentratedStep, OpaqueStep, RandomAllocation; least_noise, largest_rate, most_steps.
- To audit: audit_protocol, audit_mechanism, audit_one_run; claims besides budgets: GaussianDP, RenyiDP,
  ConcentratedDP, TradeOffCurve.
- To read papers: theorems, compose, CompositionTheorem; hockey_stick of RandomizedResponsePair, ThreeNBPair,
  NegativeBinomialPair, DiscreteLaplacePair, GaussianPair.
- Learners: PrivateDensityClassifier, PrivateDiscriminant, PrivateDensity, with what they learn by,
  KernelDensityProtocol, HighestDensityClassifier; gamma_from_bandwidth, bandwidth_from_gamma.
- Binary sums: RandomizedResponse, ThreeNB, NegativeBinomial, Poisson, Pure; LocalRandomizedResponse; by a trusted
  curator CentralDiscreteLaplace, CentralDiscreteGaussian, CentralGaussian.
- Other sums: PoissonSum, NegativeBinomialSum, SplitAndMix, AugmentedSum, ShuffledMean, VectorSum, Histogram,
  Selection; each user alone: RandomizedResponseMean, LaplaceMean, DiscreteLaplaceMean, OneBitMean,
  LabelRandomizedResponse; a curator: CentralLaplaceMean; RAPPOR: Rappor, PermanentResponse, RapporClient.
- Words of results: Budget, Guarantee, Interval, Adjacency, ThreatModel, Side; InfeasibleBudgetError, CapacityError,
  BudgetExceededError.

Budgets are `Budget` objects or pairs (epsilon, delta), or `epsilon=` and `delta=`; theorems and threat models may be
words. The command line does the same: `dpverify --help`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpverify.audit.black_boxes.black_box import audit_mechanism
    from dpverify.audit.one_run import audit_one_run
    from dpverify.audit.protocol import audit_protocol
    from dpverify.certificates.enclosure import hockey_stick
    from dpverify.certificates.pairs import (
        DiscreteLaplacePair,
        GaussianPair,
        NegativeBinomialPair,
        RandomizedResponsePair,
        ThreeNBPair,
    )
    from dpverify.claims.attacks.manipulation import manipulation
    from dpverify.collection.design import design
    from dpverify.collection.query import Query
    from dpverify.composition.inverse import per_instance_budget
    from dpverify.composition.theorems import CompositionTheorem, compose
    from dpverify.dossier.gather import full_report
    from dpverify.evidence.theorems import theorems
    from dpverify.guarantee import (
        Adjacency,
        Budget,
        CapacityError,
        Guarantee,
        InfeasibleBudgetError,
        Interval,
        Side,
        ThreatModel,
    )
    from dpverify.learning.classifier import PrivateDensityClassifier as PrivateDensityClassifier
    from dpverify.learning.density import PrivateDensity as PrivateDensity
    from dpverify.learning.joint.discriminant import PrivateDiscriminant as PrivateDiscriminant
    from dpverify.learning.scale import bandwidth_from_gamma, gamma_from_bandwidth
    from dpverify.planning.account import account
    from dpverify.planning.amplify import amplify, largest_epsilon0
    from dpverify.planning.budgets import split_budget
    from dpverify.planning.crowds import crowd
    from dpverify.planning.kernels.least_density import least_density_epsilon, least_density_users
    from dpverify.planning.means import plan_means
    from dpverify.planning.plan import plan
    from dpverify.planning.rappor import plan_rappor
    from dpverify.planning.steps.allocation import RandomAllocation
    from dpverify.planning.steps.calibration import largest_rate, least_noise, most_steps
    from dpverify.planning.steps.integers import DiscreteLaplaceStep, IntegerStep
    from dpverify.planning.steps.listed import BoundedRangeStep, OpaqueStep
    from dpverify.planning.steps.mixtures import MixtureStep
    from dpverify.planning.steps.renyi import ConcentratedStep, RenyiStep
    from dpverify.planning.steps.step import NoisyStep
    from dpverify.planning.sums.fronts import sum_front
    from dpverify.planning.sums.integers import plan_sums
    from dpverify.planning.sums.vectors import vector_front
    from dpverify.planning.sweeps.comparison import plan_bitsums, plan_grid
    from dpverify.planning.sweeps.fronts import front
    from dpverify.planning.sweeps.least import least_epsilon, least_messages, least_users
    from dpverify.spending.ledger import BudgetExceededError, PrivacyLedger
    from dpverify.statistics.bounds.claims import GaussianDP, TradeOffCurve
    from dpverify.statistics.bounds.renyi_claims import ConcentratedDP, RenyiDP
    from protocols.bitsum import (
        CentralDiscreteGaussian,
        CentralDiscreteLaplace,
        CentralGaussian,
        LocalRandomizedResponse,
        NegativeBinomial,
        Poisson,
        Pure,
        RandomizedResponse,
        ThreeNB,
    )
    from protocols.classifier import HighestDensityClassifier as HighestDensityClassifier
    from protocols.histogram import Histogram
    from protocols.kde import KernelDensityProtocol
    from protocols.local.baselines import CentralLaplaceMean
    from protocols.local.labels import LabelRandomizedResponse
    from protocols.local.laplace import DiscreteLaplaceMean, LaplaceMean
    from protocols.local.one_bit import OneBitMean
    from protocols.local.randomized_response import RandomizedResponseMean
    from protocols.rappor.client import RapporClient
    from protocols.rappor.response import PermanentResponse, Rappor
    from protocols.selection import Selection
    from protocols.shuffled_mean import ShuffledMean
    from protocols.sums import AugmentedSum, NegativeBinomialSum, PoissonSum, SplitAndMix
    from protocols.vector_sum import VectorSum

# All but the estimators, which need scikit-learn: `from dpverify import *` is for a prompt, and to cost little.
__all__ = [
    "Adjacency",
    "AugmentedSum",
    "BoundedRangeStep",
    "Budget",
    "BudgetExceededError",
    "CapacityError",
    "CentralDiscreteGaussian",
    "CentralDiscreteLaplace",
    "CentralGaussian",
    "CentralLaplaceMean",
    "CompositionTheorem",
    "ConcentratedDP",
    "ConcentratedStep",
    "DiscreteLaplaceMean",
    "DiscreteLaplacePair",
    "DiscreteLaplaceStep",
    "GaussianDP",
    "GaussianPair",
    "Guarantee",
    "Histogram",
    "InfeasibleBudgetError",
    "IntegerStep",
    "Interval",
    "KernelDensityProtocol",
    "LabelRandomizedResponse",
    "LaplaceMean",
    "LocalRandomizedResponse",
    "MixtureStep",
    "NegativeBinomial",
    "NegativeBinomialPair",
    "NegativeBinomialSum",
    "NoisyStep",
    "OneBitMean",
    "OpaqueStep",
    "PermanentResponse",
    "Poisson",
    "PoissonSum",
    "PrivacyLedger",
    "Pure",
    "Query",
    "RandomAllocation",
    "RandomizedResponse",
    "RandomizedResponseMean",
    "RandomizedResponsePair",
    "Rappor",
    "RapporClient",
    "RenyiDP",
    "RenyiStep",
    "Selection",
    "ShuffledMean",
    "Side",
    "SplitAndMix",
    "ThreatModel",
    "ThreeNB",
    "ThreeNBPair",
    "TradeOffCurve",
    "VectorSum",
    "account",
    "amplify",
    "audit_mechanism",
    "audit_one_run",
    "audit_protocol",
    "bandwidth_from_gamma",
    "compose",
    "crowd",
    "design",
    "front",
    "full_report",
    "gamma_from_bandwidth",
    "hockey_stick",
    "largest_epsilon0",
    "largest_rate",
    "least_density_epsilon",
    "least_density_users",
    "least_epsilon",
    "least_messages",
    "least_noise",
    "least_users",
    "manipulation",
    "most_steps",
    "per_instance_budget",
    "plan",
    "plan_bitsums",
    "plan_grid",
    "plan_means",
    "plan_rappor",
    "plan_sums",
    "split_budget",
    "sum_front",
    "theorems",
    "vector_front",
]

# What a name is imported from at its first use, so that `import dpverify` costs nothing. No name may be a subpackage's:
# importing `dpverify.audit` sets that attribute.
_HOMES = {
    "dpverify.audit.black_boxes.black_box": ("audit_mechanism",),
    "dpverify.audit.one_run": ("audit_one_run",),
    "dpverify.audit.protocol": ("audit_protocol",),
    "dpverify.certificates.enclosure": ("hockey_stick",),
    "dpverify.certificates.pairs": (
        "DiscreteLaplacePair",
        "GaussianPair",
        "NegativeBinomialPair",
        "RandomizedResponsePair",
        "ThreeNBPair",
    ),
    "dpverify.evidence.theorems": ("theorems",),
    "dpverify.claims.attacks.manipulation": ("manipulation",),
    "dpverify.composition.inverse": ("per_instance_budget",),
    "dpverify.composition.theorems": ("CompositionTheorem", "compose"),
    "dpverify.guarantee": (
        "Adjacency",
        "Budget",
        "CapacityError",
        "Guarantee",
        "InfeasibleBudgetError",
        "Interval",
        "Side",
        "ThreatModel",
    ),
    "dpverify.learning.classifier": ("PrivateDensityClassifier",),
    "dpverify.learning.density": ("PrivateDensity",),
    "dpverify.learning.joint.discriminant": ("PrivateDiscriminant",),
    "dpverify.learning.scale": ("bandwidth_from_gamma", "gamma_from_bandwidth"),
    "dpverify.collection.design": ("design",),
    "dpverify.collection.query": ("Query",),
    "dpverify.planning.budgets": ("split_budget",),
    "dpverify.planning.sweeps.comparison": ("plan_bitsums", "plan_grid"),
    "dpverify.dossier.gather": ("full_report",),
    "dpverify.planning.crowds": ("crowd",),
    "dpverify.planning.account": ("account",),
    "dpverify.planning.steps.allocation": ("RandomAllocation",),
    "dpverify.planning.steps.calibration": ("largest_rate", "least_noise", "most_steps"),
    "dpverify.planning.steps.integers": ("DiscreteLaplaceStep", "IntegerStep"),
    "dpverify.planning.steps.listed": ("BoundedRangeStep", "OpaqueStep"),
    "dpverify.planning.steps.mixtures": ("MixtureStep",),
    "dpverify.planning.steps.renyi": ("ConcentratedStep", "RenyiStep"),
    "dpverify.planning.steps.step": ("NoisyStep",),
    "dpverify.planning.sweeps.fronts": ("front",),
    "dpverify.planning.kernels.least_density": ("least_density_epsilon", "least_density_users"),
    "dpverify.planning.sweeps.least": ("least_epsilon", "least_messages", "least_users"),
    "dpverify.planning.sums.fronts": ("sum_front",),
    "dpverify.planning.sums.integers": ("plan_sums",),
    "dpverify.planning.sums.vectors": ("vector_front",),
    "dpverify.planning.means": ("plan_means",),
    "dpverify.planning.plan": ("plan",),
    "dpverify.planning.amplify": ("amplify", "largest_epsilon0"),
    "dpverify.planning.rappor": ("plan_rappor",),
    "dpverify.spending.ledger": ("BudgetExceededError", "PrivacyLedger"),
    "dpverify.statistics.bounds.claims": ("GaussianDP", "TradeOffCurve"),
    "dpverify.statistics.bounds.renyi_claims": ("ConcentratedDP", "RenyiDP"),
    "protocols.bitsum": (
        "CentralDiscreteGaussian",
        "CentralDiscreteLaplace",
        "CentralGaussian",
        "LocalRandomizedResponse",
        "NegativeBinomial",
        "Poisson",
        "Pure",
        "RandomizedResponse",
        "ThreeNB",
    ),
    "protocols.classifier": ("HighestDensityClassifier",),
    "protocols.histogram": ("Histogram",),
    "protocols.kde": ("KernelDensityProtocol",),
    "protocols.local.baselines": ("CentralLaplaceMean",),
    "protocols.sums": ("AugmentedSum", "NegativeBinomialSum", "PoissonSum", "SplitAndMix"),
    "protocols.local.labels": ("LabelRandomizedResponse",),
    "protocols.local.laplace": ("DiscreteLaplaceMean", "LaplaceMean"),
    "protocols.local.one_bit": ("OneBitMean",),
    "protocols.local.randomized_response": ("RandomizedResponseMean",),
    "protocols.rappor.client": ("RapporClient",),
    "protocols.rappor.response": ("PermanentResponse", "Rappor"),
    "protocols.selection": ("Selection",),
    "protocols.shuffled_mean": ("ShuffledMean",),
    "protocols.vector_sum": ("VectorSum",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    """Import what is used for the first time."""
    if name not in _HOME_OF:
        from protocols.validation import meant

        near = meant(name, _HOME_OF)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; dir({__name__}) lists what it has{near}.")
    from protocols.classes.optional import needing

    with needing(f"dpverify.{name}"):
        value = getattr(importlib.import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({name for name in globals() if name[0] == "_"} | {*__all__, *_HOME_OF})
