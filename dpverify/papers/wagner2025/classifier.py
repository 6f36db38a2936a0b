"""What the sources claim about classifiers, and what was found about each claim."""

from __future__ import annotations

from dpverify.formulas import Hypothesis
from dpverify.formulas.conditions import within
from dpverify.papers.theorem import Concern, Kind, Theorem, Verdict, enumeration, proof

__all__ = ["CLASSIFIER"]

_CLASSES = Hypothesis(
    "classes-are-private",
    "Each class's protocol is (eps, delta)-DP at its reported size, whatever that is.",
    lambda class_epsilon, epsilon: class_epsilon <= epsilon,
)
_LABELS = within("label_epsilon", "(0, inf)", "wagner2025, section 3.3")

CLASSIFIER: tuple[Theorem, ...] = (
    Theorem(
        name="wagner2025-corollary-3.4-communication",
        source="wagner2025, Corollary 3.4, communication-threat model",
        kind=Kind.COROLLARY,
        statement="The learning protocol is (eps + eps_lbl, delta)-DP",
        hypotheses=(_CLASSES, _LABELS),
        verdict=Verdict.HOLDS,
        finding="For neighbours that differ in one user's point and label (with one user an excess of "
        "{point_and_label:.0e} over delta); (eps, delta) if only her point differs. It needs each class's protocol to "
        "be (eps, delta)-DP at its reported size, whatever that turns out to be.",
        checked_by=(
            proof(
                "docs/classifier.md#her-label-changes-too-eps--eps_lbl-delta", "both worlds at the same reported label"
            ),
            enumeration("classifier:one_user_classes", "all views of one user of two classes"),
        ),
        links=(
            "protocols.classifier",
            "dpverify.claims.classifier",
            "tests/claims/test_classifier.py::test_guarantee_against_all_small_datasets",
        ),
    ),
    Theorem(
        name="wagner2025-corollary-3.4-model",
        source="wagner2025, Corollary 3.4, model-threat model",
        kind=Kind.COROLLARY,
        statement="The learning protocol is (eps, delta)-DP",
        hypotheses=(
            _CLASSES,
            _LABELS,
            Hypothesis(
                "equal-labels",
                "Neighbours have equal labels (not stated).",
                lambda label, other_label: label == other_label,
            ),
        ),
        verdict=Verdict.HOLDS_WITH_CONDITION,
        finding="Holds for neighbours of equal labels. If the label may change it fails, as the reported counts are "
        "part of the model: with one user they are her reported label, at eps_lbl. At eps = 0.5, eps_lbl = 2 and two "
        "classes they alone have delta {delta_of_counts:.3f}.",
        checked_by=(
            proof("docs/classifier.md#her-point-changes-her-label-stays-eps-delta", "equal labels"),
            enumeration("classifier:counts_are_labels", "what the counts of one user reveal"),
        ),
        links=(
            "protocols.classifier",
            "dpverify.claims.classifier:counts_reveal",
            "tests/claims/test_classifier.py::test_the_corollary_fails_for_changed_labels_and_known_counts",
        ),
        concern=Concern.PRIVACY,
        repair="(eps + eps_lbl, delta) in both threat models, unless labels are public.",
    ),
)
