"""An example or two of every command, below its help."""

from __future__ import annotations

import shutil
from collections.abc import Sequence

__all__ = ["EXAMPLES", "below_help", "folded"]

_WIDEST, _MARGIN = 80, 4
"""Columns that help takes at most, and that stay free beside an example."""
_BUDGET = "--epsilon 1 --delta 1e-6"
_ALL = "--instances 8 --delta 1e-6"

EXAMPLES: dict[str, tuple[str, ...]] = {
    "budget": (f"budget {_BUDGET} --instances 64", f"budget {_BUDGET} --instances 64 --bitsum nb --users 10000"),
    "plan": (
        f"plan {_BUDGET} --users 10000 --instances 64",
        "plan --epsilon 0.5,1,2 --delta 1e-6 --users 1e4,1e5 --instances 64 --bitsum nb --csv plans.csv",
    ),
    "least": (f"least users {_BUDGET} --instances 8 --error 0.005 --bitsum nb",),
    "least users": (
        f"least users {_BUDGET} --instances 8 --error 0.005 --bitsum nb",
        f"least users {_BUDGET} --kernel inner-product --dimension 16 --error 0.05",
    ),
    "least epsilon": ("least epsilon --delta 1e-6 --users 10000 --instances 8 --error 0.005 --bitsum nb",),
    "least noise": ("least noise --epsilon 2 --delta 1e-5 --steps 10000 --rate 0.01",),
    "least messages": (f"least messages {_BUDGET} --users 10000 --instances 64 --error 0.0036 --bitsum nb",),
    "front": (
        f"front {_BUDGET} --users 10000 --instances 64 --bitsum nb --plot front.png",
        f"front {_BUDGET} --users 10000 --smallest=-1 --largest 1 --real",
        f"front {_BUDGET} --users 10000 --dimension 384 --peers",
    ),
    "means": ("means --epsilon 1 --delta 0 --users 1000",),
    "sums": (
        "sums --epsilon 1 --delta 1e-6 --users 10000 --smallest 1 --largest 5",
        "sums --epsilon 1 --delta 1e-6 --users 10000 --dimension 384",
    ),
    "design": ("design collection.toml", "design collection.toml --manifest plan.json"),
    "rehearse": ("rehearse plan.json rehearsal --users 1e6 --offline 0.1 --cheats 0.01 --days 3",),
    "aggregate": (
        "aggregate plan.json batches/2026-11-24",
        "aggregate plan.json sums-1.json sums-2.json --ledger ledger.jsonl",
    ),
    "account": (f"account rr --users 10000 --flip-probability 0.1 {_ALL}",),
    "account rr": (
        f"account rr --users 10000 --flip-probability 0.1 {_ALL}",
        f"account rr --users 10000 --flip-probability 0.1 {_ALL} --honest 5000",
    ),
    "account 3nb": (f"account 3nb --users 10000 --p 0.9 --flood-shape 10 --flood-p 0.95 {_ALL}",),
    "account nb": (f"account nb --shape 1000 --p 0.5 {_ALL}",),
    "account poisson": (f"account poisson --mean 1000 {_ALL}",),
    "account pure": (f"account pure --p 0.9 --threat-model model {_ALL}",),
    "account central-gaussian": (f"account central-gaussian --sigma 20 {_ALL}",),
    "account central-discrete-gaussian": (f"account central-discrete-gaussian --sigma 20 {_ALL}",),
    "account central-discrete-laplace": (f"account central-discrete-laplace --p 0.9 {_ALL}",),
    "account local-rr": (f"account local-rr --flip-probability 0.4 {_ALL}",),
    "account histogram": ("account histogram --buckets 100 --shape 1000 --p 0.5 --delta 1e-6",),
    "account selection": ("account selection --buckets 100 --shape 1000 --p 0.5 --delta 1e-6",),
    "account poisson-sum": ("account poisson-sum --users 10000 --largest 4 --mean 337 --delta 1e-6",),
    "account augmented-sum": ("account augmented-sum --users 10000 --largest 4 --margin 64 --p 0.7788 --delta 1e-6",),
    "account nb-sum": ("account nb-sum --users 10000 --largest 4 --shape 300 --p 0.5 --delta 1e-6",),
    "account split-and-mix": (
        "account split-and-mix --users 10000 --largest 4 --modulus 65536 --shares 8 --p 0.7788 --delta 1e-6",
    ),
    "account vector-sum": (
        "account vector-sum --users 1000 --dimension 8 --levels 4 --blanket-probability 0.2 --delta 1e-6",
    ),
    "account kde": (
        "account kde --users 1000 --kernel laplacian --dimension 2 --bits 16 --flip-probability 0.2 --delta 1e-6",
    ),
    "account days": ("account days days.csv --delta 1e-6",),
    "account noisy-step": ("account noisy-step --noise 1 --rate 0.01 --instances 1000 --delta 1e-6",),
    "account steps": ("account steps --noise 1 --rate 0.01 --steps 10000 --delta 1e-6",),
    "amplify": (
        "amplify --epsilon0 1 --users 10000 --delta 1e-6",
        "amplify --epsilon 0.1 --users 10000 --delta 1e-6",
    ),
    "crowd": ("crowd --epsilon 1 --delta 1e-6 --users 1000 --instances 8 --bitsum nb --malicious 10",),
    "rappor": ("rappor --epsilon-one 1 --epsilon-limit 2 --users 100000",),
    "audit": ("audit rr --users 1000 --flip-probability 0.25 --target ./yours.py:noisy_sum --trials 1000",),
    "audit rr": (
        "audit rr --users 1000 --flip-probability 0.25 --claim-epsilon 0.2 --claim-delta 1e-6 --trials 1000",
        "audit rr --users 1000 --flip-probability 0.25 --target ./yours.py:noisy_sum --trials 1000",
    ),
    "audit 3nb": ("audit 3nb --users 100 --p 0.9 --flood-shape 10 --flood-p 0.8 --trials 500",),
    "audit nb": ("audit nb --users 100 --shape 20 --p 0.5 --trials 500",),
    "audit poisson": ("audit poisson --users 100 --mean 20 --trials 500",),
    "audit pure": ("audit pure --users 100 --p 0.9 --flood-shape 10 --flood-p 0.8 --trials 500",),
    "audit central-discrete-laplace": ("audit central-discrete-laplace --users 100 --p 0.9 --trials 500",),
    "audit central-discrete-gaussian": ("audit central-discrete-gaussian --users 100 --sigma 5 --trials 500",),
    "audit local-rr": ("audit local-rr --users 100 --flip-probability 0.4 --trials 500",),
    "audit decoding": (
        "audit decoding --users 5 --kernel gaussian --dimension 2 --flip-probability 0.3 --bits 2 --trials 500",
    ),
    "audit histogram": ("audit histogram --users 20 --buckets 3 --shape 20 --p 0.5 --trials 500",),
    "audit selection": ("audit selection --users 20 --buckets 3 --shape 5 --p 0.3 --trials 500",),
    "audit poisson-sum": ("audit poisson-sum --users 20 --largest 4 --mean 60 --trials 300",),
    "audit augmented-sum": ("audit augmented-sum --users 20 --largest 4 --margin 64 --p 0.7788 --trials 300",),
    "audit nb-sum": ("audit nb-sum --users 20 --largest 4 --shape 30 --p 0.6 --trials 300",),
    "audit split-and-mix": (
        "audit split-and-mix --users 20 --largest 4 --modulus 1024 --shares 4 --p 0.8 --trials 300",
    ),
    "audit vector-sum": (
        "audit vector-sum --users 20 --dimension 2 --levels 2 --blanket-probability 0.3 --trials 500",
    ),
    "audit mechanism": (
        "audit mechanism --target ./yours.py:noisy_sum --input 0,0 --neighbour 1,0 --claim-epsilon 1 --claim-delta 0 "
        "--trials 1000",
    ),
    "audit client": ("audit client plan.json --hash HASH --client 'node audited.js'",),
    "canaries": ("canaries ./yours.py:guesses --claim-epsilon 3 --claim-delta 0",),
    "certify": ("certify rr --epsilon 0.5 --users 100 --flip-probability 0.25 --digits 30",),
    "certify rr": ("certify rr --epsilon 0.5 --users 100 --flip-probability 0.25 --digits 30",),
    "certify nb": ("certify nb --epsilon 0.5 --shape 20 --p 0.5",),
    "certify 3nb": ("certify 3nb --epsilon 0.5 --p 0.9 --flood-shape 10 --flood-p 0.5",),
    "certify poisson": ("certify poisson --epsilon 0.5 --mean 100",),
    "certify pure": ("certify pure --epsilon 0.5 --p 0.9 --flood-shape 10 --flood-p 0.5",),
    "certify central-discrete-laplace": ("certify central-discrete-laplace --epsilon 0.5 --p 0.4",),
    "certify central-gaussian": ("certify central-gaussian --epsilon 0.5 --sigma 2",),
    "certify local-rr": ("certify local-rr --epsilon 0.5 --flip-probability 0.25",),
    "certify rr-mean": ("certify rr-mean --epsilon 0.5 --report-epsilon 1",),
    "certify laplace-mean": ("certify laplace-mean --epsilon 0.5 --report-epsilon 1",),
    "certify discrete-laplace-mean": ("certify discrete-laplace-mean --epsilon 0.5 --report-epsilon 1",),
    "check": ("check local-rr.json",),
    "formula": (
        "formula three-nb.noise-p epsilon0=0.01 --digits 50",
        "formula randomized-response.rmse n=30000 --solve p --equals 62",
        "formula composition.advanced --latex",
    ),
    "theorems": ("theorems wagner2025", "theorems check --quick wagner2025-a2-per-user-shape"),
    "theorems show": ("theorems show wagner2025",),
    "theorems check": ("theorems check --quick wagner2025-a2-per-user-shape",),
    "theorems errata": ("theorems errata",),
    "theorems coverage": ("theorems coverage",),
    "report": (f"report plans.html {_BUDGET} --users 10000 --instances 64",),
    "reproduce": ("reproduce wagner2025-figure-2 --quick --csv rows.csv",),
    "serve": ("serve",),
    "collect": ("collect plan.json --hash HASH --store 2027-01-31",),
    "collected": ("collected plan.json --hash HASH --store 2027-01-31",),
    "release": ("release plan.json version --hash HASH --store 2027-01-31",),
    "classify": (
        "classify points.npz --labels y --epsilon 2 --delta 1e-6 --holdout 0.2 --output model.npz",
        "classify points.npz --labels y --learner discriminant --holdout 0.2 --output model.npz",
    ),
    "predict": ("predict model.npz points.npz --labels y",),
    "decode": ("decode model.npz words.npz --words words",),
    "demo": ("demo",),
    "spend": ("spend spent.jsonl rr --users 10000 --instances 8 --flip-probability 0.1",),
    "spent": ("spent spent.jsonl --new --epsilon 1 --delta 1e-6", "spent spent.jsonl"),
}
"""By command: what may be typed behind `dpverify`."""


def below_help(words: Sequence[str]) -> str | None:
    """Return what stands below the help of the command that the words begin with, or None."""
    found = " ".join(words[:2])
    if found not in EXAMPLES and not any(each.startswith(f"{words[0]} ") for each in EXAMPLES):
        found = words[0]  # else the example would be another command's of the group
    if found not in EXAMPLES:
        return None
    width = min(_WIDEST, shutil.get_terminal_size().columns) - _MARGIN
    lines = (folded(f"dpverify {example}", width) for example in EXAMPLES[found])
    # The mark keeps the lines as they are: they can be copied, with what ends them.
    return "\b\n" + "\n".join(["Example:" if len(EXAMPLES[found]) == 1 else "Examples:", *lines])


def folded(command: str, width: int) -> str:
    """Return a command in lines of at most this many columns, of which the shell reads one: each option with its value.

    A single option that is longer stands on a line of its own.
    """
    lines = [""]
    for part in command.replace(" --", "\n--").split("\n"):
        if lines[-1] and len(lines[-1]) + len(part) + len("  \\") > width:
            lines[-1] += " \\"
            lines.append(f"    {part}")
        else:
            lines[-1] += f" {part}" if lines[-1] else part
    return "\n".join(lines)
