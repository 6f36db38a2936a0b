from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest

from dpverify.claims.classifier import Change, classifier_guarantee, counts_reveal
from dpverify.claims.theorem import Verdict
from dpverify.claims.theorems.classifier import CLASSIFIER
from dpverify.guarantee import Adjacency, Guarantee, Side, ThreatModel
from protocols.local.labels import LabelRandomizedResponse

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
    with pytest.raises(ValueError, match=r"^label_epsilon=0\.0 must be a finite number in \(0, inf\)\.$"):
        classifier_guarantee(guarantee(1.0, 0.0), 0.0, ThreatModel.MODEL, Change.POINT_AND_LABEL)
