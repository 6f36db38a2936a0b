"""What a batch says: estimates with intervals, and an alarm where no users who follow the protocols send such a batch.

What is spent is written to a ledger before anything of the batch is looked at.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpverify.collection.analysis.intervals import SumLaw, Tails, sum_law, tails_of
from dpverify.collection.analysis.numbers import of_numbers, steps_in, wrapped
from dpverify.collection.analysis.strings import bit_counts, candidate_rows, named_cells, strange_strings
from dpverify.collection.analysis.sums import IN_ONE, Sums
from dpverify.collection.analysis.vectors import VECTORS, of_vectors, strange_vectors
from dpverify.collection.batches import per_user
from dpverify.collection.client import cell
from dpverify.collection.densities.estimate import Densities, densities
from dpverify.collection.manifest import Manifest, asked_in
from dpverify.collection.query import ONE_OF, TWO_OF, Asked
from dpverify.collection.recipes import randomizers
from dpverify.guarantee import ThreatModel
from dpverify.shown import Drawn, Plain
from dpverify.spending.ledger import PrivacyLedger
from protocols.bitsum.negative_binomial import Estimate as Reading
from protocols.classes.frozen import dataclass
from protocols.histogram import BucketSums
from protocols.local.labels import LabelRandomizedResponse
from protocols.rappor.bloom import check_texts
from protocols.rappor.response import Rappor
from protocols.sums import SumProtocol
from protocols.validation import check_real

_BY_BUCKET = (BucketSums, LabelRandomizedResponse)
"""Of these each message, or report, is of one bucket."""
_OTHERWISE = (*VECTORS, Rappor, SumProtocol)  # of these counts are no sums of bits

__all__ = ["Aggregate", "Alarm", "Estimate", "aggregate", "told"]


@dataclass(frozen=True)
class Estimate(Plain):
    """An estimate with its interval.

    Parameters
    ----------
    query : str
        Its name.
    of : str
        "bits", "levels", "buckets" (labels, too), "strings", "vector", "density", "rappor", "numbers" or "weights".
    instance, bucket : int or None
        Of which run, and of which bucket, cell or coordinate; None of a mean over all levels. Of a density the class,
        and which of the points.
    value : float
        Unbiased: a number of users, a mean of levels, the sum of a coordinate, or a density.
    low, high : float
        The ends of the interval, in [0, users], from the lowest level to the highest, or in [0, 1]; of a vector of norm
        1 in [-users, users]. Low is above high where the batch contradicts every sum.
    strings : tuple of str
        The candidates that are counted in this cell, together with all other strings of it.
    """

    plain_as: ClassVar[str] = "query of instance bucket value low high strings"

    query: str
    of: str
    instance: int | None
    bucket: int | None
    value: float
    low: float
    high: float
    strings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Alarm(Plain):
    """What does not fit the law of users who all follow the protocols, whatever they hold.

    Parameters
    ----------
    query : str
        Its name.
    reason : str
        A sentence.
    """

    plain_as: ClassVar[str] = "query reason"

    query: str
    reason: str


@dataclass(frozen=True)
class Aggregate(Drawn):
    """All that sums say.

    Parameters
    ----------
    batches : tuple of str
        Their names.
    users : dict of str to int
        By query.
    confidence : float
        Of each interval of bits and levels; of those of a query's buckets or cells all together.
    estimates : tuple of Estimate
        By query, in the manifest's order.
    alarms : tuple of Alarm
        Where all users follow the protocols there is any with a probability of at most `level`.
    level : float
        Of all alarms together.
    spent : float or None
        The upper end of what the ledger has spent of epsilon, if there is a ledger.
    densities : dict of str to Densities
        By query, those that are asked for, to be evaluated anywhere.
    """

    table_by: ClassVar[str] = "dpverify.report.collections.aggregates:aggregate_table"
    figure_by: ClassVar[str] = "dpverify.report.collections.aggregates:aggregate_bars"
    plain_as: ClassVar[str] = "batches users confidence level alarms spent rows=estimates"

    batches: tuple[str, ...]
    users: Mapping[str, int]
    confidence: float
    estimates: tuple[Estimate, ...]
    alarms: tuple[Alarm, ...]
    level: float
    spent: float | None
    densities: Mapping[str, Densities] = field(default_factory=dict, repr=False)

    def most_frequent(self, query: str) -> tuple[Estimate, tuple[int, ...]]:
        """Return the most frequent bucket by its estimate, and all that may be it by the intervals of all together."""
        rows = self._one_of(query, "buckets", "strings")
        least = max(row.low for row in rows)
        return max(rows, key=lambda row: row.value), tuple(int(row.bucket or 0) for row in rows if row.high >= least)

    def string(self, text: str, queries: Sequence[str]) -> Estimate:
        """Return the cell that says most about a string: that with the least upper end, of some queries of strings.

        Parameters
        ----------
        text : str
            Any.
        queries : sequence of str
            The names of those that asked for the same, each of which hashes in its own way: what a cell has of other
            strings is different in each.

        Returns
        -------
        Estimate
            Of those who answered its `query`, at most `high` have the string, with the confidence
            1 - r (1 - `confidence`) for all strings together, r the number of queries. At least 0 do, and `value`
            counts the others of its cell, too. Where fewer answered one query than another, `users` tells.
        """
        found = []
        for query in queries:
            rows = self._one_of(query, "strings")
            place = cell({"name": query, "instances": len(rows)}, text)
            found.append(replace(rows[place], low=0.0, strings=(text,)))
        if not found:
            raise ValueError(f"queries={queries!r} must be names of queries, at least one.")
        return min(found, key=lambda row: row.high)

    def _one_of(self, query: str, *kinds: str) -> list[Estimate]:
        rows = [row for row in self.estimates if row.query == query and row.of in kinds]
        if not rows:
            raise ValueError(f"query={query!r} must be one of {' or '.join(kinds)} here.")
        return rows


@dataclass(frozen=True)
class _Counted:
    """A query's counts, as numbers of inputs with noise: of shape (runs, buckets or cells), or (runs, 1)."""

    asked: Asked
    users: int
    counts: NDArray[np.int64]
    honest: int
    strange: bool

    @property
    def of(self) -> str:
        return told(self.asked)

    def law(self, sums: int = 1) -> SumLaw:
        """Return the law of so many counts together."""
        return sum_law(_bitsum(self.asked), self.users * sums)


