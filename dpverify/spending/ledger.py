"""What a collection has spent, on disk: every run is written down before it runs, or refused.

The whole of what was spent is accounted anew at each step, exactly and with all runs together, so that what is left is
what composition leaves and no sum of epsilons. That bound is proved for runs that were decided upon without looking at
what earlier ones returned, such as a schedule, or numbers of users that are public anyway. Where the results of one run
decide which comes next, it is not.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from dpverify.claims.records import protocol_of, record_of
from dpverify.digits import rounded_up
from dpverify.guarantee import Adjacency, Budget, BudgetLike, Interval, Number, ThreatModel
from dpverify.planning.answers import within_limits
from dpverify.planning.schedules.result import ScheduleResult, account_schedule
from dpverify.planning.schedules.schedule import Day, Schedule, days_of
from dpverify.search import largest_integer
from dpverify.shown import Drawn
from dpverify.spending import lines
from dpverify.spending.lines import DamagedFileError, Lines
from protocols.classes.frozen import dataclass
from protocols.validation import check_choice, check_integer

__all__ = ["BudgetExceededError", "PrivacyLedger", "Spent"]

_VERSION = 3
"""Of what is written. Version 1, of dpverify 0.2.0, called the instances of a run its count; in 1 and 2 one user's
input is replaced. Both are read, too."""
_OF_RUNS = ("instances", "honest")
"""What is written of a day beside its protocol."""
_MOST_RUNS = 2**20
"""Up to so many more runs are looked for."""


class BudgetExceededError(ValueError):
    """A run would exceed the budget: it was not written down, and must not take place."""


@dataclass(frozen=True)
class Spent(Drawn):
    """What was spent of a budget.

    - budget: What may be spent.
    - epsilon: What all runs together cost at the budget's delta; 0 before the first.
    - days: The runs, each with its label.
    - at_most: In how many runs the same user takes part at most; None for all.
    - threat_model: Whose view is accounted; None before the first run where the ledger leaves it to that.
    - adjacency: Which datasets are neighbours.
    - head: The hash of the last line and all before it: note it elsewhere to see that none was removed.
    - account: The account of the runs, None before the first.
    """

    table_by: ClassVar[str] = "dpverify.report.plans.spending:spent_table"
    figure_by: ClassVar[str] = "dpverify.report.plans.spending:spent_bars"
    rows_by: ClassVar[str] = "days"
    plain_as: ClassVar[str] = "budget epsilon runs at_most threat_model adjacency days=_rows head"

    budget: Budget
    epsilon: Interval
    days: tuple[tuple[str, Day], ...]
    at_most: int | None
    threat_model: ThreatModel | None
    adjacency: Adjacency
    head: str
    account: ScheduleResult | None

    @property
    def runs(self) -> int:
        """How many runs there were."""
        return sum(day.instances for _, day in self.days)

    @property
    def _rows(self) -> list[dict[str, Any]]:
        return [{"label": label, **_runs_of(day), **record_of(day.protocol)} for label, day in self.days]


class PrivacyLedger:
    """A ledger in a file: a budget, and every run that was paid from it.

    Parameters
    ----------
    path : str or Path
        A file that `create` has made.

    Raises
    ------
    DamagedFileError
        By every method, if the file is not what was written; `TornLineError` if only its last line is not whole.

    Examples
    --------
    >>> import tempfile
    >>> from protocols.bitsum import RandomizedResponse
    >>> where = tempfile.mkdtemp() + "/telemetry.jsonl"
    >>> ledger = PrivacyLedger.create(where, ("0.5", "1e-6"))
    >>> monday = ledger.spend(RandomizedResponse(users=5000, flip_probability=0.25), label="Monday")
    >>> ledger.remaining(RandomizedResponse(users=5000, flip_probability=0.25)) > 20
    True
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    @classmethod
    def create(
        cls,
        path: str | Path,
        budget: BudgetLike,
        *,
        at_most: int | None = None,
        threat_model: ThreatModel | str | None = None,
        adjacency: Adjacency | str = Adjacency.REPLACE_ONE,
    ) -> PrivacyLedger:
        """Make a ledger.

        Parameters
        ----------
        path : str or Path
            Where; nothing may be there.
        budget : Budget or (epsilon, delta)
            What all runs together may cost one user.
        at_most : int, optional
            In how many runs the same user takes part at most; in all when omitted.
        threat_model : ThreatModel or str, optional
            Whose view is accounted; the first that all protocols are accounted for when omitted.
        adjacency : Adjacency or str
            Which datasets are neighbours: other than replace-one for a ledger of nothing but a curator's steps.

        Raises
        ------
        ValueError
            If there is a file already, or an argument is out of range.
        """
        budget, made = Budget.of(budget), cls(path)
        record = {
            "kind": "budget",
            "version": _VERSION,
            "epsilon": str(budget.exact_epsilon),
            "delta": str(budget.exact_delta),
            "at_most": None if at_most is None else check_integer("at_most", at_most, low=1),
            "threat_model": None
            if threat_model is None
            else check_choice("threat_model", threat_model, tuple(ThreatModel)).value,
            "adjacency": check_choice("adjacency", adjacency, Adjacency).value,
        }
        with lines.locked(made.path):
            lines.create(made.path, record)
        return made

    def spent(self) -> Spent:
        """Return what was spent."""
        return self._spent(Lines.read(self.path))

    def spend(self, protocol: Any, instances: int = 1, *, honest: Number | None = None, label: str = "") -> Spent:
        """Write runs of one protocol down; see `spend_all`.

        Parameters
        ----------
        protocol : object
            The protocol, as for `account`, a step of a trusted curator, or an event of dp-accounting.
        instances : int
            How many runs of it, at least 1.
        honest : number, optional
            How many of its users, or below 1 which share, follow the protocol, at least, as for `account`.
        label : str
            What they are, for who reads the ledger.
        """
        return self.spend_all([(protocol, instances, honest)], label=label)

    def spend_all(self, runs: Sequence[Any], *, label: str = "") -> Spent:
        """Write runs down that are about to take place, and return what is spent with them.

        When this returns the line is on the disk. Two processes that spend at once are served one after the other.

        Parameters
        ----------
        runs : sequence of (protocol, instances) or (protocol, instances, honest)
            The protocols, how many runs of each, at least 1, and how many users are honest in each, all as for
            `account`: all of them are written, or none.
        label : str
            What they are, for who reads the ledger: printable characters.

        Raises
        ------
        BudgetExceededError
            If the budget would be exceeded: nothing is written.
        ValueError, TypeError
            If an argument is out of range: nothing is written.
        """
        new = days_of(runs)
        record = {
            "kind": "spend",
            "label": _checked_label(label),
            "runs": [{**_runs_of(day), **record_of(day.protocol)} for day in new],
            "time": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        }
        Lines.read(self.path)  # no lock is left where there is no ledger
        with lines.locked(self.path):
            known = Lines.read(self.path)
            budget, of, days = _contents(self.path, known)
            found = _account(budget, [*(day for _, day in days), *new], of)
            if not found.epsilon.upper <= budget.epsilon:
                before = _account(budget, [day for _, day in days], of).epsilon.upper if days else 0.0
                asked = " and ".join(f"{day.instances} of {record_of(day.protocol)['protocol']}" for day in new)
                raise BudgetExceededError(
                    f"{asked} would exceed the budget {budget}: epsilon would be up to "
                    f"{rounded_up(found.epsilon.upper, 6)} at its delta, of which {rounded_up(before, 6)} is spent."
                )
            return self._spent(known.append(self.path, record), found)

    def remaining(self, protocol: Any) -> int:
        """Return how many more runs of a protocol the budget allows, were nothing else to run; at most 2^20.

        Parameters
        ----------
        protocol : object
            The protocol, as for `account`.
        """
        budget, of, days = _contents(self.path, Lines.read(self.path))
        spent = [day for _, day in days]

        def fits(instances: int) -> bool:
            days = [*spent, *days_of([(protocol, instances)])]
            found = _account(budget, days, of, quick=True).epsilon
            if budget.epsilon in found:  # a narrower interval decides; elsewhere it would say the same
                found = _account(budget, days, of).epsilon
            return found.upper <= budget.epsilon

        return largest_integer(fits, 1, 0, _MOST_RUNS + 1)

    def repair(self) -> str:
        """Take off a torn last line, of a writer that was stopped and told nobody, and return it.

        Raises
        ------
        DamagedFileError
            If anything else is wrong: nothing is changed then.
        ValueError
            If no line is torn.
        """
        with lines.locked(self.path):
            return lines.repair(self.path)

    def _spent(self, known: Lines, found: ScheduleResult | None = None) -> Spent:
        budget, of, days = _contents(self.path, known)
        if days and found is None:
            found = _account(budget, [day for _, day in days], of)
        epsilon = Interval(0.0, 0.0) if found is None else found.epsilon
        adversary = of.threat_model if found is None else found.guarantee.threat_model
        return Spent(budget, epsilon, days, of.at_most, adversary, of.adjacency, known.head, found)


