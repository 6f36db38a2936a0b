"""What runs on a user's device: one file that needs Python's standard library alone, and computes with integers only.

A client reads a manifest, whose hash the application knows, and makes uploads by it. Every draw reads 128 bits of the
operating system's entropy and compares them with all thresholds of a table in one subtraction of fixed size; the length
of an upload depends on its query only. docs/collection.md has the steps and the format; `clients/javascript` has the
same client for browsers, and `clients/vectors` what both make of the same entropy.
"""

from __future__ import annotations

import contextlib
import copy
import hashlib
import json
import math
import operator
import re
import secrets
import struct
import threading
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

__all__ = ["TURNED", "Client", "Refused", "cell", "draws", "encoded", "head", "header", "largest",
           "read_manifest", "signs", "stepped", "turned", "weighted"]  # fmt: skip

FORMAT, VERSION = "dpverify manifest", 1
_WORD = 16  # bytes of entropy in one draw
_DECIMAL = re.compile(r"(?:0(?:\.[0-9]{1,40})?|1(?:\.0{1,40})?)", re.ASCII)
_DIGITS, _DECIMALS = 40, 10**40
_SCALE = float(1 << (8 * _WORD))
# Binary digits of a wave's turn, a point's coordinate, a vector's coordinate, and what multiplies a rotated one.
_TURN, _REACH, _FINE, TURNED = 32, 30, 26, 46


class Refused(ValueError):
    """An input that the query does not take, or a manifest that is another: the sentence shows nothing private."""


def read_manifest(data: bytes, hash: str) -> dict[str, Any]:
    """Return what a manifest says; Refused if its bytes have another SHA-256, or it is of another version."""
    if hashlib.sha256(data).hexdigest() != hash:
        raise Refused("hash must be the SHA-256 of the manifest's bytes.")
    with contextlib.suppress(KeyError, TypeError, ValueError, RecursionError):
        content: dict[str, Any] = json.loads(data)
        if (content["format"], content["version"]) == (FORMAT, VERSION):
            return content
    raise Refused(f"manifest must be of version {VERSION}.")


def largest(query: Mapping[str, Any]) -> list[int]:
    """Return the largest value of each field of a query's uploads, in their order: what their lengths follow from."""
    return _shape(query)[0]


def draws(query: Mapping[str, Any]) -> int:
    """Return how many draws an upload takes, of 16 bytes of entropy each; one of a vector in 10^15 takes more."""
    return _shape(query)[1]


def _shape(query: Mapping[str, Any]) -> tuple[list[int], int]:
    noise, flood = (len(query["tables"].get(name, ())) for name in ("noise", "flood"))
    both, of, blocks = "flood" in query["tables"], defaultdict[str, int](int, query), query.get("blocks", ())
    shapes: dict[str, tuple[list[int], int]] = {
        "bloom": ([of["cohorts"] - 1] + [1] * of["bits"], 1 + 2 * of["bits"]),
        "report": ([of["choices"] - 1], 1),
        "counts": ([1 + noise + flood] + [noise + flood] * both, 1 + 2 * both + ("drop" in query["tables"])),
        "buckets": ([1 + noise] * of["buckets"], of["buckets"]),
        "vector": ([most for size in blocks for most in (size - 1, of["levels"])], 4 * len(blocks)),
        "unary": ([of["most"] + noise] * 2 * of["coordinates"], 3 * of["coordinates"]),
        "sum": ([of["levels"] + noise], 2),
        "shares": ([of["modulus"] - 1] * of["shares"], 2 + of["shares"]),
    }
    (fields, each), times = shapes[query["kind"]], 1 if query["kind"] == "bloom" else int(query["instances"])
    return fields * times, (each + ("points" in query and query["points"]["classes"] > 1)) * times


