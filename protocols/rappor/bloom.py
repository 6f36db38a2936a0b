"""Strings as sets of bits: a Bloom filter with its own hash functions in every cohort (erlingsson2014, section 2)."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Sequence
from dataclasses import field

import numpy as np
from numpy.typing import NDArray

from protocols.classes.frozen import dataclass
from protocols.validation import check_integer, check_ranges

__all__ = ["BloomFilter", "canonical", "check_texts"]

_PERSON = b"rappor bloom"
_PER_DIGEST = 8
"""Hash values in one digest: of 64 bytes, eight for each."""


def canonical(name: str, value: object, *, shown: bool = True) -> str:
    """Return a string in Unicode's normal form C: texts that look alike, composed or decomposed, are one value.

    Without it "é" as one code point and as two would be two values, and would be counted apart. Nothing else is folded:
    case and spaces count. A message shows the value unless it is private: TypeError for no string, ValueError for a
    lone surrogate, which is no text.
    """
    said = f"{name}={value!r}" if shown else name
    if not isinstance(value, str):
        raise TypeError(f"{said} must be a string.")
    text = unicodedata.normalize("NFC", value)
    if text.encode("utf-8", "ignore").decode() != text:  # no error of Python's, which would hold the text
        raise ValueError(f"{said} must be text that UTF-8 can encode, without lone surrogates.")
    return text


def check_texts(name: str, values: object) -> list[str]:
    """Return strings in `canonical` form, after checking that they are a sequence of strings and not a string."""
    if isinstance(values, (str, bytes)) or not isinstance(values, (Sequence, np.ndarray)):
        raise TypeError(f"{name}={values!r} must be a sequence of strings.")
    return [canonical(f"{name}[{index}]", value) for index, value in enumerate(values)]


@dataclass(frozen=True)
class BloomFilter:
    """Sets, in the filter of a user's cohort, the bits that some hash functions map her string to.

    The hash functions are public: BLAKE2b of the string's UTF-8 bytes in normal form C, salted with the cohort, so that
    they are the same in every process and on every machine, and independent between cohorts. Two functions may map
    a string to the same bit; then its pattern has fewer bits.

    Parameters
    ----------
    bits : int
        k in [1, 10^7], the size of the filter.
    hashes : int
        h in [1, min(bits, 64)], the number of hash functions of a cohort.
    cohorts : int
        The number of cohorts, at least 1.

    Raises
    ------
    TypeError, ValueError
        For a parameter out of its range.

    Examples
    --------
    >>> public = BloomFilter(bits=16, hashes=2, cohorts=4)
    >>> public.patterns(["red"]).shape
    (1, 4, 16)
    """

    bits: int = field(metadata={"within": "[1, 10000000]", "help": "k, the bits of the Bloom filter, in {}."})
    hashes: int = field(metadata={"within": "[1, 64]", "help": "h, the hash functions, in {} and at most k."})
    cohorts: int = field(default=1, metadata={"within": "[1, inf)", "help": "Cohorts of users, in {}."})

    def __post_init__(self) -> None:
        check_ranges(self)
        check_integer("hashes", self.hashes, low=1, high=self.bits)

    def positions(self, values: Sequence[str]) -> NDArray[np.int64]:
        """Return the bit that each hash function of each cohort maps each string to, shape (values, cohorts, hashes).

        One may occur twice. TypeError if a value is no string, ValueError if it is no text.
        """
        texts = [text.encode() for text in check_texts("values", values)]
        digests = -(-self.hashes // _PER_DIGEST)
        salts = [
            [cohort.to_bytes(8, "little") + block.to_bytes(8, "little") for block in range(digests)]
            for cohort in range(self.cohorts)
        ]
        raw = b"".join(
            hashlib.blake2b(text, salt=salt, person=_PERSON).digest()
            for text in texts
            for cohort_salts in salts
            for salt in cohort_salts
        )
        words = np.frombuffer(raw, dtype="<u8").reshape(len(texts), self.cohorts, digests * _PER_DIGEST)
        # Of 2^64 numbers modulo k, no bit is likelier than another by more than k / 2^64.
        return (words[:, :, : self.hashes] % np.uint64(self.bits)).astype(np.int64)

    def patterns(self, values: Sequence[str]) -> NDArray[np.bool_]:
        """Return which bits each string sets in the filter of each cohort, shape (values, cohorts, bits)."""
        positions = self.positions(values)
        filled = np.zeros((*positions.shape[:2], self.bits), dtype=np.bool_)
        np.put_along_axis(filled, positions, True, axis=2)
        return filled
