"""What given parameters of a protocol really guarantee: one point of the privacy curve, as an interval."""

from __future__ import annotations

from typing import Any

from dpverify.claims.registry import mechanism_claims_of
from dpverify.guarantee import Adjacency, Number, ThreatModel
from dpverify.planning.answers import (
    PROOF,
    answered,
    change_of,
    chosen_threat_model,
    left_out,
    upper_bound,
    within_limits,
)
from dpverify.planning.result import AccountResult, HonestView, checked_honest
from dpverify.planning.schedules.result import account_schedule
from dpverify.planning.schedules.schedule import Schedule
from dpverify.planning.steps.account import account_steps, steps_of
from dpverify.privacy_loss.composing.bounds import LargestLossCurve
from protocols.validation import check_integer

__all__ = ["AccountResult", "account"]


def account(
    protocol: Any,
    *,
    instances: int = 1,
    squared_change: Number | None = None,
    ball: bool = False,
    delta: Number | None = None,
    epsilon: Number | None = None,
    relative_width: float = 1e-6,
    threat_model: ThreatModel | str | None = None,
    at_most: int | None = None,
    honest: Number | None = None,
    adjacency: Adjacency | str | None = None,
) -> AccountResult:
    """Compute what `instances` runs of a protocol on the same users give, as an interval that contains the truth.

    Parameters
    ----------
    protocol : object
        Any protocol with a twin that states its privacy curve, with its parameters, or a fitted estimator of
        `dpverify.learning`, which stands for the protocol that it has run. Or a `dpverify.NoisyStep`, as of DP-SGD, a
        list of (NoisyStep, instances), or an event of dp-accounting: the result is a
        `dpverify.planning.steps.account.StepsResult`. Or a list of (protocol, instances) or
        (protocol, instances, honest), for runs of different protocols, or on different numbers of users, that the same
        user may take part in: the result is a `dpverify.planning.schedules.result.ScheduleResult`, with the
        cumulative curve. Steps and events may stand in it for adjacency "replace-one".
    instances : int
        How many of its instances one user's replacement changes; I S in Algorithm 1.
    squared_change : int, float, Fraction, Decimal or decimal string, optional
        T^2, in (0, instances]: her bit of instance j is 1 with a probability that the replacement moves by t_j, and
        the t_j^2 add up to T^2 at most, as for the features of points of bounded norm. Between two floats the larger
        one is taken. When omitted every bit may change fully.
    ball : bool
        Whether these bits come from points of a ball, before and after: with b_j the probability that bit j is 1, the
        (2 b_j - 1)^2 add up to T^2 at most, as for features of norm at most T R. See `dpverify.changes.L2Ball`.
    delta, epsilon : int, float, Fraction, Decimal or decimal string
        Exactly one, epsilon in nats: where on the privacy curve, exactly as in `Budget`; a number between two floats is
        given back as these two. The other is computed, over all datasets, both directions and every mix of them over
        the instances: the least upper and the largest lower bound of all that are at hand. At delta = 0 epsilon is the
        largest privacy loss, which may be infinite.
    relative_width : float
        The numerical accuracy wanted.
    threat_model : ThreatModel or str, optional
        Whose view is accounted, one of the claims' `threat_models`; the first of them when omitted.
    at_most : int, optional
        Of a list, in how many runs the same user takes part at most; in all when omitted.
    honest : number, optional
        How many of the users follow the protocol, at least, or below 1 which share of them; all when omitted. Of the
        others the adversary knows, or chose, all that they sent, or they stay away, and which of them do so is known
        (docs/crowds.md). Of a list, in each run that does not say it.
    adjacency : Adjacency or str, optional
        Of steps and events, "add-remove" when omitted; protocols are accounted for "replace-one", and so is what stands
        beside them.

    Returns
    -------
    AccountResult, ScheduleResult or StepsResult
        `epsilon` and `delta` as intervals, one of them as given, and what they mean.

    Raises
    ------
    TypeError, ValueError
        For a protocol without a privacy curve, or an argument out of range.

    Examples
    --------
    >>> from protocols.bitsum import RandomizedResponse
    >>> found = account(RandomizedResponse(users=1000, flip_probability=0.25), delta=1e-6)
    >>> print(f"{found.epsilon.upper:.4f}")
    0.1421
    >>> found.epsilon.width < 1e-5
    True
    >>> days = [(RandomizedResponse(1000, 0.25), 3), (RandomizedResponse(2000, 0.25), 4)]
    >>> print(f"{account(days, delta=1e-6).epsilon.upper:.2f}")
    0.33
    """
    if (steps := steps_of(protocol, instances, adjacency)) is not None:
        given = {"squared_change": squared_change, "ball": ball or None, "threat_model": threat_model}
        for name, value in (given | {"at_most": at_most, "honest": honest}).items():
            if value is not None:
                raise ValueError(f"{name}={value!r} must be omitted for steps of a trusted curator.")
        return account_steps(steps, delta=delta, epsilon=epsilon, relative_width=relative_width)
    if adjacency not in (None, Adjacency.REPLACE_ONE):
        raise ValueError(f"adjacency={adjacency!r} must be 'replace-one' but for steps: the number of users is public.")
    if isinstance(protocol, (list, tuple)):
        if instances != 1 or squared_change is not None or ball:
            raise ValueError(
                f"instances={instances!r} and squared_change={squared_change!r} must be omitted: a schedule says how "
                "often each protocol runs, and every input may change."
            )
        schedule = Schedule(protocol, at_most, threat_model, honest)
        return account_schedule(schedule, delta=delta, epsilon=epsilon, relative_width=relative_width)
    protocol = getattr(protocol, "protocol_", protocol)  # a fitted estimator says so what it has run
    if at_most is not None:
        raise ValueError(f"at_most={at_most!r} must be omitted but for a list of (protocol, instances).")
    change = change_of(check_integer("instances", instances, low=1), squared_change, ball)
    claims = mechanism_claims_of(protocol)
    adversary = chosen_threat_model(claims.name, claims.adversaries(protocol), threat_model)
    honest = checked_honest(claims, protocol, honest)

    with within_limits(claims.name):
        view = HonestView.of(protocol, honest, adversary)
        asked, exact, made, point, statement = answered(
            lambda reference_delta: view.curve(change, relative_width, reference_delta),
            lambda: LargestLossCurve(view.pure_epsilon, change),
            delta,
            epsilon,
        )
        notes = (view.note, *left_out(made))
    return AccountResult(
        claims.name,
        protocol,
        claims.parameters(protocol),
        change,
        *point,
        upper_bound(*statement, adversary, "exact law, exact composition", PROOF),
        asked,
        exact,
        notes,
        honest,
    )
