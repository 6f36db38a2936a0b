"""From a target budget to protocol parameters."""

from __future__ import annotations

import re
from dataclasses import field, replace
from typing import Any, ClassVar

from dpverify.changes import Change, Full, L2Bounded
from dpverify.claims.bitsum import BITSUM_CLAIMS
from dpverify.claims.bitsum.base import BitsumClaims
from dpverify.composition.inverse import PerInstanceBudget, per_instance_budget
from dpverify.composition.theorems import CompositionTheorem
from dpverify.digits import rounded_down, typed
from dpverify.formulas import FormulaRangeError
from dpverify.guarantee import (
    Budget,
    BudgetLike,
    CapacityError,
    Guarantee,
    InfeasibleBudgetError,
    Number,
    Side,
    ThreatModel,
    exact_number,
)
from dpverify.planning.answers import (
    PROOF,
    change_of,
    chosen_threat_model,
    honest_users,
    upper_bound,
    within_limits,
)
from dpverify.planning.proved import Search, TargetEpsilon
from dpverify.shown import Drawn
from protocols.bitsum.base import BitsumProtocol
from protocols.classes.frozen import dataclass
from protocols.validation import budget_by_name, check_choice, check_integer, check_real

__all__ = ["EXACT", "METHODS", "PlanRow", "plan"]

METHODS = ("published", "exact")
"""How parameters are found: by the published formula at (epsilon0, delta0), or exactly, with the least error."""
EXACT = "exact"
"""The composition that uses the protocol's exact law instead of a theorem about (epsilon0, delta0)-DP mechanisms."""


@dataclass(frozen=True)
class PlanRow(Drawn):
    """Parameters of one protocol that meet a budget.

    - bitsum, method, composition: Protocol name, how the parameters were found, and how the instances were composed.
    - epsilon0, delta0: Privacy parameters of one instance; None where none were fixed (exact composition).
    - protocol: The protocol, ready to run.
    - parameters: Its parameters by argument name.
    - bitsum_rmse: Exact root mean squared error of one bitsum, in users.
    - messages_per_user, bits_per_user: Expected, per instance, for a user whose bit is 1; bits of content, the tag of
      the instance apart.
    - guarantee: What the whole gives.
    - change: What one user's replacement changes, in how many bitsums.
    - notes: What a reader must know, for instance hypotheses of the published theorem that do not hold.
    - honest: How many users must follow the protocol for the guarantee; None for all of them.
    """

    table_by: ClassVar[str] = "dpverify.report.tables:plan_row_table"
    figure_by: ClassVar[str] = "dpverify.report.plots:plan_profile"
    measure: ClassVar[str] = "bitsum_rmse"
    plain_as: ClassVar[str] = (
        "bitsum method composition epsilon0 delta0 parameters bitsum_rmse messages_per_user "
        "bits_per_user guarantee change notes honest"
    )

    bitsum: str
    method: str
    composition: str
    epsilon0: float | None
    delta0: float | None
    protocol: BitsumProtocol = field(repr=False)
    parameters: dict[str, Any]
    bitsum_rmse: float
    messages_per_user: float
    bits_per_user: float
    guarantee: Guarantee
    change: Change
    notes: tuple[str, ...] = ()
    honest: int | None = None

    def certificate(self) -> dict[str, Any]:
        """Return a proof of what the parameters guarantee at the plan's delta, which `dpverify check` can check.

        Its epsilon is the least that can be shown, and may be slightly above the plan's. Raises as
        `dpverify.planning.result.AccountResult.certificate` does.
        """
        from dpverify.planning.contours.contour_certificate import certificate_of

        runs = [(self.protocol, self.change.instances, self.honest)]
        return certificate_of(runs, self.change, self.guarantee.threat_model, typed(self.guarantee.delta))


def _published(
    claims: BitsumClaims[Any], adversary: ThreatModel, users: int, share: PerInstanceBudget
) -> BitsumProtocol:
    """Return the published parameters; where their formula leaves the floats, its own reasons name none of ours."""
    try:
        protocol: BitsumProtocol = claims.published_against(adversary, users, share.epsilon0, share.delta0)
        return protocol
    except FormulaRangeError as error:
        if not re.match(r"(epsilon|delta)0=\S+ must ", str(error)):
            raise
        raise FormulaRangeError(f"the published formula, with what the budget leaves an instance: {error}") from error
    except (InfeasibleBudgetError, CapacityError):
        raise
    except (ValueError, ArithmeticError) as error:
        raise FormulaRangeError(
            f"the published parameters of {claims.name} at epsilon0={share.epsilon0!r}, delta0={share.delta0!r} are "
            "beyond what floats hold."
        ) from error


