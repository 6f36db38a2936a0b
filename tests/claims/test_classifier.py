import itertools
import json
import math
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest

from dpverify.changes import Full
from dpverify.claims.base import MoreUsers
from dpverify.claims.classifier import (
    Change,
    ClassifierClaims,
    _possible,
    _PromisedCurve,
    classifier_guarantee,
    counts_reveal,
)
from dpverify.claims.kde.privacy import KernelDensityClaims
from dpverify.claims.registry import claims_of
from dpverify.guarantee import Adjacency, CapacityError, Guarantee, InfeasibleBudgetError, Interval, Side, ThreatModel
from dpverify.papers.entries import stated
from dpverify.papers.theorem import Verdict
from dpverify.planning.account import account
from protocols.bitsum import BitsumProtocol, CentralGaussian, Poisson, RandomizedResponse
from protocols.bitsum.exact_sum import ExactSum
from protocols.classifier import HighestDensityClassifier
from protocols.local.labels import LabelRandomizedResponse
from protocols.lsq import LinearMap
from tests.refusals import refused

CLASSIFIER = stated("wagner2025/classifier", "classifier")

FLIP, LABEL_EPSILON = 0.2, 1.0
USERS = tuple(itertools.product((0, 1), repeat=2))  # (bit, label)


def guarantee(epsilon: float, delta: float, **changes: object) -> Guarantee:
    fields = {
        "adjacency": Adjacency.REPLACE_ONE,
        "threat_model": ThreatModel.COMMUNICATION,
        "side": Side.UPPER_BOUND,
        "method": "test",
        "source": "test",
        **changes,
    }
    return Guarantee(epsilon, delta, **fields)


def reports(bits: tuple[int, ...]) -> np.ndarray:
    """The law of the number of reported ones of a class that runs randomized response."""
    pmf = np.ones(1)
    for bit in bits:
        one = 1 - FLIP if bit else FLIP
        pmf = np.convolve(pmf, [1 - one, one])
    return pmf


def view(users: tuple[tuple[int, int], ...], threat_model: ThreatModel) -> Counter:
    """The exact law of what the adversary sees: reported labels or their counts, and each class's reported ones."""
    transition, law = LabelRandomizedResponse(2, LABEL_EPSILON).transition, Counter()
    for labels in itertools.product((0, 1), repeat=len(users)):
        chance = math.prod(transition[user[1], label] for user, label in zip(users, labels, strict=True))
        classes = [reports(tuple(u[0] for u, r in zip(users, labels, strict=True) if r == c)) for c in (0, 1)]
        seen = labels if threat_model is ThreatModel.COMMUNICATION else (labels.count(0), labels.count(1))
        for ones in itertools.product(*(range(pmf.size) for pmf in classes)):
            law[seen, ones] += chance * math.prod(pmf[k] for pmf, k in zip(classes, ones, strict=True))
    return law


def divergence(first: Counter, second: Counter, epsilon: float) -> float:
    return sum(max(mass - math.exp(epsilon) * second[outcome], 0.0) for outcome, mass in first.items())


def worst(users: int, threat_model: ThreatModel, change: Change, epsilon: float) -> float:
    largest = 0.0
    for others in itertools.product(USERS, repeat=users - 1):
        for here, there in itertools.permutations(USERS, 2):
            if change is Change.POINT and here[1] != there[1]:
                continue
            laws = (view((user, *others), threat_model) for user in (here, there))
            largest = max(largest, divergence(*laws, epsilon))
    return largest


def class_delta(users: int, epsilon: float) -> float:
    """The worst divergence of a class of any size up to `users`."""
    laws = [
        [reports((bit, *others)) for bit in pair]
        for size in range(users)
        for others in itertools.product((0, 1), repeat=size)
        for pair in ((0, 1), (1, 0))
    ]
    return max(float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum()) for p, q in laws)


