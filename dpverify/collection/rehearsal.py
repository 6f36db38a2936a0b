"""Whole days of a collection before it begins: what many users send by the laws of sums, in files that are really read.

**A simulation**, from a seed. Users are not drawn one by one: of what they hold and draw only the numbers are needed,
which are binomial and multinomial. The messages are then put in a uniformly random order, packed, written, read again
and aggregated like those of a release. A day that was cut off goes on where it stopped, and ends in the same bytes.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpverify.collection.analysis.aggregate import Aggregate, aggregate
from dpverify.collection.analysis.sums import Reader
from dpverify.collection.batches import Batch, Batches, instances
from dpverify.collection.client import read_manifest
from dpverify.collection.densities.rehearsed import HeldPoints, tossed
from dpverify.collection.manifest import Manifest, asked_in
from dpverify.collection.numbers.rehearsed import HeldNumbers, sent_messages, sent_shares
from dpverify.collection.recipes import randomizers
from dpverify.collection.rotations.rehearsed import HeldVectors, sent_counts
from dpverify.collection.tables import probabilities
from dpverify.files import write_text
from dpverify.guarantee import CapacityError, ThreatModel
from dpverify.shown import Drawn, Plain
from protocols.bitsum.base import BitsumProtocol
from protocols.classes.frozen import dataclass
from protocols.histogram import BucketSums
from protocols.sums import SumProtocol
from protocols.sums.vectors import UnaryVectorSum
from protocols.validation import check_integer, check_real

__all__ = ["Rehearsal", "Rehearsed", "arranged", "rehearse"]

_Held = HeldPoints | HeldVectors | HeldNumbers
_WORDS = 2**15
"""Words of 64 bits that are drawn at a time: few enough to stay near the processor."""
_LARGEST = 10**8
"""Messages of several bits in one file that are put in order: a gigabyte or two."""
_CHANCE_BITS = 8
"""Into so many binary digits the share of ones is cut, before as many are changed as it takes."""


@dataclass(frozen=True)
class Rehearsed(Plain):
    """How one query went on all days.

    Parameters
    ----------
    query : str
        Its name.
    of : str
        What it asks: bits, levels, buckets, strings or density.
    intervals, covered : int
        How many there were, and how many have the truth.
    rmse : float
        Root mean squared error of the estimates.
    width : float
        Of the intervals, on average.
    alarms : int
        On how many days there was one.
    """

    query: str
    of: str
    intervals: int
    covered: int
    rmse: float
    width: float
    alarms: int


@dataclass(frozen=True)
class Rehearsal(Drawn):
    """What came of a rehearsal.

    Parameters
    ----------
    users, offline, cheats : int
        All there are, those of them who are silent, and those who send whatever moves the first answers most.
    days : int
        How many.
    bytes : int
        Of all files.
    queries : tuple of Rehearsed
        In the manifest's order.
    aggregates : tuple of Aggregate
        Of each day.
    """

    table_by: ClassVar[str] = "dpverify.report.collections.rehearsals:rehearsal_table"
    figure_by: ClassVar[str] = "dpverify.report.collections.rehearsals:rehearsal_bars"
    plain_as: ClassVar[str] = "users offline cheats days bytes rows=queries"

    users: int
    offline: int
    cheats: int
    days: int
    bytes: int
    queries: tuple[Rehearsed, ...]
    aggregates: tuple[Aggregate, ...]


def rehearse(
    plan: Manifest,
    folder: Path,
    *,
    users: int | None = None,
    offline: float = 0.0,
    cheats: float = 0.0,
    days: int = 1,
    held: Mapping[str, ArrayLike] | None = None,
    confidence: float = 0.95,
    seed: int = 0,
    workers: int = 1,
    progress: Callable[[int, int], Any] | None = None,
) -> Rehearsal:
    """Rehearse some days of a collection.

    Parameters
    ----------
    plan : Manifest
        Whose queries are of bits, levels, buckets, strings, densities, vectors or numbers.
    folder : Path
        Where batches are written, one folder a day: a new one, or that of an earlier rehearsal with the same arguments,
        whose files stay. Days may be more, or fewer, and the confidence and the workers others.
    users : int, optional
        How many there are; as many as the manifest is for when omitted.
    offline, cheats : float
        In [0, 1), below 1 together: which share of the users is silent, and which sends, in place of an answer, what
        moves the first bucket, or every bit or level, upwards most.
    days : int
        How many.
    held : mapping of str to array_like, optional
        By query, the share of users with each answer: of bits, the share of ones of each; of a density points that as
        many users each hold, behind their class where there are several, at which the density is then estimated; of a
        vector, and of numbers, rows likewise, with weights behind their bucket. When omitted i/(k + 1) of the users
        have the i-th of k bits, levels are held alike, buckets and cells of strings by Zipf's law, points are normal,
        vectors anywhere on the sphere, and numbers evenly spread.
    confidence : float
        Of the intervals.
    seed : int
        The same one gives the same bytes.
    workers : int
        Processes.
    progress : callable, optional
        Called with how many steps are done, files written and then days read, and with the number of all.

    Returns
    -------
    Rehearsal

    Raises
    ------
    CapacityError
        If a file would have too many messages of several bits to be put in order.
    TypeError, ValueError
        For a query of another kind, an argument out of range, or a folder of a rehearsal with other arguments.
    """
    queries = read_manifest(plan.data, plan.hash)["queries"]
    asked = [asked_in(query) for query in queries]
    for each in asked:
        if not isinstance(each.protocol, (BitsumProtocol, BucketSums, UnaryVectorSum, SumProtocol)):
            raise TypeError(f"plan must have queries of bits, buckets, points, vectors or numbers, not {each.name!r}.")
    users = check_integer("users", asked[0].protocol.users if users is None else users, low=1, high=2**53)
    days, workers = check_integer("days", days, low=1), check_integer("workers", workers, low=1)
    for name, share in (("offline", offline), ("cheats", cheats)):
        check_real(name, share, low=0.0, high=1.0, high_open=True)
    silent, cheating = int(users * offline), int(users * cheats)
    needed = max(randomizers(each.protocol, each.honest, ThreatModel.COMMUNICATION) for each in asked)
    if users - silent - cheating < needed:
        raise ValueError(
            f"offline={offline!r} and cheats={cheats!r} must leave the {needed:,} users that the guarantee is for; "
            "a design with a smaller `honest` lets more of them be missing."
        )
    reader = Reader(plan.data, plan.hash)
    truths, points, follow = [], dict[str, _Held](), users - silent - cheating
    for query, each in zip(queries, asked, strict=True):
        name, given = query["name"], None if held is None else held.get(query["name"])
        if each.turned is not None:
            points[name] = HeldVectors.of(name, each.turned, given, follow)
        elif each.points is not None:
            points[name] = HeldPoints.of(query, given, follow)
        elif isinstance(each.protocol, SumProtocol):
            points[name] = HeldNumbers.of(query, each.protocol, given, follow)
        truths.append(points[name].bits if name in points else _held(query, _shares(query, given), follow))
    at = {name: each.points for name, each in points.items() if isinstance(each, HeldPoints)}
    held_by = hashlib.sha256(str([row.tolist() for answers in truths for row in answers]).encode()).hexdigest()
    _begun(folder, [plan.hash, users, silent, cheating, seed, held_by])
    tasks, names = list[Any](), [f"day-{day + 1}" for day in range(days)]
    for day, name in enumerate(names):
        (folder / name).mkdir(parents=True, exist_ok=True)
        for left in (folder / name).glob(".part-*"):
            left.unlink()
        for place, query in enumerate(queries):
            keys = [(seed, day, place, instance) for instance in range(instances(query))]
            tasks += [(key, name, truths[place][key[-1]], users - silent, cheating) for key in keys]
    write = functools.partial(_written, Batches(plan.data, plan.hash), folder)
    told, size = progress or (lambda done, total: None), 0
    with ExitStack() as stack:
        mapped: Callable[..., Iterable[int]] = map
        if workers > 1:
            pool = stack.enter_context(ProcessPoolExecutor(workers))
            mapped = functools.partial(pool.map, chunksize=max(1, len(tasks) // (8 * workers)))
        for done, written in enumerate(mapped(write, tasks), 1):
            size += written
            told(done, len(tasks) + days)
    found: tuple[Aggregate, ...] = ()
    for name in names:
        found += (aggregate(plan, reader.files([folder / name]), confidence=confidence, points=at),)
        told(len(tasks) + len(found), len(tasks) + days)
    rows = tuple(_compared(*each, found, points) for each in zip(queries, truths, strict=True))
    return Rehearsal(users, silent, cheating, days, size, rows, found)


def _begun(folder: Path, arguments: list[Any]) -> None:
    """Write down what the files of a folder depend on; ValueError if those of others are there."""
    path, said = folder / ".rehearsal.json", json.dumps(arguments) + "\n"
    if not path.exists() and not any(folder.glob("day-*/*.batch")):
        folder.mkdir(parents=True, exist_ok=True)
        write_text(said, path)
    elif not path.exists() or path.read_text(encoding="utf-8") != said:
        raise ValueError(f"folder={str(folder)!r} must be new, or of a rehearsal with the same arguments.")


def _shares(query: Mapping[str, Any], given: ArrayLike | None) -> NDArray[np.float64]:
    """Return the share of users with each answer, or with a one in each bit."""
    whole = query["kind"] == "buckets" or "asks" in query
    size = int(query["buckets" if query["kind"] == "buckets" else "instances"]) + (query.get("asks") == "levels")
    if given is None:
        places = np.arange(1.0, size + 1.0)
        made = np.ones(size) if query.get("asks") == "levels" else 1.0 / places if whole else places / (size + 1.0)
        return made / made.sum() if whole else made
    shares = np.asarray(given, dtype=np.float64)
    wanted = "numbers in [0, 1]" + (" that add up to 1" if whole else "")
    wrong = shares.shape != (size,) or not ((shares >= 0.0) & (shares <= 1.0)).all()
    if wrong or (whole and not np.isclose(shares.sum(), 1.0)):
        raise ValueError(f"held of {query['name']!r} must be {size} {wanted}.")
    return shares


def _held(query: Mapping[str, Any], shares: NDArray[np.float64], users: int) -> list[NDArray[np.int64]]:
    """Return the numbers of users, who follow the protocol, with each answer of each instance: 0 and 1, or buckets."""
    if query["kind"] == "buckets" or "asks" in query:
        ends = np.rint(users * np.cumsum(shares)).astype(np.int64)
        counts = np.diff(np.concatenate([[0], np.minimum(ends, users)]))
        counts[-1] += users - counts.sum()
        if query["kind"] == "buckets":
            return [counts] * int(query["instances"])
        ones = users - np.cumsum(counts)[:-1] if query["asks"] == "levels" else counts
    else:
        ones = np.rint(users * shares).astype(np.int64)
    return [np.array([users - one, one]) for one in ones]


def _compared(
    query: Mapping[str, Any],
    truth: list[NDArray[np.int64]],
    found: Sequence[Aggregate],
    points: Mapping[str, _Held],
) -> Rehearsed:
    """Return how far the estimates of all days are from the truth of those who follow the protocol."""
    name = query["name"]
    rows = [[row for row in day.estimates if row.query == name] for day in found]
    of = rows[0][0].of
    if name in points:
        exact = points[name].exact(found[0].users[name])  # among all who sent: cheats have no point
    elif of == "levels":
        exact = [1.0 + sum(int(each[1]) for each in truth) / int(truth[0].sum())]
    elif of == "buckets" and query["kind"] == "buckets":
        exact = [float(each) for counts in truth for each in counts]
    else:
        exact = [float(counts[1]) for counts in truth]
    pairs = [(row, true) for day in rows for row, true in zip(day, exact, strict=True)]
    covered = sum(row.low <= true <= row.high for row, true in pairs)
    rmse = float(np.sqrt(np.mean([(row.value - true) ** 2 for row, true in pairs])))
    width = float(np.mean([row.high - row.low for row, _ in pairs]))
    alarms = sum(any(alarm.query == name for alarm in day.alarms) for day in found)
    return Rehearsed(name, of, len(pairs), covered, rmse, width, alarms)


def _written(
    batches: Batches, folder: Path, task: tuple[tuple[int, int, int, int], str, NDArray[np.int64], int, int]
) -> int:
    """Write one file, unless it is there, and return its size."""
    key, name, held, users, cheats = task
    _, _, place, instance = key
    query = batches.queries[place]
    path = folder / name / f"{place}-{instance}.batch"
    if not path.exists():
        rng = np.random.default_rng(key)
        counts = _SENT[query["kind"]](query, held, cheats, rng)
        size = counts.size if query["kind"] == "shares" else int(counts.sum())
        made = batches.batch(path, batch=name, query=place, instance=instance, users=users, count=size)
        batches.write_packed(made, _ordered(made, counts, rng), durable=False)
    return path.stat().st_size


def _drawn(table: Sequence[str], times: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return how often each outcome of a table is drawn."""
    pmf = np.array(probabilities(table))
    return rng.multinomial(times, pmf / pmf.sum())


