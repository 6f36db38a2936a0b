"""Write what a certificate claims as a theorem, with its proof, for Coq: of randomized response, Poisson or NB noise.

    python generate.py CERTIFICATE [NAME=VALUE ...] [--plain] [--steps N] > Claim.v

A field of the certificate may be given another value: a larger epsilon, a coarser grid, more users revealed; and low
and high, the ends of its window in nodes of the grid it came with. Coq needs nothing of this file: what it accepts is
the theorem that it prints, and that is what must be read.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from fractions import Fraction
from operator import sub
from pathlib import Path
from typing import Any

BITS = 62  # Masses are over 2^BITS, and fit a machine word.
TINY = 2 ** (BITS - 50)  # A mass below is left out, which costs no more than the mass itself.

CLAIM = """(* {said} *)
From Kernel Require Import {module} Kronecker.

(* Spelt out as in the theorem: behind a name of its own, conversion would compute it again, and slowly. *)
Lemma computed : check {grid} (2 ^ {bits}) {arguments} {product} {hints} {windows}
  (Claim ({epsilon}) ({delta}) {instances} {terms} {node} ({share}) [{runs}]) = true.
Proof. vm_cast_no_check (eq_refl true). Qed.

(* exponential x n is the sum of x^i / i! up to i = n, so it is at most e^x. *)
Theorem certified : forall l, adaptive (repeat ({family}) (Pos.to_nat {instances})) l ->
  forall S, event fst l S <= exponential ({epsilon}) {terms} * event snd l S + ({delta}).
Proof.
  exact (check_ok {grid} (2 ^ {bits}) {all_arguments} {product} {proof} {hints} {windows}
    (Claim ({epsilon}) ({delta}) {instances} {terms} {node} ({share}) [{runs}]) computed).
Qed.