@pytest.mark.long
@pytest.mark.parametrize("users", [1, 2, 3])
@pytest.mark.parametrize("change", list(Change))
@pytest.mark.parametrize("threat_model", [ThreatModel.COMMUNICATION, ThreatModel.MODEL])
def test_guarantee_against_all_small_datasets(users: int, change: Change, threat_model: ThreatModel) -> None:
    for epsilon in (0.0, 0.3, 0.8, 1.2):
        per_class = guarantee(epsilon, class_delta(users, epsilon))
        claimed = classifier_guarantee(per_class, LABEL_EPSILON, threat_model, change)
        assert worst(users, threat_model, change, claimed.epsilon) <= claimed.delta + 1e-12


def test_the_corollary_fails_for_changed_labels_and_known_counts() -> None:
    epsilon = math.log((1 - FLIP) / FLIP)
    assert class_delta(1, epsilon) == pytest.approx(0.0, abs=1e-15)  # each class is pure at this epsilon
    exact = worst(1, ThreatModel.MODEL, Change.POINT_AND_LABEL, epsilon)
    assert exact > 0.1
    # The counts alone are a counterexample wherever epsilon is below the label's.
    counts = counts_reveal(0.5, LABEL_EPSILON, 2)
    assert counts == pytest.approx(LabelRandomizedResponse(2, LABEL_EPSILON).keep_probability * (1 - math.exp(-0.5)))
    assert counts <= worst(1, ThreatModel.MODEL, Change.POINT_AND_LABEL, 0.5)
    assert counts_reveal(1.0, 1.0, 2) == 0.0
    assert CLASSIFIER[1].verdict is Verdict.HOLDS_WITH_CONDITION


def test_labels_in_the_clear_protect_points_only() -> None:
    per_class = guarantee(1.0, 1e-6)
    assert classifier_guarantee(per_class, None, ThreatModel.MODEL, Change.POINT).epsilon == 1.0
    assert classifier_guarantee(per_class, None, ThreatModel.MODEL, Change.POINT_AND_LABEL).epsilon == math.inf


def test_of_an_estimate_an_estimate_is_made() -> None:
    estimated = guarantee(1.0, 1e-6, side=Side.ESTIMATE)
    found = classifier_guarantee(estimated, 2.0, ThreatModel.COMMUNICATION, Change.POINT_AND_LABEL)
    assert (found.side, found.epsilon) == (Side.ESTIMATE, 3.0)


def test_bad_arguments() -> None:
    with pytest.raises(ValueError, match=r"^threat_model='local' must be"):
        classifier_guarantee(guarantee(1.0, 0.0), 1.0, ThreatModel.LOCAL, Change.POINT)
    with pytest.raises(ValueError, match=r"must be an upper bound, or an estimate, for replace-one adjacency\.$"):
        classifier_guarantee(guarantee(1.0, 0.0, side=Side.LOWER_BOUND), 1.0, ThreatModel.MODEL, Change.POINT)
    weaker = guarantee(1.0, 0.0, threat_model=ThreatModel.MODEL)
    with pytest.raises(ValueError, match=r"^per_class is for the model threat model"):
        classifier_guarantee(weaker, 1.0, ThreatModel.COMMUNICATION, Change.POINT)
    with refused("label_epsilon=0.0"):
        classifier_guarantee(guarantee(1.0, 0.0), 0.0, ThreatModel.MODEL, Change.POINT_AND_LABEL)


# ---------------------------------------------------------------------- account


def fitted(label_epsilon: float | None, bitsum: Callable[[int], BitsumProtocol]) -> HighestDensityClassifier:
    rng = np.random.default_rng(5)
    points, labels = rng.normal(size=(60, 2)), np.repeat([0, 0, 1, 2], 15)
    made = HighestDensityClassifier(
        instances=4, bitsum=bitsum, label_epsilon=label_epsilon, random_state=3, classes=[0, 1, 2]
    )
    return made.fit(points, labels)


def label_alone(classes: int, label_epsilon: float, delta: float) -> float:
    """The epsilon of a reported label."""
    return math.log(math.exp(label_epsilon) - delta * (math.exp(label_epsilon) + classes - 1))


