"""Write what a certificate claims as a theorem, with its proof, for Coq: of randomized response, Poisson or NB noise.

    python generate.py CERTIFICATE [--epsilon E] [--delta D] [--grid T] [--revealed C] > Claim.v

Coq needs nothing of this file: what it accepts is the theorem that it prints, and that is what must be read.
"""

from __future__ import annotations

import argparse
import json
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

BITS = 62  # Masses are over 2^BITS, and fit a machine word.
TINY = 2 ** (BITS - 50)  # A mass below is left out, which costs no more than the mass itself.

CLAIM = """(* {said} *)
From Kernel Require Import {module} Kronecker.

(* Spelt out as in the theorem: behind a name of its own, conversion would compute it again, and slowly. *)
Lemma computed : check {grid} (2 ^ {bits}) {arguments} fast {hints} ({low}) ({high})
  (Claim ({epsilon}) ({delta}) {instances} {terms} {node}) = true.
Proof. vm_cast_no_check (eq_refl true). Qed.

(* exponential x n is the sum of x^i / i! up to i = n, so it is at most e^x. *)
Theorem certified : forall l, adaptive (repeat ({family}) (Pos.to_nat {instances})) l ->
  forall S, event fst l S <= exponential ({epsilon}) {terms} * event snd l S + ({delta}).
Proof.
  exact (check_ok {grid} (2 ^ {bits}) {first} fast fast_ok {hints} ({low}) ({high})
    (Claim ({epsilon}) ({delta}) {instances} {terms} {node}) computed).
Qed.

Print Assumptions certified.
"""


def node_below(epsilon: Fraction, grid: int) -> tuple[int, int]:
    """Return k, and n, so that b^k is at most the sum of epsilon^i / i! up to i = n; b = 1 / (1 - 2^-grid).

    ln b is the sum of 2^(-grid i) / i, from above with what the terms after the 20th add at most.
    """
    x = Fraction(1, 2**grid)
    logarithm = sum((x**i / i for i in range(1, 21)), Fraction(0)) + x**21 / (21 * (1 - x))
    k = int(epsilon / logarithm)
    term, total, power = Fraction(1), Fraction(1), (1 - x) ** -k
    for n in range(1, 500):
        term *= epsilon / n
        total += term
        if power <= total:
            return k, n
    return node_below(epsilon - x / 1000, grid)


def up(a: int, b: int) -> int:
    """Return the quotient, rounded up."""
    return -(-a // b)


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


def theorem(certificate: dict[str, Any], grid: int, epsilon: Fraction, delta: Fraction, revealed: int | None) -> str:
    """Return the claim of a certificate as a theorem of Coq, with a proof by computation."""
    together = certificate["together"]
    if len(together) != 1 or together[0]["protocol"] not in ("rr", "poisson", "nb"):
        raise ValueError(f"together={together!r} must be one entry, of the protocol 'rr', 'poisson' or 'nb'.")
    if epsilon <= 0 or not 0 < delta < 1:
        raise ValueError(f"epsilon={epsilon} must be positive, and delta={delta} in (0, 1).")
    entry = together[0]
    users, honest = whole("users", entry["users"], 1), whole("honest", entry["honest"], 1)
    nodes = Fraction(2**grid, 2 ** whole("grid", certificate["grid"], 1))
    first, last = (int(node * nodes) for node in entry["window"])
    low, high = (int(node * nodes) for node in certificate["window"])
    node, terms = node_below(epsilon, grid)
    window = f"({first}) {last - first + 1}"
    if entry["protocol"] == "rr":
        flip = Fraction(entry["flip_probability"])
        if not 0 < flip < 1:
            raise ValueError(f"flip_probability={entry['flip_probability']!r} must be in (0, 1).")
        revealed = whole("revealed", entry["revealed"] if revealed is None else revealed, 0)
        law, family = f"randomized response, flip probability {flip}", f"neighbours ({shown(flip)}) {honest}"
        module, arguments, hints = "RandomizedResponse", f"{flip.numerator} {flip.denominator}", f"{TINY} {revealed} {window} {honest}"
        first_arguments = f"{arguments} ltac:(discriminate)"
    else:
        share = Fraction(honest, users)
        if entry["protocol"] == "poisson":
            mean = Fraction(entry["mean"]) * share
            rate, law = (mean.numerator, 0, mean.denominator), f"Poisson noise of mean {mean}"
        else:
            shape, p = Fraction(entry["shape"]) * share, Fraction(entry["p"])
            if not 0 < p < 1:
                raise ValueError(f"p={entry['p']!r} must be in (0, 1).")
            a, b, d = shape.numerator * p.numerator, shape.denominator * p.numerator, shape.denominator * p.denominator
            rate, law = (a, b, d), f"negative binomial noise of shape {shape} and p {p}"
        if rate[0] <= 0:
            raise ValueError("The noise must not be 0.")
        mode, weight, after = noise(*rate)
        family = "noisy_sum {} {} {}".format(*rate)
        module, hints = "Noise", ""
        arguments = first_arguments = "{} {} {} {} {} {} {}".format(*rate, mode, weight, after, window)
    said = f"{law}, {honest} honest of {users} users, {entry['instances']} instances: epsilon {epsilon}, delta {delta}"
    return CLAIM.format(
        said=said, module=module, grid=2**grid - 1, bits=BITS, arguments=arguments, first=first_arguments, hints=hints,
        low=low, high=max(high, node), epsilon=shown(epsilon), delta=shown(delta),
        instances=whole("instances", entry["instances"], 1), terms=terms, node=node, family=family,
    )  # fmt: skip


def main() -> int:
    """Print the theorem; exit with 2 if there is none."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("certificate", type=Path, help="A certificate's file.")
    parser.add_argument("--epsilon", help="Claim this epsilon instead of the certificate's.")
    parser.add_argument("--delta", help="Claim this delta instead of the certificate's.")
    parser.add_argument("--grid", type=int, help="T, from 1 to 16: b = 1 / (1 - 2^-T); the certificate's by default.")
    parser.add_argument("--revealed", type=int, help="For rr: users are hidden this many and one more at a time.")
    given = parser.parse_args()
    try:
        certificate = json.loads(given.certificate.read_text())
        grid = certificate["grid"] if given.grid is None else given.grid
        if not 1 <= whole("grid", grid, 1) <= 16:
            raise ValueError(f"grid={grid} must be an integer from 1 to 16.")
        epsilon, delta = (Fraction(given.__dict__[name] or certificate[name]) for name in ("epsilon", "delta"))
        print(theorem(certificate, grid, epsilon, delta, given.revealed))
    except (ValueError, KeyError, TypeError, OSError, ZeroDivisionError) as reason:
        print(f"No theorem: {reason}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