def told(asked: Asked) -> str:
    """Return what estimates of a query are of; see `Estimate.of`."""
    known: dict[Any, str] = {VECTORS: "vector", Rappor: "rappor", _BY_BUCKET: "buckets"}
    known[SumProtocol] = asked.asks.replace("bits", "numbers")
    return next((of for kinds, of in known.items() if isinstance(asked.protocol, kinds)), asked.asks)


def _bitsum(asked: Asked) -> Any:
    return asked.protocol.bitsum if isinstance(asked.protocol, BucketSums) else asked.protocol


def aggregate(
    plan: Manifest,
    sums: Sums,
    *,
    confidence: float = 0.95,
    level: float = 1e-6,
    ledger: PrivacyLedger | None = None,
    candidates: Sequence[str] = (),
    points: Mapping[str, ArrayLike] | None = None,
) -> Aggregate:
    """Return what sums say, after it was paid for.

    Parameters
    ----------
    plan : Manifest
        Whose queries were asked.
    sums : Sums
        All that came in for the queries that are told. Of each query one batch, for in two the same users may have
        answered; of sums without files it is taken to be so.
    confidence : float
        In (0, 1): of each interval, whatever users hold, if all of them follow the protocols.
    level : float
        In (0, 1): how likely any alarm is at most, if they do.
    ledger : PrivacyLedger, optional
        Where all queries are spent before anything else is done, unless the same sums of the same batches were paid for
        before. Sums without files are always paid for: another day may have counted the same.
    candidates : sequence of str
        Strings to be named beside the cells in which they are counted; of RAPPOR all that users hold, each of which has
        an interval, together with the confidence. Then a batch has one report of each user.
    points : dict of str to array_like, shape (points, dimension), optional
        By query, where to estimate a density: public points, chosen without looking at the waves.

    Returns
    -------
    Aggregate

    Raises
    ------
    BudgetExceededError
        If the ledger's budget would be exceeded: nothing is told.
    TypeError, ValueError
        If sums are of another manifest, are not of all instances of a query, or of several batches of it, or of fewer
        users than are accounted to be honest; for a query without intervals, or an argument out of range.
    """
    check_real("confidence", confidence, low=0.0, high=1.0, low_open=True, high_open=True)
    check_real("level", level, low=0.0, high=1.0, low_open=True, high_open=True)
    if sums.manifest != plan.hash:
        raise ValueError(f"manifest={sums.manifest} must be the hash of the manifest, {plan.hash}.")
    queries = [query for query in plan.content["queries"] if query["name"] in sums.counts]
    if not queries:
        raise ValueError("sums must have a query, at least one.")
    found = [_counted(query, sums, ThreatModel(plan.guarantee["threat_model"])) for query in queries]
    strange = (points or {}).keys() - {each.asked.name for each in found if each.asked.points is not None}
    if strange:
        raise ValueError(f"points={sorted(strange)} must be of densities that sums have.")
    named = named_cells([each.asked for each in found], candidates)
    texts = list(dict.fromkeys(check_texts("candidates", candidates)))
    charged = Fraction(plan.guarantee["charged"]["probability"]) / plan.guarantee["days"]
    tests = sum(each.counts.size + len(each.counts) for each in found)
    rows, alarms, known = list[Estimate](), list[Alarm](), dict[str, Densities]()
    for each in found:
        if each.asked.points is not None:
            made, name = _densities(each, charged), each.asked.name
            rows, known = rows + _at(made, name, confidence, (points or {}).get(name)), {**known, name: made}
        else:
            with tails_of(f"confidence={confidence!r}"):
                rows += _estimates(each, _kept(1.0 - confidence, charged, each) / 2.0, texts)
        side = _kept(level / tests, charged, each) / 2.0
        with tails_of(f"level={level!r}"):
            alarms += [Alarm(each.asked.name, reason) for reason in _alarms(each, side, texts)]
    spent = None if ledger is None else _paid(ledger, found, sums)  # at last: what is refused above costs nothing
    rows = [replace(row, strings=tuple(named.get((row.query, row.bucket), row.strings))) for row in rows]
    users = {each.asked.name: each.users for each in found}
    return Aggregate(tuple(sums.batches), users, confidence, tuple(rows), tuple(alarms), level, spent, known)