@pytest.mark.long
@pytest.mark.parametrize("threat_model", [ThreatModel.COMMUNICATION, ThreatModel.MODEL])
def test_account_is_the_corollary_for_the_worst_class_that_could_be(threat_model: ThreatModel) -> None:
    # Below 20 users all bits are coins; else sizes from 20 and from 40 on have their parameters.
    flips = {0: 0.499, 1: 0.3, 2: 0.2}
    model = fitted(2.0, lambda users: RandomizedResponse(users, flips[min(users // 20, 2)]))
    assert model.reported_counts_.max() < 40
    at = {"threat_model": threat_model, "relative_width": 1e-4}
    found = account(model, delta=1e-3, **at)
    classes = [account(model.class_protocol(size), delta=1e-3, relative_width=1e-4) for size in (1, 20, 40)]
    worst = max(classes, key=lambda made: made.epsilon.upper)
    assert worst is classes[2]
    whole = classifier_guarantee(worst.guarantee, 2.0, threat_model, Change.POINT_AND_LABEL)
    assert found.guarantee.epsilon == whole.epsilon == found.epsilon.upper
    assert found.guarantee.threat_model is threat_model
    seen = threat_model is ThreatModel.COMMUNICATION
    assert found.epsilon.lower == pytest.approx(label_alone(3, 2.0, 1e-3) if seen else 0.0)
    assert found.parameters["smallest_class"]["users"] == model.reported_counts_.min()
    json.dumps(found.to_dict())
    whole_curve = ClassifierClaims().curve(model, Full(1), threat_model, reference_delta=1e-2)
    of_worst = KernelDensityClaims().curve(
        model.class_protocol(40), Full(1), ThreatModel.COMMUNICATION, reference_delta=1e-2
    )
    for epsilon in (1.0, 2.5, 3.5):
        found_delta = whole_curve.delta(epsilon)
        expected = 1.0 if epsilon < 2.0 else of_worst.delta(epsilon - 2.0).upper
        assert found_delta.upper == pytest.approx(expected, rel=1e-9)
        assert found_delta.lower == pytest.approx(counts_reveal(epsilon, 2.0, 3) if seen else 0.0)
        # Whatever it was made for, a curve is above what is true of a class.
        least = of_worst.delta(max(epsilon - 2.0, 0.0)).lower
        assert least <= account(model, epsilon=epsilon, **at).delta.upper
    assert account(model, delta=0, **at).epsilon.upper == pytest.approx(2.0 + 4.0 * math.log(0.8 / 0.2))


@pytest.mark.long
@pytest.mark.parametrize("threat_model", [ThreatModel.COMMUNICATION, ThreatModel.MODEL])
def test_account_holds_for_all_small_datasets(threat_model: ThreatModel) -> None:
    """All three were reported to be of one class; a class of one would have had the same parameters, and less noise."""
    model = HighestDensityClassifier(
        "inner-product", instances=1, bitsum=lambda users: RandomizedResponse(users, FLIP),
        label_epsilon=LABEL_EPSILON, classes=[0, 1], empty_class="never", random_state=4,
    ).fit(np.ones((3, 1)), [0, 0, 0])  # fmt: skip
    assert model.reported_counts_.tolist() == [3]
    for epsilon in (0.5, 1.0, 1.5, 2.0, 2.3):
        found = account(model, epsilon=epsilon, threat_model=threat_model).delta
        assert found.lower - 1e-12 <= worst(3, threat_model, Change.POINT_AND_LABEL, epsilon) <= found.upper + 1e-12
    # What the class that occurred gives, moved by the label's epsilon, would not do.
    only = account(model.class_protocol(3), epsilon=1.0).delta
    if threat_model is ThreatModel.COMMUNICATION:
        assert worst(3, threat_model, Change.POINT_AND_LABEL, 1.0 + LABEL_EPSILON) > only.upper + 1e-3


def test_labels_in_the_clear_cost_everything() -> None:
    model = fitted(None, lambda users: RandomizedResponse(users, 0.3))
    assert account(model, delta=1e-3).epsilon == Interval(math.inf, math.inf)
    assert account(model, epsilon=50).delta == Interval(1.0, 1.0)


def test_a_single_class_is_its_density() -> None:
    model = HighestDensityClassifier(
        instances=2, bitsum=lambda users: RandomizedResponse(users, 0.3), label_epsilon=1.0, random_state=0
    ).fit(np.ones((9, 2)), [1] * 9)
    (only,) = model.class_protocols()
    assert account(model, delta=1e-3).epsilon == account(only, delta=1e-3).epsilon
    assert account(model, delta=0).epsilon == account(only, delta=0).epsilon


def test_sizes_that_have_no_parameters_send_nothing() -> None:
    def bitsum(users: int) -> BitsumProtocol:
        if users < 15:
            raise InfeasibleBudgetError("too few")
        return RandomizedResponse(users, 0.3)

    model = fitted(2.0, bitsum)
    least = account(model.class_protocol(15), delta=1e-3, relative_width=1e-4).epsilon.upper
    assert account(model, delta=1e-3, relative_width=1e-4).epsilon.upper == pytest.approx(least + 2.0)


def test_too_many_kinds_of_classes_are_refused() -> None:
    model = HighestDensityClassifier(
        instances=2, bitsum=lambda users: Poisson(users, 1.0 + users), label_epsilon=1.0, classes=[0, 1],
        random_state=0,
    ).fit(np.ones((300, 2)), np.arange(300) % 2)  # fmt: skip
    with pytest.raises(CapacityError, match=r"have over 256 different parameters"):
        account(model, delta=1e-3)


def test_what_a_classifier_needs_for_an_account() -> None:
    with pytest.raises(ValueError, match="not fitted yet"):
        account(HighestDensityClassifier(), delta=1e-3)
    model = fitted(2.0, lambda users: RandomizedResponse(users, 0.3))
    with refused("instances=2"):
        account(model, instances=2, delta=1e-3)
    with pytest.raises(TypeError, match=r"^protocol=ExactSum\(.*\) has no claims"):
        account(fitted(2.0, ExactSum), delta=1e-3)
    central = fitted(2.0, lambda users: CentralGaussian(users, 3.0))
    assert account(central, delta=1e-3).guarantee.threat_model is ThreatModel.CENTRAL


def test_what_one_point_can_change_is_charged_and_said() -> None:
    rng = np.random.default_rng(3)
    points, labels = rng.standard_normal((60, 6)), np.arange(60) % 2
    family = LinearMap(6, "haar", 0.8, radius=1.0, outside="scale")
    learned = HighestDensityClassifier(
        family, bitsum=lambda users: RandomizedResponse(users, FLIP), label_epsilon=LABEL_EPSILON, random_state=0
    ).fit(points, labels)
    found = account(learned, delta=1e-4)
    in_full = account(RandomizedResponse(1, FLIP), instances=6, delta=1e-4).epsilon.upper
    assert LABEL_EPSILON < found.epsilon.upper < LABEL_EPSILON + 0.75 * in_full
    assert "replacing one point moves the 6 bits' probabilities by squares that add up to 1.5625" in found.notes[0]


@pytest.mark.parametrize(("epsilon0", "delta0"), [(1.0, 0.2), (0.1, 0.01), (3.0, 1e-6)])
def test_a_promise_covers_the_worst_mechanism_that_keeps_it(epsilon0: float, delta0: float) -> None:
    """One that fails with delta0, and else flips a bit: exactly, at every other epsilon."""
    promised = _PromisedCurve(guarantee(epsilon0, delta0))
    for epsilon in (0.0, 0.3 * epsilon0, 0.9 * epsilon0, epsilon0, 2.0 * epsilon0):
        flipped = max(math.exp(epsilon0) - math.exp(epsilon), 0.0) / (1.0 + math.exp(epsilon0))
        exact = delta0 + (1.0 - delta0) * flipped
        assert exact - 1e-15 <= promised.delta(epsilon).upper <= exact + delta0
    assert promised.epsilon(delta0).upper == epsilon0
    assert promised.epsilon(0.99 * delta0).upper == math.inf


def test_without_a_proof_more_users_are_not_taken_to_be_as_private(monkeypatch: pytest.MonkeyPatch) -> None:
    model = fitted(2.0, lambda users: RandomizedResponse(users, 0.3))
    assert [made.users for made in _possible(model)] == [1]
    monkeypatch.setattr(type(claims_of(model.class_protocol(1).bitsum)), "more_users", MoreUsers.UNKNOWN)
    assert [made.users for made in _possible(model)] == list(range(1, 61))
