"""The demonstration: a private classifier on bundled data, with published and with exact parameters.

The users are the digits of scikit-learn's bundled set, one image each: 1,347 users, about 135 per class, which is *few*
for the shuffle model. They run the highest density class classifier of wagner2025, section 3.3. The budget is (4, 1e-6)
for the features, with delta well below one over the number of users, and epsilon = 3 for the label: weak promises, but
stronger ones leave nothing to learn from so few users. Bandwidth and number of features are public constants.

Published parameters come with the source's features, single cosines, each charged in full. Exact ones come with as many
cosines and sines in pairs: an image's features then have one norm, and their joint change is charged
(docs/features.md). That they are in a ball before and after is not used: it saves .1 % of the noise, and doubles the
time.

What the whole guarantees (wagner2025, Corollary 3.4, for the communication-threat model): a user's published label is
epsilon_label-DP. Given the published labels, she takes part in the protocol of exactly one class, the reported one,
whatever her image and label are; so the classes' guarantees do not add up, and the features cost what the worst class
costs. Together that is (epsilon + epsilon_label, delta).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from dpverify.claims.classifier import Change, classifier_guarantee
from dpverify.claims.registry import claims_of
from dpverify.formulas import FormulaRangeError
from dpverify.guarantee import Budget, Guarantee, InfeasibleBudgetError, Interval, Side
from dpverify.planning.account import account
from dpverify.planning.plan import METHODS, PlanRow, plan
from dpverify.planning.sweeps.comparison import Comparison, plan_bitsums
from dpverify.shown import Drawn, Plain
from protocols.bitsum import BitsumProtocol
from protocols.classes.frozen import dataclass
from protocols.classifier import HighestDensityClassifier
from protocols.lsq import FourierPairs, GaussianFeatures, LSQFamily
from protocols.validation import check_integer

__all__ = ["BUDGET", "CONCLUSION", "LABEL_EPSILON", "DemoResult", "DemoRow", "many_users", "run"]

BUDGET = Budget("4", "1e-6")
"""For the features."""
LABEL_EPSILON = 3.0
BANDWIDTH = 0.6
"""Of the Gaussian kernel, on images of Euclidean norm 1."""
INSTANCES = 256
_BITSUMS = ("rr", "3nb")
_COUNT_STEP, _COARSER = 10, 10

CONCLUSION = (
    "With so few users the published formula for randomized response drowns the classes in noise, far more than the "
    "budget asks for; the exact law of the same protocol, and of what one image can change of all features together, "
    "meets the same budget with a usable error, one bit per feature.",
    "What it cannot do: a small epsilon at this size. The noise of a bitsum hardly depends on the number of users, so "
    "its share of a class shrinks as the class grows. The same at 30,000 users:",
)
"""What the numbers show, for a reader of the two tables."""

Progress = Callable[[str], None]


@dataclass(frozen=True)
class DemoRow(Plain):
    """One classifier.

    - name: What it is.
    - method: How its parameters were found; None for the one without privacy.
    - accuracies: On the held-out digits, one per run; empty if there is no plan.
    - rmse: Root mean squared error of one bitsum in users, averaged over classes and runs.
    - messages: Expected messages of one user over all instances, averaged likewise.
    - guarantee: Of the whole run, features and label; None without privacy.
    - exact_epsilon: What the features really spend, at the budget's delta, in a class of mean size.
    - notes: What a reader must know about the guarantee.
    - error: Why there is no plan.
    """

    plain_as: ClassVar[str] = (
        "classifier=name method accuracy accuracies bitsum_rmse=rmse messages_per_user=messages guarantee "
        "exact_epsilon notes"
    )

    name: str
    method: str | None
    accuracies: tuple[float, ...] = ()
    rmse: float | None = None
    messages: float | None = None
    guarantee: Guarantee | None = None
    exact_epsilon: Interval | None = None
    notes: tuple[str, ...] = ()
    error: str | None = None

    @property
    def accuracy(self) -> float:
        """The mean accuracy of the runs; nan without any."""
        return float(np.mean(self.accuracies)) if self.accuracies else math.nan

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain JSON values; a row without a plan has the key "error"."""
        if self.error is not None:
            return {"classifier": self.name, "method": self.method, "error": self.error}
        return super().to_dict()