def _total(table: Sequence[str], times: int, rng: np.random.Generator) -> int:
    return int(_drawn(table, times, rng) @ np.arange(len(table) + 1))


def _of_report(
    query: Mapping[str, Any], held: NDArray[np.int64], cheats: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    choices, held = int(query["choices"]), tossed(held, rng)
    found = np.zeros(choices, dtype=np.int64)
    found[1] = cheats
    for answer, number in enumerate(held):
        drawn = _drawn(query["tables"]["shift"], int(number), rng)
        np.add.at(found, (answer + np.arange(drawn.size)) % choices, drawn)
    return found


def _of_counts(
    query: Mapping[str, Any], held: NDArray[np.int64], cheats: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    tables, users, held = query["tables"], int(held.sum()), tossed(held, rng)
    own = int(held[query["counted"]])
    if "drop" in tables:
        own = int(_drawn(tables["drop"], own, rng)[0])
    up = own + _total(tables["noise"], users, rng)
    if "flood" not in tables:
        # Who wants many ones sends all that a client can, or nothing where messages count zeros.
        return np.array([up + cheats * query["counted"] * (1 + len(tables["noise"]))])
    down, flood = _total(tables["noise"], users, rng), _total(tables["flood"], users, rng)
    return np.array([down + flood, up + flood + cheats * (1 + len(tables["noise"]))])


def _of_buckets(
    query: Mapping[str, Any], held: NDArray[np.int64], cheats: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    users, table = int(held.sum()), query["tables"]["noise"]
    noise = np.array([_total(table, users, rng) for _ in held])
    sent: NDArray[np.int64] = users - held + noise
    sent[1:] += cheats  # a message in all buckets but the first
    return sent


_SENT: dict[str, Callable[..., Any]] = {"report": _of_report, "counts": _of_counts, "buckets": _of_buckets}
_SENT |= {"unary": sent_counts, "sum": sent_messages, "shares": sent_shares}


def _ordered(made: Batch, counts: NDArray[np.int64], rng: np.random.Generator) -> Iterator[NDArray[np.uint8]]:
    """Yield messages, of which there are so many of each symbol, in a uniformly random order, as bytes."""
    width = sum(made.widths)
    if width == 1:
        yield arranged(made.messages, int(counts[1]), rng)
    elif width:
        if made.messages > _LARGEST:
            raise CapacityError(f"{made.messages:,} messages of {width} bits must be at most {_LARGEST:,} in a file.")
        known = made.query["kind"] != "shares"
        symbols = rng.permutation(np.repeat(np.arange(counts.size, dtype=np.uint32), counts)) if known else counts
        bits = symbols[:, np.newaxis] >> np.arange(width, dtype=symbols.dtype)[::-1] & 1
        yield np.packbits(bits.astype(np.uint8))


def arranged(count: int, ones: int, rng: np.random.Generator) -> NDArray[np.uint8]:
    """Return bits of which so many are ones, in a uniformly random order, packed; twice their bytes are taken.

    Independent bits with the same chance of a one are, given how many ones there are, in uniformly random order. Of
    these too many or too few are changed at places that are uniform among those with ones, or zeros: no place is
    preferred by either step, so that what results is uniform too.
    """
    chance = round(ones / max(count, 1) * 2**_CHANCE_BITS)
    bits = np.full(-(-count // 64), -int(chance == 2**_CHANCE_BITS), dtype=np.int64).view(np.uint64)
    for begin in range(0, bits.size, _WORDS):
        part = bits[begin : begin + _WORDS]
        for digit in range(_CHANCE_BITS if 0 < chance < 2**_CHANCE_BITS else 0):
            # From the chance's last digit on: a one of it halves what is missing, a zero halves what is there.
            drawn = rng.integers(0, 2**64, part.size, dtype=np.uint64)
            (np.bitwise_or if chance >> digit & 1 else np.bitwise_and)(part, drawn, out=part)
    packed = bits.view(np.uint8)[: -(-count // 8)]
    if count % 8:
        packed[-1] &= 256 - (1 << (8 - count % 8))
    missing = ones - int(np.bitwise_count(packed).sum(dtype=np.int64))
    wanted = int(missing < 0)  # of the bits that are changed
    while missing:
        at = np.sort(rng.integers(0, count, 2 * abs(missing) + 16))
        at = at[np.diff(at, prepend=-1) > 0]
        at = at[(packed[at >> 3] >> (7 - (at & 7)) & 1) == wanted]
        at = rng.permutation(at)[: abs(missing)]
        np.bitwise_xor.at(packed, at >> 3, (128 >> (at & 7)).astype(np.uint8))
        missing -= at.size if missing > 0 else -at.size
    return packed
