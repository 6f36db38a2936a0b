"""The client of a device: exact draws, and a memory."""

import itertools
import json
import random
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from protocols.rappor.client import RapporClient
from protocols.rappor.response import Rappor
from tests.protocols.rappor.test_response import law
from tests.refusals import refused
from tests.samples import assert_law

MECHANISM = Rappor(2, 1, cohorts=3, f=0.5, p=0.25, q=0.875, reports=2)


@pytest.mark.long
def test_reports_have_the_law_of_the_simulation() -> None:
    entropy = random.Random(6)
    sent = []
    for _ in range(20_000):
        client = RapporClient(MECHANISM, 1, entropy=entropy)
        sent.append(tuple(int(bit) for _ in range(2) for bit in client.report("x")))
    assert_law(sent, law(MECHANISM, MECHANISM.filter.patterns(["x"])[0, 1]))


class Script:
    """An entropy that returns what it is told, and notes what it was asked."""

    def __init__(self, answers: list[int]) -> None:
        self.answers, self.asked = answers, list[int]()

    def randrange(self, stop: int, /) -> int:
        self.asked.append(stop)
        return self.answers.pop(0)


def test_the_draws_are_integers_below_the_exact_probability() -> None:
    # 0.1 is a float of 55 binary digits: the boundary is hit at its very numerator.
    mechanism = Rappor(1, 1, f=0.1, p=0.1, q=0.3)
    numerator, denominator = (0.1).as_integer_ratio()
    for below in (0, 1):
        script = Script([numerator - below, 0])
        client = RapporClient(mechanism, 0, entropy=script)
        client.report("x")
        assert script.asked[0] == 2 * denominator
        assert client.state()["permanent"]["x"] == ("0" if below else "1")


def test_a_value_has_one_permanent_response_and_others_their_own() -> None:
    mechanism = Rappor(200, 2, f=0.9, p=1e-9, q=1 - 1e-9, reports=30)
    client = RapporClient(mechanism, entropy=random.Random(1))
    first, second = client.report("a\u0301"), client.report("b")
    assert len({client.report("\u00e1") for _ in range(20)} | {first}) == 1
    assert sum(a != b for a, b in zip(first, second, strict=True)) > 40


def test_no_more_reports_than_accounted_for() -> None:
    client = RapporClient(MECHANISM)
    for _ in range(2):
        client.report("x")
    with pytest.raises(RuntimeError, match=r"^value has been reported 2 times, which is all that reports=2 allows\.$"):
        client.report("x")
    client.report("y")


def test_a_restored_client_goes_on_where_it_was() -> None:
    client = RapporClient(MECHANISM, entropy=random.Random(3))
    client.report("x")
    state = json.loads(json.dumps(client.state()))
    again = RapporClient.restored(MECHANISM, state, entropy=random.Random(4))
    assert again.state() == client.state()
    again.report("x")
    assert again.state()["permanent"] == client.state()["permanent"]
    with pytest.raises(RuntimeError):
        again.report("x")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cohort": 3}, "cohort=3 must be an integer in [0, 2]."),
        ({"permanent": {"secret": "012"}}, "each of state['permanent'] must be a text of 2 zeros and ones."),
        ({"permanent": {}}, "state must have the same values in 'permanent' as in 'sent'."),
        # Who has a permanent response has sent a report: else the quota would begin anew.
        ({"sent": {}}, "state must have the same values in 'permanent' as in 'sent'."),
        ({"sent": 5}, "state must have the same values in 'permanent' as in 'sent'."),
        ({"sent": {"secret": 0}}, "each of state['sent']=0 must be an integer in [1, inf)."),
        ({"sent": {"e\u0301": 1}, "permanent": {"e\u0301": "01"}}, "a value of state must be in Unicode's normal"),
    ],
)
def test_a_state_is_checked(change: dict[str, Any], message: str) -> None:
    state = {"cohort": 0, "permanent": {"secret": "01"}, "sent": {"secret": 1}, **change}
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        RapporClient.restored(MECHANISM, state)
    assert str(caught.value).startswith(message)


def test_what_is_no_state_or_mechanism_is_refused() -> None:
    with refused("state"):
        RapporClient.restored(MECHANISM, {})
    with refused("mechanism=3", TypeError):
        RapporClient(3)  # type: ignore[arg-type]
    with refused("value", TypeError):
        RapporClient(MECHANISM).report(b"x")  # type: ignore[arg-type]


def test_the_cohort_is_drawn_once_and_every_one_occurs() -> None:
    cohorts = Counter(RapporClient(MECHANISM, entropy=random.Random(seed)).cohort for seed in range(300))
    assert sorted(cohorts) == [0, 1, 2]
    # Nothing is seeded by default.
    unseeded = [RapporClient(Rappor(64, 1, f=0.5, p=0.5, q=0.75)).report("x") for _ in range(4)]
    assert all(a != b for a, b in itertools.pairwise(unseeded))


def test_no_error_shows_a_value() -> None:
    client = RapporClient(MECHANISM)
    for _ in range(2):
        client.report("secret")
    state = client.state()
    mistakes: list[Callable[[], object]] = [
        lambda: client.report("secret"),
        lambda: client.report(b"secret"),  # type: ignore[arg-type]
        lambda: client.report("secret\ud800"),
        *(
            lambda changed=changed: RapporClient.restored(MECHANISM, changed)  # type: ignore[misc]
            for changed in (
                {"permanent": state["permanent"]},
                {**state, "sent": {}},
                {**state, "sent": {"secret": -1}},
                {**state, "sent": {"secret": "1"}},
                {**state, "permanent": {"secret": "secret"}},
                {**state, "permanent": {"secret\ud800": "01"}, "sent": {"secret\ud800": 1}},
                {**state, "permanent": {b"secret": "01"}, "sent": {b"secret": 1}},
            )
        ),
    ]
    for mistake in mistakes:
        with pytest.raises((TypeError, ValueError, RuntimeError)) as caught:
            mistake()
        error: BaseException | None = caught.value
        while error is not None:
            assert "secret" not in repr(error)
            error = error.__cause__ or error.__context__


class Slow(random.Random):
    """An entropy that lets other threads run."""

    def randrange(self, stop: int, /) -> int:  # type: ignore[override]
        time.sleep(1e-3)
        return super().randrange(stop)


def test_threads_share_the_quota_and_the_permanent_response() -> None:
    mechanism = Rappor(8, 1, f=0.5, p=0.25, q=0.75, reports=3)
    client = RapporClient(mechanism, 0, entropy=Slow(1))

    def send(_: int) -> bool:
        try:
            client.report("x")
        except RuntimeError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(send, range(16))) == 3
    assert client.state()["sent"] == {"x": 3}
