"""Audits of mechanisms of other libraries: integer and float noise, coins, selections and samplers.

Each mechanism is audited as a black box on two neighbouring inputs at its own claim, with floats as they are and again
rounded to multiples of 2^-20, and against the law that its documentation states. What a black box refutes is looked at
by a second method that shares nothing with it: the exact denominators of fresh outputs, or the sum of an exact law; and
by a look inside.

    python -m benchmarks.audit_libraries [--trials 100000] [--detect 0.1] [--only WORD] [--below 0.9]

Needs `pip install '.[peers]'`; pipeline-dp, tmlt.core, opacus and jax-privacy each as pip installs them. What is
missing is reported as such.
"""

from __future__ import annotations

import argparse
import importlib
import math
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import stats

from benchmarks.library_cases import DELTA, LIBRARIES, Case, gaussian_delta, largest_epsilon
from dpverify import GaussianDP, audit_mechanism
from dpverify.audit.black_boxes.mechanism_report import MechanismReport
from dpverify.audit.protocol import audit_protocol
from dpverify.audit.subjects.own_law import law_subject
from dpverify.laws.continuous import Gaussian
from dpverify.laws.discrete import DiscreteLaw

LEVEL = 1e-3
GRID = 2.0**-20
FEWEST = 100
"""Runs of an audit that is made for its look inside."""


def finer(value: float, bits: int) -> bool:
    """Return whether a float is no multiple of 2^-bits, in exact arithmetic."""
    return value.as_integer_ratio()[1] > 2**bits


def seen(case: Case, trials: int, event: Callable[[float], bool], words: str) -> str:
    """Count an event among fresh outputs on either input, and bound delta at the claimed epsilon by it."""
    counts = []
    for value in case.inputs:
        draws = case.target(np.asarray(value), np.random.default_rng(0), trials, "a second look").tolist()
        counts.append(sum(map(event, draws)))
    most, least = max(counts), min(counts)
    low = float(stats.beta.ppf(LEVEL / 2, most, trials - most + 1)) if most else 0.0
    high = float(stats.beta.isf(LEVEL / 2, least + 1, trials - least))
    delta = low - math.exp(case.claim[0]) * high
    shown = f"; delta >= {delta:.3g} at epsilon {case.claim[0]:g}" if delta > case.claim[1] else ""
    return f"{words}: {counts[0]:,} and {counts[1]:,} of {trials:,}{shown}"


def fine_digits(case: Case, trials: int) -> str:
    return seen(case, trials, lambda value: finer(value, case.bits), f"finer than 2^-{case.bits}")


def residues(case: Case, trials: int) -> str:
    """Count outputs below 2 that are 5 k 2^-52, as the noise is: 1 plus such a number is none."""

    def event(value: float) -> bool:
        return abs(value) < 2.0 and int(value * 2.0**52) % case.residue == 0

    return seen(case, trials, event, f"below 2, in units of 2^-52 a multiple of {case.residue}")


def exact_epsilon(case: Case) -> str:
    """Return the least epsilon, or delta at the claim's epsilon, from the two laws: a sum, or a closed form."""
    first, second = (case.laws[value] for value in case.inputs)
    if isinstance(first, Gaussian):
        return f"exact delta {gaussian_delta(first.sigma, case.claim[0]):.6g} at epsilon {case.claim[0]:.4g}"
    if not isinstance(first, DiscreteLaw):
        return ""
    points = np.union1d(first.points, second.points)
    p, q = first.probabilities(points), second.probabilities(points)
    both = (p > 0) & (q > 0)

    def excess(epsilon: float) -> float:
        grown = math.exp(epsilon)
        return max(float(np.maximum(a - grown * b, 0.0)[both].sum()) for a, b in ((p, q), (q, p)))

    if case.claim[1] == 0.0:
        return f"exact epsilon {float(np.abs(np.log(p[both] / q[both])).max()):.6f}"
    return f"exact delta {excess(case.claim[0]):.6g} at epsilon {case.claim[0]:.4g}"


def named(value: Any) -> Any:
    return len(value) if isinstance(value, list) else value