@budget_by_name
def plan(
    bitsum: str,
    budget: BudgetLike,
    *,
    users: int,
    instances: int = 1,
    squared_change: Number | None = None,
    ball: bool = False,
    method: str = "exact",
    composition: str | None = None,
    sparsity: int = 1,
    delta_slack: Number | None = None,
    max_messages_per_user: float | None = None,
    error_margin: float | None = None,
    threat_model: ThreatModel | str | None = None,
    honest: Number | None = None,
    coarse: bool = False,
) -> PlanRow:
    """Find parameters of a binary-sum protocol so that many instances together stay within a budget.

    Parameters
    ----------
    bitsum : str
        The protocol's short name, such as "rr", "3nb", "nb", "poisson" or "pure": a key of
        `dpverify.claims.bitsum.BITSUM_CLAIMS`.
    budget : Budget or (epsilon, delta)
        The budget of the whole, replace-one adjacency; or `epsilon=` and `delta=`, here and
        wherever a budget is taken. At delta = 0 maximal losses add up: "basic" is then exact.
    users : int
        n, public.
    instances : int
        I: how many instances each user takes part in.
    squared_change : number, optional
        T^2, as for `dpverify.planning.account.account`; when omitted every bit may change fully.
    ball : bool
        Whether her bits come from points of a ball, as there.
    method : {"exact", "published"}
        The least error whose composed guarantee meets the budget, or the published formula at (epsilon0, delta0).
    composition : {"basic", "advanced", "optimal", "exact"}, optional
        The theorem that gives (epsilon0, delta0), or the exact composition of the protocol's own law. By default
        "exact" for the exact method and "advanced" (wagner2025, Theorem 3.2) for the published one, and "basic" for
        both at delta = 0. The exact method with a theorem looks for the least error of an (epsilon0, delta0)-DP
        instance.
    sparsity : int
        S: how many bitsums of an instance one user's replacement costs; of features, see `dpverify.changes.Sparse`.
    delta_slack : number, optional
        The part of delta that a theorem spends on its own slack; see `per_instance_budget`. The exact composition has
        none, and spends all of delta.
    max_messages_per_user : float, optional
        For protocols that trade error for communication: the expected messages per user and instance, at most.
    error_margin : float, optional
        The other way to trade, in (0, 1]: the fewest messages found at an error that is this share above its infimum
        over all communication. When neither is given, .01: the last per cent costs many times the messages. Next to no
        noise may need more, which is then taken unasked.
    threat_model : ThreatModel or str, optional
        Who is kept at bay, one of the claims' `threat_models`; the first of them when omitted, which is communication
        but for the baselines.
    honest : number, optional
        h: the guarantee holds as long as so many users follow the protocol, whatever the others do; below 1 a share of
        them, rounded down. The randomizer is that of least error for h users; the error is that of all n.
    coarse : bool
        Whether the exact parameters of protocols with a shuffler, at full changes, may err up to 1.2 % more, for an
        answer that is a few times quicker as a rule: they are then proved to meet the budget by a bound that is a
        little larger. Where that is not enough they are those of the sharp search, as all others are.

    Returns
    -------
    PlanRow
        The protocol with its parameters, its guarantee, error and messages.

    Raises
    ------
    InfeasibleBudgetError
        If no parameter meets the budget.
    FormulaRangeError
        If the published formula has no meaning at the (epsilon0, delta0) of this budget.
    ValueError, TypeError
        If an argument is out of range.

    Examples
    --------
    >>> row = plan("poisson", ("1", "1e-6"), users=100, instances=1)
    >>> print(f"{row.bitsum_rmse:.1f} users")
    5.8 users
    >>> row.guarantee.epsilon <= 1
    True
    >>> row.protocol.users
    100
    """
    budget = Budget.of(budget)
    bitsum = check_choice("bitsum", bitsum, BITSUM_CLAIMS)
    method = check_choice("method", method, METHODS)
    default = {"published": CompositionTheorem.ADVANCED.value, "exact": EXACT}[method]
    known = (*(theorem.value for theorem in CompositionTheorem), EXACT)
    chosen = CompositionTheorem.BASIC.value if budget.delta == 0.0 else default
    if composition is not None:
        chosen = check_choice("composition", composition, known)
    if method == "published" and chosen == EXACT:
        raise ValueError(
            "composition='exact' gives no (epsilon0, delta0): method='published' must use basic, advanced or optimal."
        )
    users = check_integer("users", users, low=1)
    instances = check_integer("instances", instances, low=1)
    sparsity = check_integer("sparsity", sparsity, low=1)
    if max_messages_per_user is not None:
        check_real("max_messages_per_user", max_messages_per_user, low=0.0, low_open=True)
    if error_margin is not None:
        check_real("error_margin", error_margin, low=0.0, high=1.0, low_open=True)
        if max_messages_per_user is not None:
            raise ValueError(f"error_margin={error_margin!r} must be omitted with max_messages_per_user.")
        if method == "published":
            raise FormulaRangeError(
                f"error_margin={error_margin!r} must be omitted: published parameters trade nothing."
            )
    if delta_slack is not None:
        check_real("delta_slack", float(exact_number("delta_slack", delta_slack)), low=0.0, high=budget.delta)
    change = change_of(instances * sparsity, squared_change, ball)
    if not isinstance(change, Full):
        _check_joint(change, instances, sparsity, chosen)
    honest = honest_users(honest, users)
    claims = BITSUM_CLAIMS[bitsum]
    adversary = chosen_threat_model(claims.name, claims.threat_models, threat_model)
    if budget.delta == 0.0:
        if not claims.pure:
            raise InfeasibleBudgetError(f"delta=0 cannot be met by {bitsum}: its views are not pure DP.")
        if chosen == EXACT:
            raise ValueError("composition='exact' must be 'basic' at delta=0, where it is exact.")
    share: PerInstanceBudget | None = None
    guarantee: Guarantee | None = None
    composed, target = change, budget
    if chosen != EXACT:
        share = per_instance_budget(
            budget, instances, sparsity=sparsity, composition=CompositionTheorem(chosen), delta_slack=delta_slack
        )
        composed, target = Full(1), Budget(share.epsilon0, share.delta0)
        guarantee = upper_bound(
            *share.composed(), adversary, f"{method} parameters, {chosen} composition", "dpverify.composition.theorems"
        )
    notes: tuple[str, ...] = ()
    if method == "published":
        assert share is not None
        assert guarantee is not None
        protocol = _published(claims, adversary, honest or users, share)
        notes = claims.published_notes(honest or users, share.epsilon0, share.delta0)
        with within_limits(bitsum):
            proved = claims.proves(protocol, adversary, share.epsilon0, share.delta0)
        if not proved:
            guarantee = replace(guarantee, side=Side.ESTIMATE)
            notes += (
                "exact accounting does not confirm that an instance is "
                f"({rounded_down(share.epsilon0, 4)}, {rounded_down(share.delta0, 4)})-DP",
            )
        if max_messages_per_user is not None and claims.messages_per_user(protocol) > max_messages_per_user:
            raise InfeasibleBudgetError(
                f"max_messages_per_user={max_messages_per_user!r} is less than the "
                f"{claims.messages_per_user(protocol):.4g} messages of the published {bitsum} parameters."
            )
    else:
        with within_limits(bitsum):
            search = Search(claims, honest or users, max_messages_per_user, error_margin)
            protocol, epsilon = search.proved(
                TargetEpsilon(
                    composed, target, adversary, coarse=coarse and claims.coarse and isinstance(composed, Full)
                )
            )
        if guarantee is None:
            guarantee = upper_bound(epsilon, budget.delta, adversary, "exact parameters, exact composition", PROOF)
    assert guarantee is not None
    if honest is not None:
        with within_limits(bitsum):
            protocol = claims.with_users(protocol, users, more_private=True)
    messages = claims.messages_per_user(protocol)
    return PlanRow(
        bitsum,
        method,
        chosen,
        None if share is None else share.epsilon0,
        None if share is None else share.delta0,
        protocol,
        claims.parameters(protocol),
        claims.rmse(protocol),
        messages,
        messages * claims.bits_per_message(),
        guarantee,
        change,
        notes,
        honest,
    )


def _check_joint(change: L2Bounded, instances: int, sparsity: int, composition: str) -> None:
    """Refuse what is not about joint changes."""
    given = f"squared_change={change.squared_change!r}"
    if sparsity > 1:
        raise ValueError(f"sparsity={sparsity} must be 1 with {given}, which bounds the change of all bits together.")
    if change.squared_change > instances:
        raise ValueError(f"{given} must be at most instances={instances}: no bit changes by more than 1.")
    if composition != EXACT:
        raise FormulaRangeError(f"{given} must be omitted: {composition} composition is of full changes only.")
