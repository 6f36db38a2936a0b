"""What a report says in words: what is promised, and what its symbols mean."""

from __future__ import annotations

from dpverify.changes import Full
from dpverify.dossier.contents import Dossier
from dpverify.guarantee import Side, ThreatModel

__all__ = ["GLOSSARY", "promises"]

GLOSSARY: tuple[tuple[str, str, str], ...] = (
    ("ε, δ", "Budget.epsilon, Budget.delta", "budget of everything together, natural logarithms"),
    ("ε₀, δ₀", "epsilon0, delta0", "parameters of one binary sum (wagner2025, Theorem 3.2)"),
    ("n", "users", "number of users, public"),
    ("h", "honest", "users who follow the protocol, at least"),
    ("I", "instances", "sums that each user takes part in"),
    (
        "T²",
        "squared_change",
        "the most that one user's replacement adds to Σ t_j², t_j the change of bit j's probability",
    ),
    ("RMSE", "bitsum_rmse", "root mean squared error of one binary sum, in users"),
    ("p of RR", "flip_probability", "probability that a user flips her bit"),
    ("p of 3NB", "ThreeNB.p", "NB(r, p) has mean r p/(1−p); numpy and scipy call 1 − p what is p here"),
    ("r of 3NB", "ThreeNB.shape", "shape of the noise over all users"),
    ("r′, p′ of 3NB", "ThreeNB.flood_shape, ThreeNB.flood_p", "of the pairs of messages that cancel"),
    ("H_ε(P‖Q)", "PrivacyLossDistribution.delta(epsilon)", "hockey-stick divergence, Σ max(P − e^ε Q, 0)"),
    ("L", "PrivacyLossDistribution.losses", "privacy loss ln P(y)/Q(y)"),
)
"""Symbol, name in the code, meaning: what of docs/notation.md a report uses."""

_ADVERSARIES = {
    ThreatModel.COMMUNICATION: "sees all that reaches the analyzer: the shuffled messages, and what users publish "
    "directly. Who sent which message is not seen",
    ThreatModel.MODEL: "sees only what the analyzer releases at the end",
    ThreatModel.CENTRAL: "sees the output of a trusted curator, who holds all inputs",
    ThreatModel.LOCAL: "sees each user's own messages, with the sender known",
}


def promises(dossier: Dossier) -> tuple[tuple[str, str], ...]:
    """Return what is promised, to whom and against whom: terms with their meaning."""
    row, plans = dossier.chosen, dossier.plans
    guarantee = row.guarantee
    side = "A proved upper bound, truncation and floating-point error included."
    if guarantee.side is not Side.UPPER_BOUND:
        side = "Not proved: read it as an estimate."
    followers = "users" if row.honest is None else f"{row.honest:,} of the {plans.users:,} users"
    change = "All of her bits may change." if isinstance(plans.change, Full) else f"{plans.change}."
    joint = "" if dossier.joint is None else f" Where joint changes are meant, {dossier.joint.change}."
    return (
        (
            "Adjacency",
            f"One user's input is replaced; the number of users, {plans.users:,}, is public and fixed "
            f"({guarantee.adjacency.value}). {change}{joint}",
        ),
        (
            "Threat model",
            f"The adversary {_ADVERSARIES[guarantee.threat_model]} ({guarantee.threat_model.value}). Every other "
            "user's input is known too.",
        ),
        (
            "What ε and δ mean",
            "Whatever the adversary may observe is at most e^ε times as likely, plus δ, as it would be had the user's "
            "input been another one. ε is in nats, natural logarithms.",
        ),
        ("Which side", side),
        (
            "Trust",
            f"The shuffler hides who sent which message, and {followers} follow the protocol; what is left if "
            f"{'some' if row.honest is None else 'more'} do not is shown below. A bound depends on this code, numpy, "
            "scipy and Arb being right, not on a formal proof.",
        ),
    )