def _densities(each: _Counted, charged: Fraction) -> Densities:
    law, signs = each.law(), each.asked.points
    assert signs is not None
    sums = [law.estimate(count) for count in each.counts[:, 0].tolist()]
    return densities(signs, each.asked.protocol, each.users, sums, float(sum(_cost(charged, each))))


def _at(found: Densities, name: str, confidence: float, points: ArrayLike | None) -> list[Estimate]:
    """Return the estimates of a density at points."""
    if points is None:
        return []
    values, low, high = (ends.tolist() for ends in (found(points), *found.intervals(points, confidence)))
    several = found.signs.classes > 1
    return [
        Estimate(name, "density", of if several else None, at, values[at][of], low[at][of], high[at][of])
        for of in range(found.signs.classes)
        for at in range(len(values))
    ]


def _counted(query: dict[str, Any], sums: Sums, adversary: ThreatModel) -> _Counted:
    """Return what sums say of a query, after checking what is public of them."""
    asked, users, counts = asked_in(query), sums.users[query["name"]], sums.counts[query["name"]]
    batches = sorted({batch for batch, name, _ in sums.files if name == asked.name})
    if len(batches) > 1:  # whose users may be the same: one day's cost would not be that of both
        raise ValueError(f"sums of {asked.name} must be of one batch, and are of {len(batches)}: {', '.join(batches)}.")
    if (users != users[0]).any():
        raise ValueError(f"sums of {asked.name} must be of all its instances, by the same users.")
    if not isinstance(asked.protocol, _OTHERWISE):
        sum_law(_bitsum(asked), 1)  # a TypeError where there is none
    needed = randomizers(asked.protocol, asked.honest, adversary)
    if users[0] < needed:
        raise ValueError(f"users={users[0]} of {asked.name} must be at least the {needed} that the guarantee is for.")
    least, most = per_user(query)
    messages = counts.sum(axis=1)
    strange = query["kind"] not in IN_ONE and bool(((messages < least * users) | (messages > most * users)).any())
    if not isinstance(asked.protocol, (*_BY_BUCKET, *_OTHERWISE)):
        counts = (counts @ np.array(sorted(asked.protocol.alphabet)))[:, np.newaxis]
    if getattr(_bitsum(asked), "estimate", None) is Reading.UNDER:
        counts = users[0] - counts
    counts = steps_in(asked.protocol, counts.T if asked.asks in TWO_OF else counts)
    return _Counted(asked, int(users[0]), counts, needed, strange)