def audited(case: Case, trials: int, detect: float) -> Iterator[str]:
    """Yield the cells of a row."""
    target, how = case.target, {"trials": trials, "level": LEVEL, "detect": detect}
    inputs = tuple(np.asarray(value) for value in case.inputs)
    if case.claim is None:
        yield from ("", "")
    else:
        yield shown(audit_mechanism(target, case.claim, inputs, **how))
        yield shown(audit_mechanism(target, case.claim, inputs, resolution=GRID, **how)) if case.floats else ""
    budget = case.claim if isinstance(case.claim, tuple) else None
    if case.laws:
        cases = {str(value): (given, case.laws[named(value)]) for value, given in zip(case.inputs, inputs, strict=True)}
        yield audit_protocol(law_subject(target, cases), budget, **how).verdict.value
    else:
        yield ""
    look = residues if case.residue else fine_digits if case.floats else None
    second = [look(case, 2 * trials)] if look else []
    if isinstance(case.claim, tuple) and case.laws and not isinstance(case.inputs[0], list):
        second.append(exact_epsilon(case))
    if case.claim:
        found = audit_mechanism(target, case.claim, inputs, inside=True, trials=FEWEST).findings
        # Bits that tell inputs outside of the domain are no news.
        kinds = dict.fromkeys(one.kind for one in found if one.refutes or one.kind != "bare")
        second += [f"inside: {', '.join(kinds)}"] if kinds else []
    yield "; ".join(filter(None, second))


def shown(report: MechanismReport) -> str:
    if report.unit:
        return f"{report.verdict.value}: {report.unit} {report.shown_lower:.4g} to {report.shown_upper:.4g}"
    return f"{report.verdict.value}: {report.epsilon_lower:.4g} to {report.epsilon_upper:.4g}"


def below(case: Case, trials: int, share: float) -> Iterator[str]:
    """Yield what is said of Gaussian noise, rounded to the grid, claimed as less than it is: by epsilon, and by mu."""
    inputs, how = tuple(np.asarray(value) for value in case.inputs), {"trials": trials, "resolution": GRID}
    law = case.laws[case.inputs[0]]
    for delta in (DELTA, 1e-5):
        true = largest_epsilon(law.sigma, delta)
        yield f"({true:.4g}, {delta:g}) at {share * true:.4g}"
        yield shown(audit_mechanism(case.target, (share * true, delta), inputs, **how))
    report = audit_mechanism(case.target, GaussianDP(share / law.sigma), inputs, **how)
    yield f"{shown(report)} of {1 / law.sigma:.4g}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=100_000)
    parser.add_argument("--detect", type=float, default=0.1, help="the relative fault that a pass must exclude")
    parser.add_argument("--only", default="", help="a word of the library's or the mechanism's name")
    parser.add_argument(
        "--below", type=float, help="claim this share of the true epsilon, and of mu, for Gaussian noise"
    )
    options = parser.parse_args()
    columns = "claim | black box | rounded to 2^-20 | its law | second method"
    if options.below:
        columns = f"true at {DELTA:g} | verdict | true at 1e-05 | verdict | as mu"
    print(f"| library | mechanism | {columns} | CPU s |")
    print("|---|---|---|---|---|---|---|---|")
    for library, cases in LIBRARIES.items():
        try:
            importlib.import_module(library)
        except ImportError as error:
            print(f"| {library} | not installed: {error} |||||||", flush=True)
            continue
        for case in cases():
            if options.only.lower() not in f"{case.library} {case.name}".lower():
                continue
            if options.below and not isinstance(case.laws.get(case.inputs[0]), Gaussian):
                continue
            start = time.process_time()
            if options.below:
                cells = " | ".join(below(case, options.trials, options.below))
            else:
                claim = str(case.claim or "none")
                if isinstance(case.claim, tuple):
                    claim = f"({case.claim[0]:.4g}, {case.claim[1]:.4g})"
                cells = " | ".join([claim, *audited(case, options.trials, options.detect)])
            print(f"| {case.library} | {case.name} | {cells} | {time.process_time() - start:.0f} |", flush=True)


if __name__ == "__main__":
    main()
