"""RAPPOR on the favourite colours of a population: which names are found, at which privacy, among how many users.

The names are the 949 of the xkcd colour survey, a dictionary that ships with matplotlib; users hold them by Zipf's law.

1. Streaming: reports of `--users` users, one by one through both responses, added up in batches, and decoded.
2. Names found, and wrong ones, against the number of users, at several epsilons of one report with a limit of four
   times as much; counts are drawn from their law, so that 10^8 users cost what 10^3 do. 500 candidates are names that
   nobody holds.
3. What one report reveals, and what all together do, with memory and without.
"""

from __future__ import annotations

import argparse
import resource
import time
from pathlib import Path

import numpy as np
from matplotlib.colors import XKCD_COLORS

from dpverify.planning.rappor import plan_rappor
from dpverify.report.plots import drawn_figure, figure_of, save
from protocols.rappor import BitCounts, Rappor, decode

NAMES = [name.removeprefix("xkcd:") for name in XKCD_COLORS]
ABSENT = [f"no colour {number}" for number in range(500)]
SHARES = 1.0 / np.arange(1, len(NAMES) + 1)
SHARES /= SHARES.sum()
EPSILONS = (0.5, 1.0, 2.0, 4.0)
BATCH = 5000


def planned(epsilon: float, users: int) -> Rappor:
    """Return the parameters of least error for one report, with a limit of four times its epsilon."""
    return plan_rappor(epsilon, 4 * epsilon, users=users, candidates=len(NAMES) + len(ABSENT)).best.protocol


def streamed(mechanism: Rappor, users: int, rng: np.random.Generator) -> tuple[BitCounts, np.ndarray]:
    """Return the counts of all users' reports, made in batches, and how many users hold each name."""
    total, held = BitCounts.sample(mechanism, {NAMES[0]: 0}, rng), np.zeros(len(NAMES), dtype=np.int64)
    for start in range(0, users, BATCH):
        chosen = rng.choice(len(NAMES), min(BATCH, users - start), p=SHARES)
        cohorts, bits = mechanism.randomize([NAMES[index] for index in chosen], rng)
        total += BitCounts.of(mechanism, cohorts, bits[:, 0])
        held += np.bincount(chosen, minlength=len(NAMES))
    return total, held


def found(counts: BitCounts, held: np.ndarray) -> tuple[int, int, float]:
    """Return how many names are found, how many wrongly, and how many of the most frequent are all found."""
    named = decode(counts, [*NAMES, *ABSENT]).found()
    present = {name for name, number in zip(NAMES, held, strict=True) if number}
    order = [NAMES[index] for index in np.argsort(-held, kind="stable")]
    heavy = next((rank for rank, name in enumerate(order) if name not in named), len(order))
    return len(named), len(set(named) - present), heavy


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--users", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", type=int, default=3, help="per point of the figure")
    parser.add_argument("--output", type=Path, default=Path("."))
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)

    print(f"{options.users:,} users, {len(NAMES)} names and {len(ABSENT)} that nobody holds, batches of {BATCH:,}")
    for epsilon in EPSILONS:
        mechanism = planned(epsilon, options.users)
        start = time.perf_counter()
        counts, held = streamed(mechanism, options.users, rng)
        middle = time.perf_counter()
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
        number, wrong, heavy = found(counts, held)
        end = time.perf_counter()
        print(
            f"epsilon {epsilon:g} (limit {4 * epsilon:g}): {number} found, {wrong} wrong, the {heavy} most frequent "
            f"among them; reports {middle - start:.1f} s, decoded in {end - middle:.1f} s, process {peak:.0f} MB"
        )

    figure, _ = figure_of(6.4, 4.2)
    axes = figure.axes[0]
    sizes = [10**exponent for exponent in (3, 3.5, 4, 4.5, 5, 5.5, 6, 6.5, 7, 7.5, 8)]
    wrong_runs = runs = 0
    for mark, epsilon in zip("osdD", EPSILONS, strict=True):
        means = []
        for size in sizes:
            mechanism, numbers = planned(epsilon, round(size)), []
            for _ in range(options.runs):
                held = rng.multinomial(round(size), SHARES)
                counts = BitCounts.sample(mechanism, dict(zip(NAMES, held.tolist(), strict=True)), rng)
                number, wrong, _ = found(counts, held)
                numbers.append(number)
                wrong_runs += wrong > 0
                runs += 1
            means.append(float(np.mean(numbers)))
        print(
            f"epsilon {epsilon:g}:",
            ", ".join(f"{size:.0f}: {mean:.1f}" for size, mean in zip(sizes, means, strict=True)),
        )
        label = rf"one report $\varepsilon$ = {epsilon:g}, limit {4 * epsilon:g}"
        axes.plot(sizes, means, marker=mark, markersize=4, label=label)
    print(f"runs with a wrong name: {wrong_runs} of {runs}, at level 0.05")
    axes.axhline(len(NAMES), color="0.4", linestyle=":", label="all names")
    axes.set_xscale("log")
    axes.set_yscale("symlog", linthresh=1)
    axes.set_ylim(-0.2, 1300.0)
    axes.set_yticks([0, 1, 3, 10, 30, 100, 300, 949], ["0", "1", "3", "10", "30", "100", "300", "949"])
    axes.minorticks_off()
    axes.set_xlabel("users")
    axes.set_ylabel("names found")
    axes.grid(which="major", alpha=0.3)
    axes.legend(frameon=False, fontsize="small", loc="lower right")
    axes.set_title("RAPPOR, Zipf's law over 949 colour names", loc="left", fontsize="medium")
    save(figure, options.output / "rappor_found.png")
    save(drawn_figure(plan_rappor(1, 4, users=options.users)), options.output / "rappor_losses.png")


if __name__ == "__main__":
    main()
