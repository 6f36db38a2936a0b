"""What runs on a user's device: exact draws from the operating system's entropy, and a memory to outlive the process.

The simulation in `protocols.rappor.response` draws floats from a seeded generator; here nothing is seeded, and a
probability is the float's exact binary value. The mechanism is that of erlingsson2014.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

from protocols.exact_draws import Entropy, bernoullis, system_entropy
from protocols.rappor.bloom import canonical
from protocols.rappor.response import Rappor
from protocols.validation import check_integer

__all__ = ["RapporClient"]


class RapporClient:
    """One user's client. It remembers the permanent response to every value, so `state` must be kept and restored.

    A client that forgets draws new permanent responses, and her reports can be averaged. So does one whose state is
    put back to an earlier one: keep the state before the report leaves the device.

    Parameters
    ----------
    mechanism : Rappor
        The parameters. `reports` is what the account assumes: the client does not send more on one value.
    cohort : int, optional
        In [0, mechanism.cohorts); drawn once when omitted.
    entropy : Entropy, optional
        The operating system's, and another one in tests only.

    Raises
    ------
    TypeError, ValueError
        For a mechanism of another kind, or a cohort out of its range.

    Notes
    -----
    Permanent responses are kept by value, in the clear: who reads the device's memory, or `state`, reads the values. No
    error shows one. Times and the number of reports are not hidden either. Threads may share a client.

    Examples
    --------
    >>> mechanism = Rappor(bits=16, hashes=2, cohorts=4, f=0.5, p=0.25, q=0.75, reports=2)
    >>> client = RapporClient(mechanism)
    >>> len(client.report("red"))
    16
    """

    def __init__(self, mechanism: Rappor, cohort: int | None = None, *, entropy: Entropy | None = None) -> None:
        if type(mechanism) is not Rappor:
            raise TypeError(f"mechanism={mechanism!r} must be a Rappor.")
        self.mechanism, self._entropy = mechanism, system_entropy() if entropy is None else entropy
        drawn = self._entropy.randrange(mechanism.cohorts) if cohort is None else cohort
        self.cohort = check_integer("cohort", drawn, low=0, high=mechanism.cohorts - 1)
        self._kept: dict[str, tuple[str, int]] = {}
        self._lock = threading.Lock()

    def report(self, value: str) -> str:
        """Return one report on a value, as a text of zeros and ones, `mechanism.bits` long.

        TypeError if the value is no string, ValueError if it is no text, RuntimeError if `mechanism.reports` have been
        sent.
        """
        text = canonical("value", value, shown=False)
        with self._lock:
            permanent, sent = self._kept.get(text, ("", 0))
            if sent >= self.mechanism.reports:
                raise RuntimeError(
                    f"value has been reported {sent} times, which is all that reports={self.mechanism.reports} allows."
                )
            # Counted before it is sent: a report that is lost was paid for.
            self._kept[text] = permanent, _ = permanent or self._permanent(text), sent + 1
        chances = Fraction(self.mechanism.p), Fraction(self.mechanism.q)
        return _text(bernoullis([kept == "1" for kept in permanent], chances, self._entropy))

    def _permanent(self, text: str) -> str:
        filled = set(self.mechanism.filter.positions([text])[0, self.cohort].tolist())
        flip = Fraction(self.mechanism.f) / 2
        flips = bernoullis([0] * self.mechanism.bits, [flip], self._entropy)
        return _text((bit in filled) != flipped for bit, flipped in enumerate(flips))

    def state(self) -> dict[str, Any]:
        """Return what must be remembered, as plain JSON values: **private**, as the values are in it."""
        with self._lock:
            kept = dict(self._kept)
        return {
            "cohort": self.cohort,
            "permanent": {text: permanent for text, (permanent, _) in kept.items()},
            "sent": {text: sent for text, (_, sent) in kept.items()},
        }

    @classmethod
    def restored(cls, mechanism: Rappor, state: Mapping[str, Any], *, entropy: Entropy | None = None) -> RapporClient:
        """Return the client whose `state` was kept; ValueError if that is none of a client with these parameters."""
        if not isinstance(state, Mapping) or not {"cohort", "permanent", "sent"} <= state.keys():
            raise ValueError("state must be what `state()` returned.")
        client = cls(mechanism, state["cohort"], entropy=entropy)
        permanent, sent = state["permanent"], state["sent"]
        if not isinstance(permanent, Mapping) or not isinstance(sent, Mapping) or permanent.keys() != sent.keys():
            raise ValueError("state must have the same values in 'permanent' as in 'sent'.")
        for text, kept in permanent.items():
            if canonical("a value of state", text, shown=False) != text:
                raise ValueError("a value of state must be in Unicode's normal form C.")
            if not isinstance(kept, str) or len(kept) != mechanism.bits or not set(kept) <= {"0", "1"}:
                raise ValueError(f"each of state['permanent'] must be a text of {mechanism.bits} zeros and ones.")
            client._kept[text] = kept, check_integer("each of state['sent']", sent[text], low=1)
        return client


def _text(bits: Iterable[bool]) -> str:
    return "".join("1" if bit else "0" for bit in bits)
