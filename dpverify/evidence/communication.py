"""What backs the verdicts on messages and bits."""

from __future__ import annotations

from typing import Any

from dpverify.evidence import require

__all__ = ["bits", "growth_of_flood", "one_message", "surplus_of_three_nb"]


def one_message() -> dict[str, float]:
    """Run the randomizer of RR on both bits, and count."""
    import numpy as np

    from protocols.bitsum import RandomizedResponse

    counts = set()
    for seed in range(20):
        messages = RandomizedResponse(2, 0.3).randomize(np.array([0, 1]), np.random.default_rng(seed))
        counts |= set(messages.per_user(2).tolist())
    require(counts == {1}, "RR sends another number of messages than one.")
    return {"messages": counts.pop()}


def surplus_of_three_nb() -> dict[str, float]:
    """Evaluate the expected messages of 3NB beyond one per bitsum, as epsilon grows and as n does."""
    from dpverify.claims.bitsum import BITSUM_CLAIMS

    def surplus(users: int, epsilon0: float) -> float:
        claims = BITSUM_CLAIMS["3nb"]
        return claims.messages_per_user(claims.published(users, epsilon0, 1e-8)) - 1.0

    found = {"at_tenth": surplus(100, 0.1), "at_thirty": surplus(100, 30.0), "at_many": surplus(100, 300.0)}
    require(found["at_tenth"] > found["at_thirty"] < found["at_many"], "The surplus falls as epsilon grows.")
    require(surplus(10**6, 30.0) < 1e-2, "The surplus does not vanish as n grows.")
    return found


def growth_of_flood() -> dict[str, str]:
    """Take the limit of r' p' / (1 - p') over eps0 as eps0 grows."""
    import sympy

    e, c, log = sympy.symbols("e c log", positive=True)
    rate = sympy.exp(-c * e / (e + log))
    flood = 3 * (1 + sympy.log(2) + sympy.Rational(99, 100) * e + log) * rate / (1 - rate)
    limit: Any = sympy.limit(flood / e, e, sympy.oo)
    require(sympy.simplify(limit - sympy.Rational(297, 100) / (sympy.exp(c) - 1)) == 0, "It grows otherwise.")
    return {"growth": "2.97 eps0 / (e^c - 1)"}


def bits() -> dict[str, int]:
    """Count the different messages, an instance and a bit, and the bits that tell them apart."""
    from dpverify.claims.shared.communication import message_bits
    from protocols.bitsum import RandomizedResponse, ThreeNB

    for d in range(1, 1100):
        needed = (2 * d - 1).bit_length()
        for protocol in (RandomizedResponse(9, 0.2), ThreeNB(9, 0.5, 1.0, 0.5)):
            require(message_bits(protocol, d) == needed == (d - 1).bit_length() + 1, f"Another number at d={d}.")
    return {"bits_768": (2 * 768 - 1).bit_length()}
