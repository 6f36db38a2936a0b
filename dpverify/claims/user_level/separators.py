"""What is true of `protocols.user_level.separators`, and Corollary 33 of ghazi2021 as numbers.

The proof that the perceptron ends, and its constants, are in `SeparatorSearch`. What a learner from statistical queries
returns is a function of its class, whatever it was answered. So the number of users depends on the size of the class,
and that of samples on queries and tolerance: both are those of `statistical_queries` and `local_selection`. Functions
of linear separators number at most 2^(v^2), v the variables: their bits are polynomial, as the corollary needs.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from dpverify.claims.user_level.classifier import least_users
from dpverify.claims.user_level.statistical_queries import enough_samples
from protocols.user_level.local_selection import HadamardSelection
from protocols.user_level.statistical_queries import QueryAlgorithm
from protocols.validation import check_real

__all__ = ["Enough", "enough_for_local"]

_SHARE = 0.9
"""Of users who find the stable hypothesis: what Theorem 29 asks for."""


class Enough(NamedTuple):
    """What is enough for a learner in the local model.

    - users: n.
    - samples: m, of each user.
    - bits: d, log2 of the number of functions that may be returned.
    """

    users: int
    samples: int
    bits: float


def enough_for_local(algorithm: QueryAlgorithm, epsilon: float, beta: float) -> Enough:
    """Return users and samples for a non-interactive eps-DP learner in the local model, from an algorithm's queries.

    It has the algorithm's error but for probability beta: a third of it for public randomness that is not stable, a
    third for fewer users than nine tenths who find what is stable, or another selection. (What exact means lead to has
    that error surely.)

    - algorithm: What asks.
    - epsilon: Of one report, in (0, 700].
    - beta: In (0, 1).
    """
    check_real("beta", beta, low=0.0, high=1.0, low_open=True, high_open=True)
    functions = len(algorithm.representation.concepts)
    users = least_users(lambda users: HadamardSelection(functions, epsilon), _SHARE, beta / 3.0)
    samples = enough_samples(algorithm, (1.0 - _SHARE) * beta / 3.0)
    return Enough(users, samples, math.log2(functions))
