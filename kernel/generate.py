"""Write what a certificate of randomized response claims as a theorem, with its proof, for Coq.

    python generate.py CERTIFICATE [--grid T] [--bits B] [--delta D] > Claim.v

Coq needs nothing of this file: what it accepts is the theorem that it prints. What must be read is that theorem, and
that its factor is at most e^epsilon, which is found here with fractions.
"""

from __future__ import annotations

import argparse
import json
import sys
from fractions import Fraction
from operator import sub
from pathlib import Path
from typing import Any

CLAIM = """(* {said} *)
From Kernel Require Import RandomizedResponse.

Definition grid := {grid}%positive.  (* b = (grid + 1) / grid *)
Definition one := (2 ^ {bits})%positive.
(* Spelt out as in the theorem: behind a name of its own, conversion would compute it again, and slowly. *)
Lemma computed : check grid one {u} {w} ({first}) {length} {users} {revealed} pmul ({low}) ({high})
  {instances} {k} {mass} = true.
Proof. vm_cast_no_check (eq_refl true). Qed.

(* b^{k} <= e^{epsilon}, and {mass} / 2^{bits} <= {delta}. *)
Theorem certified : forall l, adaptive (repeat (neighbours ({u} # {w}) {users}) (Pos.to_nat {instances})) l ->
  forall S, event fst l S <= / r grid ^ {k} * event snd l S + ({mass} # one).
Proof.
  exact (check_ok grid one {u} {w} ltac:(discriminate) ({first}) {length} {users} {revealed} pmul
    (fun _ _ _ _ => eq_refl) ({low}) ({high}) {instances} {k} {mass} computed).
Qed.

Print Assumptions certified.
"""


def nodes_below(epsilon: Fraction, grid: int) -> int:
    """Return the largest k found with b^k <= e^epsilon, b = 1 / (1 - 2^-grid).

    ln b is the sum of 2^(-grid i) / i, from above with what the terms after the 20th add at most.
    """
    x = Fraction(1, 2**grid)
    logarithm = sum((x**i / i for i in range(1, 21)), Fraction(0)) + x**21 / (21 * (1 - x))
    return int(epsilon / logarithm)


def whole(name: str, given: object, low: int) -> int:
    """Return a whole number of a certificate."""
    if isinstance(given, bool) or not isinstance(given, int) or given < low:
        raise ValueError(f"{name}={given!r} must be an integer of at least {low}.")
    return given


def theorem(certificate: dict[str, Any], grid: int, bits: int, delta: str | None) -> str:
    """Return the claim of a certificate as a theorem of Coq, with a proof by computation."""
    together = certificate["together"]
    if len(together) != 1 or together[0]["protocol"] != "rr":
        raise ValueError(f"together={together!r} must be one entry, of the protocol 'rr'.")
    entry = together[0]
    users = whole("users", entry["users"], 1)
    if entry["honest"] != users:
        raise ValueError(f"honest={entry['honest']!r} must be users={users}: others are not in the theorem.")
    flip, instances = Fraction(entry["flip_probability"]), whole("instances", entry["instances"], 1)
    if not 0 < flip < 1:
        raise ValueError(f"flip_probability={entry['flip_probability']!r} must be in (0, 1).")
    cells = [whole("cells", cell, 0) for cell in (*entry["cells"], users)]  # the theorem's are as long as the longest
    epsilon, wanted = Fraction(certificate["epsilon"]), delta or certificate["delta"]
    k, mass = nodes_below(epsilon, grid), int(Fraction(wanted) * 2**bits)
    if k < 0 or mass < 1:
        raise ValueError(f"epsilon={certificate['epsilon']!r} and delta={wanted!r} must be positive, and not tiny.")
    nodes = Fraction(2**grid, 2 ** whole("grid", certificate["grid"], 1))
    first, last = (int(node * nodes) for node in entry["window"])
    low, high = (int(node * nodes) for node in certificate["window"])
    said = f"{users} users, flip probability {flip}, {instances} instances: epsilon {epsilon}, delta {wanted}"
    return CLAIM.format(
        said=said, grid=2**grid - 1, bits=bits, u=flip.numerator, w=flip.denominator, first=first,
        length=last - first + 1, users=users, revealed=max(map(sub, cells[1:], cells)) - 1, low=low,
        high=max(high, k), instances=instances, k=k, mass=mass, epsilon=epsilon, delta=wanted,
    )  # fmt: skip


def main() -> int:
    """Print the theorem; exit with 2 if there is none."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("certificate", type=Path, help="A certificate's file.")
    parser.add_argument("--grid", type=int, default=7, help="T, from 1 to 16: b = 1 / (1 - 2^-T).")
    parser.add_argument("--bits", type=int, default=64, help="Masses are over 2^bits, from 16 to 256.")
    parser.add_argument("--delta", help="Claim this delta instead of the certificate's.")
    given = parser.parse_args()
    try:
        for name, low, high in (("grid", 1, 16), ("bits", 16, 256)):
            if not low <= getattr(given, name) <= high:
                raise ValueError(f"{name}={getattr(given, name)} must be an integer from {low} to {high}.")
        print(theorem(json.loads(given.certificate.read_text()), given.grid, given.bits, given.delta))
    except (ValueError, KeyError, TypeError, OSError) as reason:
        print(f"No theorem: {reason}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