def header(hash: str, query: int, fields: Sequence[int]) -> tuple[bytes, int]:
    """Return all of an upload that comes before its payload, as deterministic CBOR, and the bytes of the payload."""
    size = -(-sum(most.bit_length() for most in fields) // 8)
    return b"\x84" + head(0, VERSION) + head(2, 32) + bytes.fromhex(hash) + head(0, query) + head(2, size), size


def head(major: int, value: int) -> bytes:
    """Return the shortest head of a CBOR item (RFC 8949, section 3)."""
    if value < 24:
        return bytes([major << 5 | value])
    code, size = next((24 + place, 1 << place) for place in range(4) if value < 1 << (8 << place))
    return bytes([major << 5 | code]) + value.to_bytes(size, "big")


class _Table:
    # Thresholds side by side in one integer, each in a lane of 17 bytes, whose first bit is spare, to be borrowed from.
    # In front is the threshold 0, from which nothing is borrowed: so no integer is shorter for some words than others.
    def __init__(self, thresholds: Sequence[str]) -> None:
        self._lanes = 1 + len(thresholds)
        self._spare = int.from_bytes((b"\x80" + bytes(_WORD)) * self._lanes, "big")
        self._kept = self._spare - int("0" + "".join(["00" + threshold for threshold in thresholds]), 16)

    def draw(self, word: bytes) -> int:
        """Return how many thresholds are at most the word: a lane keeps its spare bit where nothing is borrowed."""
        repeated = int.from_bytes((b"\0" + word) * self._lanes, "big")
        return ((self._kept + repeated) & self._spare).bit_count() - 1


def _words(drawn: bytes, more: bool) -> Iterator[bytes]:
    while drawn or more:
        yield from (drawn[at : at + _WORD] for at in range(0, len(drawn), _WORD))
        drawn = secrets.token_bytes(_WORD) if more else b""
    raise Refused("entropy must be such that its noise is within the limit.")


def _uniform(word: bytes, choices: int) -> int:
    return (int.from_bytes(word, "big") * choices) >> (8 * _WORD)


class Client:
    """One user's client: each query once, by what a manifest says; Refused for another one, or a memory that is none.

    Parameters
    ----------
    manifest : bytes
        As it was published.
    hash : str
        Its SHA-256 in hexadecimal digits, from where the application trusts: who changes it turns the noise off.
    memory : dict, optional
        What an earlier client of this user and manifest had as `memory`: a client that forgets answers queries again.
    """

    def __init__(self, manifest: bytes, hash: str, memory: Mapping[str, Any] | None = None) -> None:
        content = read_manifest(manifest, hash)
        self._queries = {query["name"]: query for query in content["queries"]}
        self._forms = {
            query["name"]: (*header(hash, number, largest(query)), [1 << most.bit_length() for most in largest(query)])
            for number, query in enumerate(content["queries"])
        }
        self._tables = {name: {key: _Table(a) for key, a in q["tables"].items()} for name, q in self._queries.items()}
        self._remember(memory or {})

    def another(self, memory: Mapping[str, Any] | None = None) -> Client:
        """Return the client of another user, with the same manifest; Refused for a memory that is none."""
        client = copy.copy(self)
        client._remember(memory or {})
        return client

    def _remember(self, memory: Mapping[str, Any]) -> None:
        self._lock = threading.Lock()
        try:
            sent, cohorts, values = ({**memory.get(key, {})} for key in ("sent", "cohorts", "values"))
            for name in (*sent, *cohorts, *values):
                self._queries[name]
            self._sent, self._cohorts = ({name: int(n) for name, n in each.items()} for each in (sent, cohorts))
            self._values: Any = {a: [[str(v), str(b), int(n)] for v, b, n in rows] for a, rows in values.items()}
        except (AttributeError, KeyError, TypeError, ValueError):
            raise Refused("memory must be what a client of this manifest had as its memory.") from None

    @property
    def memory(self) -> dict[str, Any]:
        """What must outlive the process, as JSON: **private**, as values of strings are in it. Keep it, then send."""
        with self._lock:
            return copy.deepcopy({"sent": self._sent, "cohorts": self._cohorts, "values": self._values})

    def upload(self, name: str, value: Any, *, entropy: bytes | None = None) -> bytes:
        """Return the upload that answers a query, of the same length for every value.

        Refused for an unknown query, a value that it does not take, or if it was answered as often as is accounted for.

        Parameters
        ----------
        name : str
            Of the query.
        value : object
            A list with one answer for each instance, or for a single instance the answer itself: a bit, a number, a
            place from 0 on, a level from 1 on, a string, a list of numbers, or [a class or a bucket, what is there].
        entropy : bytes, optional
            The operating system's; another one, of the right length, is for tests only.
        """
        if name not in self._queries:
            raise Refused("name must be that of a query of the manifest.")
        query, size = self._queries[name], _WORD * draws(self._queries[name])
        answer = _checked(query, value)
        with self._lock:
            drawn = secrets.token_bytes(size) if entropy is None else entropy
            if len(drawn) != size:
                raise Refused(f"entropy must have {size} bytes.")
            words = _words(drawn, entropy is None)
            if query["kind"] == "bloom":
                found = self._bloom(name, query, answer, words)
            else:
                if self._sent.get(name, 0):
                    raise Refused("name must be that of a query that was not answered yet.")
                self._sent[name] = 1
                answer = _among(query, answer, words) if "points" in query else answer
                step, tables = _STEPS[query["kind"]], self._tables[name]
                found = [field for one in answer for field in step(query, tables, one, words)]
        begin, length, guards = self._forms[name]  # a one before each field: as long, and so as fast to be written
        digits = "".join([format(field + guard, "b")[1:] for field, guard in zip(found, guards, strict=True)])
        return begin + int("1" + digits.ljust(8 * length, "0"), 2).to_bytes(length + 1, "big")[1:]

    def _bloom(self, name: str, query: Mapping[str, Any], text: str, words: Iterator[bytes]) -> list[int]:
        tables, bits = self._tables[name], query["bits"]
        cohort = _uniform(next(words), query["cohorts"])
        flips = [tables["flip"].draw(next(words)) for _ in range(bits)]
        cohort = self._cohorts.setdefault(name, cohort)
        fresh = [str(bit ^ flip) for bit, flip in zip(_pattern(query, text, cohort), flips, strict=True)]
        rows = self._values.setdefault(name, [])
        row = next((row for row in rows if row[0] == text), None)
        if row is None:
            if len(rows) >= query["instances"]:
                raise Refused(f"value must be one of the {query['instances']} that were reported before.")
            rows.append(row := [text, "".join(fresh), 0])
        if row[2] >= query["reports"]:
            raise Refused(f"value must not be reported more often than {query['reports']} times.")
        row[2] += 1
        one, zero, pairs = tables["one"], tables["zero"], ((int(kept), next(words)) for kept in row[1])
        return [cohort, *(kept & one.draw(word) | (1 - kept) & zero.draw(word) for kept, word in pairs)]


def _checked(query: Mapping[str, Any], value: Any) -> Any:
    """Return one answer for each instance, with coordinates as integers; Refused without showing any."""
    kind = query["kind"]
    if kind == "bloom":
        return _text(value)
    if "asks" in query:
        return {"vector": turned, "density": signs, "weights": weighted}.get(query["asks"], encoded)(query, value)
    answers = [value] if query["instances"] == 1 else value
    if not isinstance(answers, (list, tuple)) or len(answers) != query["instances"]:
        raise Refused(f"value must be a list of {query['instances']} answers.")
    if kind in ("vector", "sum", "shares"):
        return [_coordinates(query, answer) if kind == "vector" else stepped(query, answer) for answer in answers]
    most = {"report": query.get("choices", 0), "counts": 2, "buckets": query.get("buckets", 0)}[kind]
    if not all(isinstance(answer, int) and -1 < answer < most for answer in answers):
        raise Refused(f"each answer must be an integer in [0, {most - 1}].")
    return [int(answer) for answer in answers]


def _text(value: Any) -> str:
    text = unicodedata.normalize("NFC", value) if isinstance(value, str) else None
    if text is None or text.encode("utf-8", "ignore").decode() != text:
        raise Refused("value must be a string, without lone surrogates.")
    return text


def cell(query: Mapping[str, Any], value: Any) -> int:
    """Return in which cell a query of strings counts a string: each query hashes in its own way."""
    salt = hashlib.blake2b(query["name"].encode(), person=b"dpverify strings").digest()[:16]
    digest = hashlib.blake2b(_text(value).encode(), salt=salt, person=b"dpverify strings").digest()
    return int.from_bytes(digest[:8], "little") % int(query["instances"])


def encoded(query: Mapping[str, Any], answer: Any) -> list[int]:
    """Return the bits of one answer: of each level but the lowest whether it is reached, of each bucket if it is it."""
    least, most = (1, query["instances"] + 1) if query["asks"] == "levels" else (0, query["instances"] - 1)
    answer = cell(query, answer) if query["asks"] == "strings" else answer
    if isinstance(answer, bool) or not isinstance(answer, int) or not least <= answer <= most:
        raise Refused(f"value must be an integer in [{least}, {most}].")
    return [int(place + 2 <= answer if least else place == answer) for place in range(query["instances"])]


def _numbers(value: Any, size: int, limit: float) -> bool:
    sized = isinstance(value, (list, tuple)) and len(value) == size
    return sized and all(isinstance(x, (int, float)) and not isinstance(x, bool) and abs(x) < limit for x in value)


def signs(query: Mapping[str, Any], value: Any) -> tuple[int, list[int]]:
    """Return the class of an answer to a density, and of each wave whether it is positive at the point."""
    of, classes, limit = query["points"], query["points"]["classes"], 2.0 ** (_REACH - query["points"]["shift"])
    pair = [0, value] if classes == 1 else value
    label, point = pair if isinstance(pair, (list, tuple)) and len(pair) == 2 else (-1, ())
    if not isinstance(label, int) or not 0 <= label < classes or not _numbers(point, of["dimension"], limit):
        held = "" if classes == 1 else f"a class below {classes} and "
        raise Refused(
            f"value must be {held}a point of {of['dimension']} numbers below 2^{_REACH - of['shift']} in size."
        )
    # By a power of two: nothing is rounded but downwards. A turn more, so that all numbers of steps are as long.
    steps = [math.floor(float(x) * 2.0 ** of["shift"]) % (1 << _TURN) + (1 << _TURN) for x in point] + [1]
    waves = struct.iter_unpack(f">{len(steps)}i", bytes.fromhex(of["waves"]))
    phases = [sum([a * b for a, b in zip(wave, steps, strict=True)]) for wave in waves]
    return int(label), [1 ^ (phase >> (_TURN - 1) & 1) for phase in phases]


def _among(query: Mapping[str, Any], answer: tuple[int, list[int]], words: Iterator[bytes]) -> Iterator[int]:
    """Yield the bits of all classes: a user's own, and coins of the others."""
    classes, (label, own) = query["points"]["classes"], answer
    coins = [int(held != label) for held in range(classes)]
    return (bit if classes == 1 else coin & next(words)[0] >> 7 | (1 - coin) & bit for coin in coins for bit in own)


def turned(query: Mapping[str, Any], value: Any) -> list[list[int]]:
    """Return one answer: a vector's coordinates in steps, rotated and clipped; Refused if it is longer than 1."""
    size = len(query["signs"])
    steps = [math.floor(x * 2.0**_FINE + 0.5) for x in value] if _numbers(value, size, 2.0) else []
    if not steps or sum([x * x for x in steps]) > ((1 << _FINE) + (1 << _FINE - 10)) ** 2:
        raise Refused(f"value must be a list of {size} numbers whose squares add up to 1 at most.")
    found = [x * (1 - 2 * int(sign)) for x, sign in zip(steps, query["signs"], strict=True)]
    found += [0] * (query["coordinates"] - size)
    for _ in range(query["coordinates"].bit_length() - 1):
        found = [*map(operator.add, found[::2], found[1::2]), *map(operator.sub, found[::2], found[1::2])]
    return [[min(max(x, -query["limit"]), query["limit"]) for x in found]]


def stepped(query: Mapping[str, Any], number: Any) -> tuple[int, int]:
    """Return how many whole steps a number is above the smallest, and what is left of one, times 2^128."""
    real, ends, whole = query["real"], (query["smallest"], query["largest"]), 1 << (8 * _WORD)
    low, high = map(float, ends)
    if not _numbers([number], 1, math.inf) or not low <= number <= high or not (real or number == int(number)):
        raise Refused(f"each answer must be {'a number' if real else 'an integer'} in [{', '.join(ends)}].")
    above, rounds = float(number) - low, real or query["levels"] != high - low
    return divmod(_fixed(above / (high - low)) * query["levels"] if rounds else int(above) * whole, whole)


def weighted(query: Mapping[str, Any], value: Any) -> list[tuple[int, int]]:
    """Return of each bucket what a number is that is in one of them: nothing in all others."""
    place, number = value if isinstance(value, (list, tuple)) and len(value) == 2 else (None, 0)
    step, rest = stepped(query, number)
    return [(own * step, own * rest) for own in encoded(query, place)]


def _coordinates(query: Mapping[str, Any], answer: Any) -> list[int]:
    """Return coordinates times 2^128, rounded down: exactly what they are, for floats of at least 2^-75."""
    size = sum(query["blocks"])
    found = [_fixed(each) for each in answer] if isinstance(answer, (list, tuple)) and len(answer) == size else [-1]
    if min(found) >= 0:
        return found
    raise Refused(f"each answer must be a list of {size} numbers in [0, 1], as floats or as decimals of 40 digits.")


def _fixed(number: Any) -> int:
    if isinstance(number, str) and _DECIMAL.fullmatch(number):
        whole, _, digits = number.partition(".")
        return (int(whole + digits.ljust(_DIGITS, "0")) << (8 * _WORD)) // _DECIMALS
    known = isinstance(number, (int, float)) and not isinstance(number, bool) and 0 <= number <= 1
    return int(float(number) * _SCALE) if known else -1  # by a power of two: rounded only to an integer, downwards


def _report(query: Any, tables: Mapping[str, _Table], answer: int, words: Iterator[bytes]) -> list[int]:
    choices = query["choices"]  # Python divides 0 another way
    return [(choices + answer + tables["shift"].draw(next(words))) % choices]


def _counts(query: Mapping[str, Any], tables: Mapping[str, _Table], answer: int, words: Iterator[bytes]) -> list[int]:
    own = (answer ^ 1 ^ int(query["counted"])) & (1 ^ (tables["drop"].draw(next(words)) if "drop" in tables else 0))
    up = own + tables["noise"].draw(next(words))
    if "flood" not in tables:
        return [up]
    down, flood = (tables[name].draw(next(words)) for name in ("noise", "flood"))
    return [up + flood, down + flood]


def _buckets(query: Mapping[str, Any], tables: Mapping[str, _Table], answer: int, words: Iterator[bytes]) -> list[int]:
    return [(bucket != answer) + tables["noise"].draw(next(words)) for bucket in range(query["buckets"])]


def _vector(query: Any, tables: Mapping[str, _Table], answer: list[int], words: Iterator[bytes]) -> list[int]:
    found, begin, levels = list[int](), 0, int(query["levels"])
    for size in query["blocks"]:
        chosen = _uniform(next(words), size)
        level, rest = divmod(answer[begin + chosen] * levels, 1 << (8 * _WORD))
        level += int.from_bytes(next(words), "big") < rest
        replaced, other = tables["replaced"].draw(next(words)), _uniform(next(words), levels + 1)
        found += [chosen, replaced * other + (1 - replaced) * level]
        begin += size
    return found


def _unary(query: Any, tables: Mapping[str, _Table], answer: list[int], words: Iterator[bytes]) -> list[int]:
    found, factor = list[int](), int(query["factor"])
    for place in answer:
        level, rest = divmod((place + (1 << TURNED)) * factor, 1 << TURNED)
        level += (int.from_bytes(next(words), "big") >> (8 * _WORD - TURNED) < rest) - factor
        found += [max(level, 0), max(-level, 0)]
    while sum(noise := [tables["noise"].draw(next(words)) for _ in found]) > query["noise"]:
        pass
    return [own + other for own, other in zip(found, noise, strict=True)]


def _sum(query: Any, tables: Mapping[str, _Table], answer: tuple[int, int], words: Iterator[bytes]) -> list[int]:
    own = answer[0] + (int.from_bytes(next(words), "big") < answer[1]) + tables["noise"].draw(next(words))
    if query["kind"] == "sum":
        return [own]
    own, modulus = own - tables["noise"].draw(next(words)), query["modulus"]  # a power of two
    shares = [_uniform(next(words), modulus) for _ in range(query["shares"] - 1)]
    return [*shares, (own - sum(shares)) & (modulus - 1)]


def _pattern(query: Mapping[str, Any], text: str, cohort: int) -> list[int]:
    """Return the Bloom filter of a string: see `protocols.rappor.bloom.BloomFilter`."""
    filled = 0
    for number in range(query["hashes"]):
        block, place = divmod(number, 8)
        salt = cohort.to_bytes(8, "little") + block.to_bytes(8, "little")
        digest = hashlib.blake2b(text.encode(), salt=salt, person=b"rappor bloom").digest()
        filled |= 1 << (int.from_bytes(digest[8 * place : 8 * place + 8], "little") % query["bits"])
    return [filled >> bit & 1 for bit in range(query["bits"])]


_STEPS: dict[str, Any] = {"report": _report, "counts": _counts, "buckets": _buckets, "vector": _vector, "unary": _unary,
                          "sum": _sum, "shares": _sum}  # fmt: skip
