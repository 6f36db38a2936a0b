"""Runnable shuffle-model differential-privacy protocols.

Start at `protocols.bitsum` (private sums of bits), then `protocols.lsq` (kernels as bounded features), `protocols.kde`
(densities from bitsums) and `protocols.classifier` (one density per class, labels by `protocols.local.labels`).

Nothing here imports `dpverify`: a protocol can be run, and audited, alone. What is true of each protocol (its exact
law, its parameter formulas, the theorems about it) stands in the module of the same name under `dpverify.claims`.

All randomness is an explicit `numpy.random.Generator`: this package **simulates** protocols. Floating-point sampling
and a seeded generator are right for experiments and audits and wrong for a real client, which needs operating-system
entropy and exact integer sampling.
"""