def _kept(level: float, charged: Fraction, each: _Counted) -> float:
    """Return a level by the protocols' laws under which what clients draw is within `level`.

    Their draws are r with `(1 - s) r <= q`, and those of an honest user cost at most all of the charge over these
    users; beside it each report may be off by 2^-128.
    """
    off, rounded = _cost(charged, each)
    return max(0.0, float((1 - off) * Fraction(level) - rounded))


def _cost(charged: Fraction, each: _Counted) -> tuple[Fraction, Fraction]:
    draws = Fraction(each.users * each.counts.size)
    return charged * draws / each.honest, draws / 2**128 + wrapped(each.asked.protocol) * each.counts.size


def _paid(ledger: PrivacyLedger, found: list[_Counted], sums: Sums) -> float:
    """Spend all queries, unless the very same sums of batches were paid for before, and return what is spent."""
    digest = hashlib.sha256(sums.to_json().encode("ascii")).hexdigest()
    label = f"{', '.join(sums.batches) or 'sums'}: {digest}"
    spent = ledger.spent()
    if not sums.files or label not in {known for known, _ in spent.days}:
        runs = [(each.asked.protocol, each.asked.changed, each.asked.honest) for each in found]
        spent = ledger.spend_all(runs, label=label)
    return spent.epsilon.upper


def _estimates(each: _Counted, side: float, texts: list[str]) -> list[Estimate]:
    asked, name = each.asked, each.asked.name
    if each.of == "rappor":
        told = candidate_rows(bit_counts(asked.protocol, each.counts[0]), texts, side)
        return [Estimate(name, each.of, None, at, *row) for at, row in enumerate(told)]
    if each.of in ("vector", "numbers", "weights"):
        made: Any = of_vectors if each.of == "vector" else of_numbers
        return [Estimate(name, each.of, *row) for row in made(asked, each.counts, each.users, side)]
    if each.of == "levels":
        tails, count = Tails(each.law(asked.instances), side), int(each.counts.sum())
        value, low, high = (1.0 + end / each.users for end in (tails.law.estimate(count), *tails.interval(count)))
        return [Estimate(name, each.of, None, None, value, low, high)]
    tails, known, rows = Tails(each.law(), side / each.counts.shape[1]), dict[int, tuple[float, int, int]](), []
    for (run, bucket), count in zip(np.ndindex(each.counts.shape), each.counts.ravel().tolist(), strict=True):
        if count not in known:
            known[count] = (tails.law.estimate(count), *tails.interval(count))
        rows.append(Estimate(name, each.of, run, bucket if each.of in ONE_OF else None, *known[count]))
    return rows


def _alarms(each: _Counted, side: float, texts: list[str]) -> list[str]:
    """Return what has at each side of each count, and of all of a run together, at most a probability of `side`."""
    found, protocol = list[str](), each.asked.protocol
    if each.users > getattr(protocol, "users", each.users):
        found.append(f"{each.users:,} users took part, but there are {protocol.users:,}.")
    if each.strange:
        found.append(f"{each.users:,} users cannot have sent so many messages, or so few.")
    if each.of == "vector":
        return found + strange_vectors(each.asked, each.counts, each.users, side)
    if each.of == "rappor":
        return found + strange_strings(bit_counts(protocol, each.counts[0]), texts, side)
    low, high = Tails(each.law(), side).possible
    outside = each.counts[(each.counts < low) | (each.counts > high)]
    if outside.size:
        found.append(
            f"{outside.size:,} of {each.counts.size:,} counts, such as {outside[0]:,}, are outside of "
            f"[{low:,}, {high:,}], where every true sum leaves them."
        )
    # Every user is in one, so that all sums together are known: as surely as the reports, where these are one each.
    if each.of in ONE_OF and not isinstance(protocol, LabelRandomizedResponse):
        low, high = Tails(each.law(each.counts.shape[1]), side).between(each.users)
        for total in each.counts.sum(axis=1):
            if not low <= total <= high:
                found.append(
                    f"all {each.of} together have {total:,}, but {each.users:,} users leave [{low:,}, {high:,}]."
                )
    return found
