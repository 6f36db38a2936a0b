"""What is true of `protocols.user_level.classifier`, and which numbers of users its theorems need.

**Privacy.** Neighbours differ in all examples of one user. Her examples enter through one value, what her learner
found, and the public randomness does not depend on them. So the fit is a post-processing of the selection, with its
privacy in its model; and any two values may be what two samples lead to.

**Accuracy** (Theorems 29, 30 and 35). Let h_r be the hypothesis that the public randomness leads to. The selected one
has error alpha or less unless h_r has a larger one, or less than the share eta of samples lead to h_r, or the selection
misses a value that each of n users holds with probability eta. The last one's probability is exact in the twins of the
selections, or a bound where nothing else is known; it does not grow with the size of H in the shuffle model.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, Protocol

from numpy.typing import ArrayLike

from dpverify.changes import Change
from dpverify.claims.base import MechanismClaims
from dpverify.claims.registry import mechanism_claims_of
from dpverify.guarantee import InfeasibleBudgetError, Interval, PrivacyCurve, ThreatModel
from dpverify.laws.discrete import DiscreteLaw
from dpverify.papers.entries import stated
from dpverify.search import least_integer
from protocols.user_level.classifier import UserLevelClassifier
from protocols.validation import check_real

__all__ = ["UserLevelClaims", "least_users", "plurality_failure", "selected_law"]

_MOST_USERS = 2**20


class _Selects(Protocol):
    """A twin that states the law of what is selected, and bounds how often a plurality is missed."""

    def plurality_failure(self, protocol: Any, users: int, share: float) -> float: ...

    def output_law(self, protocol: Any, inputs: ArrayLike) -> DiscreteLaw: ...


def plurality_failure(selection: Any, users: int, share: float) -> float:
    """Return an upper bound on the probability that a selection misses what each user holds with some probability.

    - users: n.
    - share: eta: each user holds the value with that probability or more, independently, and else any other.
    """
    claims: Any = mechanism_claims_of(selection)
    selects: _Selects = claims
    return selects.plurality_failure(selection, users, share)


def selected_law(protocol: UserLevelClassifier, found: ArrayLike) -> DiscreteLaw:
    """Return the exact law of the hypothesis that is selected from those that the users have found, shape (users,)."""
    selection, claims = _selection_of(protocol)
    selects: Any = claims
    known: _Selects = selects
    return known.output_law(selection, found)


def _selection_of(protocol: UserLevelClassifier) -> tuple[Any, MechanismClaims[Any]]:
    selection = getattr(protocol, "selection_", None)
    if selection is None:
        raise ValueError(f"selection={protocol.selection!r} must be a private selection, and the learner fitted.")
    return selection, mechanism_claims_of(selection)


def least_users(selection: Callable[[int], Any], share: float, failure: float) -> int:
    """Return the least number of users at which a selection misses a plurality seldom enough.

    Found by bisection: one user less does not do. (An even number may need more than the odd one before it.)

    - selection: `selection(users)` returns the selection for so many users.
    - share: eta, in (1/2, 1]: each user holds the value with that probability.
    - failure: The most that `plurality_failure` may be, in (0, 1).

    Raises InfeasibleBudgetError if no number of users up to a million is enough.
    """
    check_real("share", share, low=0.5, high=1.0, low_open=True)
    check_real("failure", failure, low=0.0, high=1.0, low_open=True, high_open=True)

    def enough(users: int) -> bool:
        return plurality_failure(selection(users), users, share) <= failure

    high = 1
    while not enough(high):
        high *= 2
        if high > _MOST_USERS:
            raise InfeasibleBudgetError(
                f"failure={failure!r} needs more than {_MOST_USERS:,} users at share={share!r}."
            )
    return least_integer(enough, high // 2, high)


class UserLevelClaims(MechanismClaims[UserLevelClassifier]):
    """The twin of a fitted `UserLevelClassifier`: the privacy of its selection, for a user with all she has."""

    name = "user-level-classifier"
    protocol = UserLevelClassifier
    theorems = stated("ghazi2021/user_level", "shuffle_learner")
    audited_as = "dpverify.audit.subjects.user_level:user_level_subject"
    pure = True

    def adversaries(self, protocol: UserLevelClassifier) -> tuple[ThreatModel, ...]:
        """Return those of the selection."""
        selection, claims = _selection_of(protocol)
        return claims.adversaries(selection)

    def curve(
        self, protocol: UserLevelClassifier, changes: Change, threat_model: ThreatModel, **accuracy: float
    ) -> PrivacyCurve:
        """Return the privacy curve of the selection; of many fits, each with public randomness of its own."""
        selection, claims = _selection_of(protocol)
        return claims.curve(selection, changes, threat_model, **accuracy)

    def pure_epsilon(self, protocol: UserLevelClassifier, threat_model: ThreatModel) -> Interval:
        """Return the largest loss of the selection."""
        selection, claims = _selection_of(protocol)
        return claims.pure_epsilon(selection, threat_model)

    def note(self, protocol: UserLevelClassifier, threat_model: ThreatModel) -> str:
        """Return what the neighbours are."""
        selection, claims = _selection_of(protocol)
        return f"all examples of one user are replaced; {claims.note(selection, threat_model)}"

    def users(self, protocol: UserLevelClassifier) -> int:
        """Return how many users took part."""
        return protocol.n_users_

    def with_users(self, protocol: UserLevelClassifier, users: int, *, more_private: bool) -> UserLevelClassifier:
        """Return the learner with its selection among so many users, or as it is where each is private by herself."""
        selection, claims = _selection_of(protocol)
        left = copy.copy(protocol)
        if claims.users(selection) is not None:
            left.selection_ = claims.with_users(selection, users, more_private=more_private)
        return left

    def parameters(self, protocol: UserLevelClassifier) -> dict[str, Any]:
        """Return the selection's name and parameters."""
        selection, claims = _selection_of(protocol)
        return {"selection": {"name": claims.name, **claims.parameters(selection)}}

    def messages_per_user(self, protocol: UserLevelClassifier) -> float:
        """Return that of the selection."""
        selection, claims = _selection_of(protocol)
        return claims.messages_per_user(selection)