Print Assumptions certified.
"""


def node_below(epsilon: Fraction, grid: int) -> tuple[int, int, Fraction]:
    """Return k, n and w, so that w b^k + (1 - w) b^(k + 1) is at most the sum of epsilon^i / i! up to i = n.

    b is 1 / (1 - 2^-grid), and w hardly larger than it must be. ln b is the sum of 2^(-grid i) / i, from above with
    what the terms after the 20th add at most.
    """
    x = Fraction(1, 2**grid)
    logarithm = sum((x**i / i for i in range(1, 21)), Fraction(0)) + x**21 / (21 * (1 - x))
    k = int(epsilon / logarithm)
    term, total, power = Fraction(1), Fraction(1), (1 - x) ** -k
    for n in range(1, 500):
        term *= epsilon / n
        total += term
        if power <= total and term * 2**30 <= total:
            return k, n, Fraction(min(max(up((1 - total / power * (1 - x)) * 2**grid * 2**24), 0), 2**24), 2**24)
    return node_below(epsilon - x / 1000, grid)


def up(a: int | Fraction, b: int = 1) -> int:
    """Return the quotient, rounded up."""
    return -int(-a // b)


def noise(a: int, b: int, d: int) -> tuple[int, int, int]:
    """Return a mode, its weight and the counts after it, for noise with f(j + 1) d (j + 1) = f(j) (a + b j).

    The weight is such that all lower bounds, as Coq will compute them, have a sum of at least 2^BITS.
    """
    mode = max(0, up(a - d, d - b))
    weight = 2**BITS
    while True:
        lower, total, after = weight, weight, 0
        for i in range(mode, 0, -1):
            lower = lower * d * i // (a + b * (i - 1))
            total += lower
        lower = upper = weight
        while True:
            gain, loss = max(0, a + b * (mode + after)), d * (mode + after + 1)
            most = max(gain, b * (mode + after + 1))
            if most < loss and up(upper * most, loss - most) <= TINY:
                break
            lower, upper, after = lower * gain // loss, up(upper * gain, loss), after + 1
            total += lower
        if 2**BITS <= total <= 2**BITS + 2**20:
            return mode, weight, after
        weight = up(weight * 2**BITS, total)
    raise AssertionError


def whole(name: str, given: object, low: int) -> int:
    """Return a whole number of a certificate."""
    if isinstance(given, bool) or not isinstance(given, int) or given < low:
        raise ValueError(f"{name}={given!r} must be an integer of at least {low}.")
    return given


def shown(number: Fraction) -> str:
    """Return a rational number as Coq reads it."""
    return f"{number.numerator} # {number.denominator}"


def theorem(certificate: dict[str, Any], settings: dict[str, str], plain: bool, steps: int) -> str:
    """Return the claim of a certificate as a theorem of Coq, with a proof by computation."""
    together = certificate["together"]
    if len(together) != 1 or together[0]["protocol"] not in ("rr", "poisson", "nb"):
        raise ValueError(f"together={together!r} must be one entry, of the protocol 'rr', 'poisson' or 'nb'.")
    of_window, given = whole("grid", certificate["grid"], 1), {**certificate, **together[0]}
    given["low"], given["high"] = certificate["window"]
    if "cells" in given:  # those of the theorem are as long as the longest
        ends = [*(whole("cells", cell, 0) for cell in given["cells"]), whole("honest", given["honest"], 1)]
        given["revealed"] = max(map(sub, ends[1:], ends)) - 1
    for name, value in settings.items():
        if name not in given:
            raise ValueError(f"{name}={value} must be a field of the certificate.")
        given[name] = int(value) if isinstance(given[name], int) else value
    epsilon, delta, grid = Fraction(given["epsilon"]), Fraction(given["delta"]), whole("grid", given["grid"], 1)
    if epsilon <= 0 or not 0 < delta < 1 or grid > 16:
        raise ValueError(f"epsilon={epsilon} must be positive, delta={delta} in (0, 1), and grid={grid} at most 16.")
    node, terms, share = node_below(epsilon, grid)
    users, honest = whole("users", given["users"], 1), whole("honest", given["honest"], 1)
    first, last, low, high = (
        int(end * Fraction(2**grid, 2**of_window)) for end in (*given["window"], given["low"], given["high"])
    )
    nodes = last - first + 1
    if nodes <= (near := 1 << nodes.bit_length() - 1) * 9 // 8:  # half the work, and hardly a loss is beyond
        first, nodes = first + (nodes - near) // 2, near
    window = f"({first}) {nodes}"
    if given["protocol"] == "rr":
        flip, revealed = Fraction(given["flip_probability"]), whole("revealed", given["revealed"], 0)
        if not 0 < flip < 1:
            raise ValueError(f"flip_probability={given['flip_probability']!r} must be in (0, 1).")
        module, law, family = "RandomizedResponse", f"flip probability {flip}", f"neighbours ({shown(flip)}) {honest}"
        arguments, hints = f"{flip.numerator} {flip.denominator}", f"{TINY} {revealed} {window} {honest}"
        all_arguments = f"{arguments} ltac:(discriminate)"
    else:
        if given["protocol"] == "poisson":
            size, p = Fraction(given["mean"]) * Fraction(honest, users), Fraction(0)
            rate, law = (size.numerator, 0, size.denominator), f"Poisson noise of mean {size}"
        else:
            size, p = Fraction(given["shape"]) * Fraction(honest, users), Fraction(given["p"])
            rate = (size.numerator * p.numerator, size.denominator * p.numerator, size.denominator * p.denominator)
            law = f"negative binomial noise of shape {size} and p {p}"
        if size <= 0 or not 0 <= p < 1:
            raise ValueError(f"The noise's size={size} must be positive, and its p={p} in (0, 1).")
        module, hints, family = "Noise", "", "noisy_sum {} {} {}".format(*rate)
        arguments = all_arguments = "{} {} {} {} {} {} {}".format(*rate, *noise(*rate), window)
    instances = whole("instances", given["instances"], 1)
    if not 1 <= steps <= instances:
        raise ValueError(f"--steps {steps} must be from 1 to instances={instances}.")
    blocks = [(steps, instances // steps), (instances % steps, 1)]
    # Losses of fewer instances are the smaller, as the root of how many there are; of one they are in its own window.
    part = Fraction(math.isqrt(steps * 10**6 // instances), 1000)
    reach = max(map(abs, (first, first + nodes))) + up(max(map(abs, (low, high))) * part)
    said = f"{law}, {honest} honest of {users} users, {instances} instances: epsilon {epsilon}, delta {delta}"
    return CLAIM.format(
        said=said, module=module, grid=2**grid - 1, bits=BITS, arguments=arguments, all_arguments=all_arguments,
        product="pmul" if plain else "fast", proof="(fun _ _ _ _ => eq_refl)" if plain else "fast_ok", hints=hints,
        windows=f"({max(low, -reach)}) ({min(high, reach)}) ({low}) ({max(high, node + 1)})", epsilon=shown(epsilon),
        delta=shown(delta), instances=instances, terms=terms, node=node, share=shown(share), family=family,
        runs="; ".join(f"({size - 1}%nat, {times}%positive)" for size, times in blocks if size and times),
    )  # fmt: skip


def main() -> int:
    """Print the theorem; exit with 2 if there is none."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("certificate", type=Path, help="A certificate's file.")
    parser.add_argument("settings", nargs="*", metavar="NAME=VALUE", help="A field, and the value to take instead.")
    parser.add_argument("--plain", action="store_true", help="Multiply without machine integers: slow, and no axiom.")
    parser.add_argument(
        "--steps", type=int, default=1, help="So many instances have the worst of all choices, not of each one's."
    )
    given = parser.parse_intermixed_args()
    try:
        settings = dict(setting.split("=", 1) for setting in given.settings)
        print(theorem(json.loads(given.certificate.read_text()), settings, given.plain, given.steps))
    except (ValueError, KeyError, TypeError, OSError, ZeroDivisionError) as reason:
        print(f"No theorem: {reason}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