@dataclass(frozen=True)
class DemoResult(Drawn):
    """What `run` measured.

    - budget: Of the features.
    - label_epsilon: Of the published label.
    - users, queries, classes, instances, repeats: Training digits, held-out digits, classes, features per image, and
      runs per classifier.
    - rows: One per classifier.
    """

    table_by: ClassVar[str] = "dpverify.report.tables:demo_table"
    figure_by: ClassVar[str] = "dpverify.report.plots:demo_accuracies"

    budget: Budget
    label_epsilon: float
    users: int
    queries: int
    classes: int
    instances: int
    repeats: int
    rows: tuple[DemoRow, ...]

    @property
    def users_per_class(self) -> int:
        """The mean number of users per class, rounded."""
        return round(self.users / self.classes)


@dataclass(frozen=True)
class _Task:
    """Users and queries; the split is fixed, so that runs differ in the randomness of the protocol alone."""

    users: NDArray[np.float64]
    labels: NDArray[np.int64]
    queries: NDArray[np.float64]
    truth: NDArray[np.int64]

    @classmethod
    def digits(cls) -> _Task:
        images, labels = load_digits(return_X_y=True)
        images = images / np.linalg.norm(images, axis=1, keepdims=True)
        held_out = np.arange(len(labels)) % 4 == 0
        return cls(images[~held_out], labels[~held_out], images[held_out], labels[held_out])


@dataclass(frozen=True)
class _Features:
    """Which features a method runs with, and what one user's image may change of their bits.

    - family: Their family.
    - pairs, bits: How many of its pairs are drawn, and how many bits these have.
    - squared_change: T^2, the same for every draw; None where each bit is charged in full.
    """

    family: LSQFamily
    pairs: int
    bits: int
    squared_change: float | None

    @classmethod
    def of(cls, method: str | None, dimension: int, instances: int) -> _Features:
        """Return those of a method, with so many bits, or one more."""
        if method != "exact":
            return cls(GaussianFeatures(dimension, BANDWIDTH), instances, instances, None)
        family, pairs = FourierPairs(dimension, BANDWIDTH), (instances + 1) // 2
        drawn = family.sample(pairs, np.random.default_rng(0))
        return cls(family, pairs, drawn.coordinates, claims_of(family).squared_change(drawn))


class _Planner:
    """Parameters for every reported count.

    The exact method searches at the count rounded down to a multiple of `_COUNT_STEP` only. Its result holds for more
    users too: for randomized response their reports are noise on top of the view, independent of the rest, and 3NB's
    total noise is the same for every number of users: larger steps cost it messages only. The published formulas are
    evaluated at the count itself.
    """

    def __init__(self, bitsum: str, method: str, features: _Features) -> None:
        self._step = 1 if method == "published" else _COUNT_STEP * (1 if bitsum == "rr" else _COARSER)
        self._plan = functools.cache(
            lambda users: plan(
                bitsum,
                BUDGET,
                users=users,
                instances=features.bits,
                method=method,
                squared_change=features.squared_change,
            )
        )
        self.rows: list[PlanRow] = []
        self.protocols: list[BitsumProtocol] = []

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader must know about the parameters that were used."""
        rounded = f"parameters set for the class size rounded down to a multiple of {self._step}, and valid above"
        return (*dict.fromkeys(note for row in self.rows for note in row.notes), *([rounded] if self._step > 1 else []))

    def row(self, users: int) -> PlanRow:
        """Return a plan whose parameters hold for this number of users."""
        return self._plan(max(users - users % self._step, 1))

    def protocol(self, users: int) -> BitsumProtocol:
        """Return the protocol for this number of users."""
        return replace(self.row(users).protocol, users=users)

    def __call__(self, users: int) -> BitsumProtocol:
        """Return the protocol for a class of the classifier, and remember that it was used."""
        self.rows.append(self.row(users))
        self.protocols.append(self.protocol(users))
        return self.protocols[-1]


def _whole(plans: Sequence[PlanRow]) -> Guarantee:
    """Return the guarantee of features and label together: the budget, as which classes occur is drawn."""
    proved = all(row.guarantee.side is Side.UPPER_BOUND for row in plans)
    worst = replace(
        plans[0].guarantee,
        epsilon=BUDGET.epsilon,
        delta=BUDGET.delta,
        side=Side.UPPER_BOUND if proved else Side.ESTIMATE,
    )
    return classifier_guarantee(worst, LABEL_EPSILON, worst.threat_model, Change.POINT_AND_LABEL)


def _spent(row: PlanRow, protocol: BitsumProtocol, features: _Features) -> Interval:
    """Return the epsilon at the budget's delta: no more than was proved for the plan, on a finer grid."""
    found = account(
        protocol,
        instances=features.bits,
        squared_change=features.squared_change,
        delta=BUDGET.delta,
        relative_width=1e-3,
    ).epsilon
    proved = row.guarantee.epsilon if row.guarantee.side is Side.UPPER_BOUND else math.inf
    return Interval.proved(found.lower, min(found.upper, proved))


