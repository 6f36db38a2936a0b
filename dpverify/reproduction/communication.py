"""wagner2025, Figure 2: messages per user of each bitsum, by budget."""

from __future__ import annotations

import numpy as np

from dpverify.claims.bitsum import claims_of
from dpverify.reproduction.accuracy import DELTA, Way, differences, planned
from dpverify.reproduction.experiment import Experiment, Finding, Panel, Reproduction, Row, Setting

__all__ = ["EXPERIMENTS"]

_NAME, _SOURCE, _WHAT = "wagner2025-figure-2", "wagner2025, Figure 2", "messages per user by budget and bitsum"


def _messages(setting: Setting) -> Reproduction:
    epsilons = ("2",) if setting.quick else ("1", "2", "4", "7", "10")
    dimension = setting.data.dimension
    users = int(np.bincount(setting.data.train[1]).min())
    rows: list[Row] = []
    for bitsum in ("rr", "3nb", "pure"):
        for way in Way:
            for epsilon in epsilons:
                setting.progress(f"{bitsum}, {way.value} parameters, epsilon {epsilon}")
                protocol = planned(bitsum, way, "IP", dimension, epsilon, users)
                sent = None if protocol is None else dimension * claims_of(protocol).messages_per_user(protocol, 0.5)
                rows.append(
                    {
                        "bitsum": bitsum,
                        "accounting": way.value,
                        "epsilon": float(epsilon),
                        "users": users,
                        "messages": sent,
                    }
                )

    def of(bitsum: str, way: Way) -> list[float]:
        return [
            row["messages"]
            for row in rows
            if row["bitsum"] == bitsum and row["accounting"] == way and row["messages"] is not None
        ]

    findings = []
    for way in Way:
        three, pure = of("3nb", way), of("pure", way)
        if three:
            few = max(three) / dimension
            findings.append(
                Finding(f"3NB sends a few times as many messages as randomized response ({way} parameters)",
                        1.2 < few < 20,
                        f"up to {few:.2f} times as many, at least {min(three) / dimension:.2f}")
            )  # fmt: skip
        if three and pure:
            ratio = min(pure) / max(three)
            findings.append(
                Finding(f"Pure sends orders of magnitude more messages than 3NB ({way} parameters)", ratio > 10,
                        f"at least {min(pure) / dimension:.2f} for each bit, 3NB at most {max(three) / dimension:.2f}")
            )  # fmt: skip
    panels = (
        Panel("published parameters", "epsilon", "messages", "bitsum",
              [row for row in rows if row["accounting"] == "published"], "ε (nats)", "messages per user", "xy"),
        Panel("joint change", "epsilon", "messages", "bitsum",
              [row for row in rows if row["accounting"] == "joint"], "ε (nats)", "messages per user", "xy"),
    )  # fmt: skip
    notes = (
        f"delta = {DELTA}, {dimension} bits per user, a class of {users} users, half of the bits ones.",
        "As published, Pure composes by the pure theorem, which needs far more noise; 3NB has the constant c = 0.2.",
        differences(setting.data),
    )
    return Reproduction(_NAME, _SOURCE, _WHAT, setting.data.name, tuple(rows), tuple(findings), panels, notes)


EXPERIMENTS = (Experiment(_NAME, _SOURCE, _WHAT, _messages),)
