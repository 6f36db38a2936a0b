"""What the bitsums cost in communication (wagner2025, section 4.2): exact laws of messages, and bits.

**What the bits of density estimation are.** For `GaussianFeatures` and `RandomSigns` the features of every point have
mean 0 over the public randomness and are independent from instance to instance. So the rounded bits of a user are I
independent fair coins, and `fraction_of_ones=0.5` gives the exact law of her messages; 1 is the worst case over
datasets and public randomness.
"""

from __future__ import annotations

import math

from dpverify.claims.bitsum import claims_of
from dpverify.guarantee import Interval
from dpverify.shown import Plain
from protocols.bitsum import BitsumProtocol
from protocols.classes.frozen import dataclass
from protocols.validation import check_integer

__all__ = ["Communication", "communication", "message_bits"]


@dataclass(frozen=True)
class Communication(Plain):
    """What one user sends over all instances together.

    - bitsum: The protocol's short name.
    - bitsums: I Q, the number of instances.
    - expected_messages, deviation: Mean and standard deviation of her number of messages.
    - likely_most: Exceeded with probability at most `chance`, proved.
    - chance: See there.
    - silence: The probability that she sends nothing at all.
    - bits_per_message: Content and tag of the instance.
    - expected_bits: Of all her messages.
    """

    bitsum: str
    bitsums: int
    expected_messages: float
    deviation: float
    likely_most: int
    chance: float
    silence: Interval
    bits_per_message: int
    expected_bits: float


def message_bits(protocol: BitsumProtocol, bitsums: int) -> int:
    """Return the bits of a message: ceil(log2(bitsums)) for the tag of the instance, and its content.

    Messages of a one-symbol alphabet have no content; a message is counted as one bit at least.
    """
    tag = (check_integer("bitsums", bitsums, low=1) - 1).bit_length()
    content = 0 if len(protocol.alphabet) == 1 else claims_of(protocol).bits_per_message()
    return max(1, tag + content)


def communication(
    protocol: BitsumProtocol, bitsums: int = 1, *, fraction_of_ones: float = 1.0, chance: float = 1e-6
) -> Communication:
    """Return what one user sends in `bitsums` independent instances of a protocol.

    - protocol: The protocol of every instance.
    - bitsums: I Q, at least 1.
    - fraction_of_ones: The probability with which each of her bits is 1 (for `Estimate.UNDER`: 0), independently; 1 is
      the worst case.
    - chance: In (1e-15, 1), for `likely_most`.

    Raises TypeError if the protocol has no claims. Raises ValueError if an argument is out of range.
    """
    claims = claims_of(protocol)
    law = claims.messages_law(protocol, bitsums, fraction_of_ones)
    expected = bitsums * claims.messages_per_user(protocol, fraction_of_ones)
    bits, above = message_bits(protocol, bitsums), law.chance_above(0)
    return Communication(
        claims.name,
        bitsums,
        expected,
        math.sqrt(law.variance),
        law.exceeded_with_chance(chance),
        chance,
        Interval(max(0.0, math.nextafter(1.0 - above.upper, 0.0)), math.nextafter(1.0 - above.lower, 1.0)),
        bits,
        expected * bits,
    )