def _scores(task: _Task, planner: _Planner | None, features: _Features, seeds: Sequence[int]) -> tuple[float, ...]:
    def score(seed: int) -> float:
        classifier = HighestDensityClassifier(
            features.family,
            instances=features.pairs,
            bitsum=planner,
            label_epsilon=None if planner is None else LABEL_EPSILON,
            classes=np.unique(task.labels),
            random_state=seed,
            public_random_state=seed,
        )
        return float(classifier.fit(task.users, task.labels).score(task.queries, task.truth))

    return tuple(score(seed) for seed in seeds)


def run(*, seed: int = 0, repeats: int = 3, instances: int = INSTANCES, progress: Progress | None = None) -> DemoResult:
    """Train and score the classifier without privacy, and with every bitsum and method.

    - seed: Of the first run, at least 0; it fixes the result.
    - repeats: Runs per classifier, at least 1, each with its own private and public randomness.
    - instances: I, features per image.
    - progress: Called with a line about what comes next.

    Raises TypeError or ValueError if an argument is out of range.
    """
    check_integer("seed", seed, low=0)
    check_integer("repeats", repeats, low=1)
    check_integer("instances", instances, low=1)
    tell = progress or (lambda line: None)
    task = _Task.digits()
    classes = len(np.unique(task.labels))
    seeds = range(seed, seed + repeats)
    tell("no privacy")
    dimension = task.users.shape[1]
    rows = [DemoRow("no privacy", None, _scores(task, None, _Features.of(None, dimension, instances), seeds))]
    for bitsum in _BITSUMS:
        for method in METHODS:
            name = f"{bitsum}, {method}"
            tell(name)
            features = _Features.of(method, dimension, instances)
            planner = _Planner(bitsum, method, features)
            try:
                accuracies = _scores(task, planner, features, seeds)
            except (InfeasibleBudgetError, FormulaRangeError) as error:
                rows.append(DemoRow(name, method, error=str(error)))
                continue
            claims = claims_of(planner.protocols[0])
            typical = planner.protocol(round(len(task.users) / classes))
            rows.append(
                DemoRow(
                    name,
                    method,
                    accuracies,
                    float(np.mean([claims.rmse(protocol) for protocol in planner.protocols])),
                    float(np.mean([claims.messages_per_user(protocol) for protocol in planner.protocols]))
                    * features.bits,
                    _whole(planner.rows),
                    _spent(planner.row(typical.users), typical, features),
                    planner.notes,
                )
            )
    return DemoResult(
        BUDGET,
        LABEL_EPSILON,
        users=len(task.users),
        queries=len(task.queries),
        classes=classes,
        instances=instances,
        repeats=repeats,
        rows=tuple(rows),
    )


def many_users() -> Comparison:
    """Return the plans for wagner2025's scale, 30,000 users and 768 instances, at (2, 1e-6)."""
    return plan_bitsums(Budget("2", "1e-6"), users=30_000, instances=768, bitsums=_BITSUMS)