def _runs_of(day: Day) -> dict[str, int]:
    """Return what is written of a day beside its protocol: a number of honest users only where one was given."""
    return {name: int(value) for name in _OF_RUNS if (value := getattr(day, name)) is not None}


def _checked_label(label: str) -> str:
    """Return a label that a table can hold in one line, and any terminal can print."""
    if not isinstance(label, str):
        raise TypeError(f"label={label!r} must be a text.")
    if not label.isprintable():
        raise ValueError(f"label={label!a} must be printable characters.")
    return label


class _Of(NamedTuple):
    """What the budget is of."""

    at_most: int | None
    threat_model: ThreatModel | None
    adjacency: Adjacency


def _account(budget: Budget, days: list[Day], of: _Of, *, quick: bool = False) -> ScheduleResult:
    runs = sum(day.instances for day in days)
    at_most = None if of.at_most is None else min(of.at_most, runs)
    schedule = Schedule(days, at_most, of.threat_model, adjacency=of.adjacency)
    with within_limits("the ledger"):
        # Between two floats the smaller delta: what is spent there is no less.
        return account_schedule(schedule, delta=budget.delta, relative_width=1e-4, quick=quick)


def _contents(path: Path, known: Lines) -> tuple[Budget, _Of, tuple[tuple[str, Day], ...]]:
    """Return what the records of a ledger say."""
    first, *rest = known.records
    try:
        if first["kind"] != "budget" or first["version"] not in (1, 2, _VERSION):
            raise ValueError
        budget = Budget(Fraction(first["epsilon"]), Fraction(first["delta"]))
        at_most = None if first["at_most"] is None else check_integer("at_most", first["at_most"], low=1)
        adversary = None if first["threat_model"] is None else ThreatModel(first["threat_model"])
        adjacency = Adjacency(first["adjacency"]) if first["version"] == _VERSION else Adjacency.REPLACE_ONE
        days = []
        for record in rest:
            if record["kind"] != "spend":
                raise ValueError
            for written in record["runs"]:
                run: Any = {"instances" if name == "count" else name: value for name, value in written.items()}
                protocol = protocol_of({name: value for name, value in run.items() if name not in _OF_RUNS})
                days.append((str(record["label"]), Day(protocol, *(run.get(name) for name in _OF_RUNS))))
    except (KeyError, TypeError, ValueError) as error:
        raise DamagedFileError(
            f"path={str(path)!r} is no ledger of this version of dpverify{f': {error}' if str(error) else '.'}"
        ) from error
    return budget, _Of(at_most, adversary, adjacency), tuple(days)
