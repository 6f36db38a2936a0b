"""One row per protocol: published parameters against exact ones at two budgets, with the slack of the theorem.

    python benchmarks/protocol_table.py --users 30000

The columns give, for published and for exact parameters: the noise's root mean squared error, the expected messages per
user, the number that a user exceeds with probability at most 1e-6, and the epsilon that the parameters really give, as
an upper bound. Published parameters split the budget by advanced composition where there are many instances. What has
no published parameters, or none within the formula's range, says so. Errors of bitsums are in users; those of density
estimation are `2 R RMSE / (n sqrt(I))`, what bitsum noise adds to a density; those of histogram and selection are
bounds in users that hold with probability 0.95; those of the vector sum are of the mean of vectors in [0, 1]^d. The
messages of bitsums are those of a user whose bits are all 1, the worst case; those of density estimation are over the
public randomness too. A trusted curator gets a bit per instance and no message.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

from dpverify.claims.bitsum import BITSUM_CLAIMS, claims_of
from dpverify.claims.histogram import HistogramClaims
from dpverify.claims.selection import SelectionClaims
from dpverify.claims.shared.communication import communication
from dpverify.claims.vector_sum.privacy import VectorSumClaims
from dpverify.formulas import FormulaRangeError
from dpverify.guarantee import Budget, InfeasibleBudgetError
from dpverify.planning.account import account
from dpverify.planning.plan import plan
from protocols.bitsum import BitsumProtocol
from protocols.histogram import BucketSums
from protocols.kde import KernelDensityProtocol
from protocols.lsq import GaussianFeatures
from protocols.vector_sum import VectorSum

CHANCE, BETA = 1e-6, 0.05
BUCKETS, DIMENSION = 100, 10


class Row(NamedTuple):
    """What one protocol with one kind of parameters gives, or why it gives nothing."""

    error: float
    messages: float
    most: float
    epsilon: float
    why: str = ""


MISSING = Row(math.nan, math.nan, math.nan, math.nan)


def attempt(make: Callable[[], Row]) -> Row:
    try:
        return make()
    except (InfeasibleBudgetError, FormulaRangeError) as error:
        return MISSING._replace(why=str(error))


def bitsum_protocol(name: str, method: str, budget: Budget, users: int, instances: int) -> BitsumProtocol:
    # One instance needs no composition: the theorem gets the whole budget.
    composition = "basic" if method == "published" and instances == 1 else None
    found = plan(name, budget, users=users, instances=instances, method=method, composition=composition)
    return found.protocol


def bitsum_row(protocol: BitsumProtocol, budget: Budget, instances: int) -> Row:
    sent = communication(protocol, instances, chance=CHANCE)
    result = account(protocol, instances=instances, delta=budget.delta, relative_width=1e-4)
    return Row(claims_of(protocol).rmse(protocol), sent.expected_messages, sent.likely_most, result.epsilon.upper)


def kde_row(protocol: BitsumProtocol, budget: Budget, instances: int) -> Row:
    family = GaussianFeatures(DIMENSION)
    sent = communication(protocol, instances, fraction_of_ones=0.5, chance=CHANCE)
    density = KernelDensityProtocol(protocol, family.sample(instances, np.random.default_rng(0)))
    epsilon = account(density, delta=budget.delta, relative_width=1e-4).epsilon.upper
    rmse = claims_of(protocol).rmse(protocol)
    error = 2.0 * family.R * rmse / (protocol.users * math.sqrt(instances))
    return Row(error, sent.expected_messages, sent.likely_most, epsilon)


def buckets_row(claims: HistogramClaims, protocol: BucketSums, budget: Budget, published: bool) -> Row:
    law = claims.messages_law(protocol)
    epsilon = account(protocol, delta=budget.delta).epsilon.upper
    error = claims.published_bound(protocol) if published else float(claims.error_bound(protocol, BETA))
    return Row(error, law.mean, law.exceeded_with_chance(CHANCE), epsilon)


def vector_row(claims: VectorSumClaims, protocol: VectorSum, budget: Budget) -> Row:
    epsilon = account(protocol, delta=budget.delta).epsilon.upper
    return Row(claims.rmse(protocol), float(protocol.sampled), float(protocol.sampled), epsilon)


def single_rows(budget: Budget, users: int) -> Iterator[tuple[str, Row, Row]]:
    """Yield (protocol, published, exact) for what is not made of many equal bitsums."""
    for claims in (HistogramClaims(), SelectionClaims()):

        def published(claims: HistogramClaims = claims) -> Row:
            made = claims.published(users, BUCKETS, budget.epsilon, budget.delta, BETA)
            return buckets_row(claims, made, budget, True)

        def exact(claims: HistogramClaims = claims) -> Row:
            return buckets_row(claims, claims.least_error(users, BUCKETS, budget, BETA), budget, False)

        yield f"{claims.name}, {BUCKETS} buckets", attempt(published), attempt(exact)
    vectors = VectorSumClaims()

    def printed() -> Row:
        return vector_row(vectors, vectors.published(users, DIMENSION, 1, budget.epsilon, budget.delta), budget)

    def least() -> Row:
        return vector_row(vectors, vectors.least_error(users, DIMENSION, budget, most_levels=8), budget)

    yield f"vector sum, d = {DIMENSION}", attempt(printed), attempt(least)


def rows(budget: Budget, users: int, instances: int) -> Iterator[tuple[str, Row, Row]]:
    """Yield (protocol, published, exact)."""
    for name in BITSUM_CLAIMS:

        def of(method: str, row: Callable[..., Row] = bitsum_row, name: str = name) -> Row:
            return attempt(lambda: row(bitsum_protocol(name, method, budget, users, instances), budget, instances))

        yield name, of("published"), of("exact")
        if instances > 1 and name in ("rr", "3nb"):
            yield f"KDE, Gaussian, {name}", of("published", kde_row), of("exact", kde_row)
    if instances == 1:
        yield from single_rows(budget, users)


def number(value: float) -> str:
    if math.isnan(value):
        return "-"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def draw(console: Console, budget: Budget, users: int, instances: int) -> None:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for header in ("protocol", "parameters", "error", "messages", "most", "epsilon", "slack"):
        table.add_column(header, justify="left" if header in ("protocol", "parameters") else "right", no_wrap=True)
    reasons: list[str] = []
    for name, *pair in rows(budget, users, instances):
        for kind, row in zip(("published", "exact"), pair, strict=True):
            if row.why and row.why not in reasons:
                reasons.append(row.why)
            mark = f" [{reasons.index(row.why) + 1}]" if row.why else ""
            slack = "-" if math.isnan(row.epsilon) else f"{budget.epsilon / row.epsilon:.3g}"
            cells = [number(value) for value in (row.error, row.messages, row.most, row.epsilon)]
            table.add_row(name if kind == "published" else "", f"{kind}{mark}".replace("[", r"\["), *cells, slack)
    console.print(f"[bold]Budget {budget}, n = {users:,}, {instances} instance{'s' * (instances > 1)}[/bold]")
    console.print(table)
    for position, reason in enumerate(reasons, 1):
        console.print(f"[{position}] {reason}", markup=False, highlight=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--users", type=int, default=30_000)
    arguments = parser.parse_args()
    console, started = Console(width=100, highlight=False), time.perf_counter()
    for epsilon, instances in (("1", 1), ("2", 768)):
        draw(console, Budget(epsilon, "1e-6"), arguments.users, instances)
    console.print(f"{time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
