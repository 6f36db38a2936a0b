"""Users and shufflers that are watched: the checks grow with the trials, and find what thirty runs do not."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from dpverify.audit.running.target import TargetError
from dpverify.audit.running.watching import _order_of_others, _others, watched
from dpverify.audit.subject import Messages
from dpverify.laws.discrete import DiscreteLaw

LEVEL = 1e-3
USERS = 30
Shuffle = Callable[[np.ndarray, np.random.Generator], np.ndarray]


def sent(bits: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    return bits ^ (rng.random(bits.size) < 0.2), np.arange(bits.size)


def subject(shuffle: Shuffle, sending: Callable[..., tuple[np.ndarray, np.ndarray]] = sent) -> Messages:
    return Messages(
        sending,
        lambda bits, rng: shuffle(sending(bits, rng)[0], rng),
        (np.arange(USERS) < USERS // 2).astype(np.int64),
        np.zeros(USERS, dtype=np.int64),
        1,
        DiscreteLaw.of([0, 1], [0.8, 0.2]),
        1,
        1,
    )


def found(messages: Messages, trials: int) -> set[str]:
    results = watched(messages, np.random.default_rng(1), trials, LEVEL)
    return {result.check.split(",")[0] for result in results if result.p_value <= LEVEL * result.weight}


def fair(messages: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return rng.permutation(messages)


def last_stays(messages: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.append(rng.permutation(messages[:-1]), messages[-1])


def few_seeds(messages: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.random.default_rng(int(rng.integers(64))).permutation(messages)


@pytest.mark.long
@pytest.mark.parametrize(("shuffle", "trials"), [(last_stays, 500), (few_seeds, 2_000)])
def test_more_trials_show_what_few_do_not(shuffle: Shuffle, trials: int) -> None:
    assert "message positions" in found(subject(shuffle), trials)


@pytest.mark.long
def test_a_fair_shuffle_is_not_blamed() -> None:
    assert found(subject(fair), 600) == set()


@pytest.mark.long
def test_one_silent_user_is_seen() -> None:
    def silent(bits: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        symbols, senders = sent(bits, rng)
        symbols[11] = bits[11]
        return symbols, senders

    results = watched(subject(fair, silent), np.random.default_rng(1), 500, LEVEL)
    (diagnosis,) = (result.details["diagnosis"] for result in results if "diagnosis" in result.details)
    assert diagnosis == "user 11's reports are noisy never, where 20 % of the time is claimed."


def test_another_number_of_messages_and_a_failure_are_reported() -> None:
    def twice(bits: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        symbols, senders = sent(bits, rng)
        return np.append(symbols, symbols[:1]), np.append(senders, 0)

    assert "message count" in found(subject(fair, twice), 120)

    def lost(bits: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        raise RuntimeError("lost")

    with pytest.raises(TargetError, match=r"while its messages were watched: lost\.$"):
        watched(subject(fair, lost), np.random.default_rng(1), 120, LEVEL)


def stops_early(messages: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    moved = messages.copy()
    for at in range(moved.size - 1, 7, -1):
        other = int(rng.integers(at + 1))
        moved[[at, other]] = moved[[other, at]]
    return moved


def affine(messages: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    at = (rng.choice([1, 7, 11, 13]) * np.arange(messages.size) + rng.integers(USERS)) % messages.size
    return np.asarray(messages[at])


@pytest.mark.long
@pytest.mark.parametrize(("shuffle", "check"), [(stops_early, "message places"), (affine, "message order")])
def test_shuffles_that_show_on_mixed_inputs_only_are_found(shuffle: Shuffle, check: str) -> None:
    assert check in found(subject(shuffle), 2_000)


@pytest.mark.long
def test_two_users_with_one_coin_and_a_coin_for_four_runs_are_found() -> None:
    kept: list[int] = []

    def together(bits: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        symbols, senders = sent(bits, rng)
        symbols[-1] = symbols[0] ^ bits[0] ^ bits[-1]
        return symbols, senders

    def remembered(bits: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        symbols, senders = sent(bits, rng)
        if not kept:
            kept.extend([int(symbols[4] ^ bits[4])] * 4)
        symbols[4] = bits[4] ^ kept.pop()
        return symbols, senders

    assert "pairs of instances" in found(subject(fair, together), 600)
    assert "memory of users" in found(subject(fair, remembered), 600)


def only_where(few: Callable[[np.ndarray], bool]) -> Shuffle:
    """Leave the order alone where the messages are such, and shuffle else."""

    def shuffle(messages: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return messages if few(messages) else rng.permutation(messages)

    return shuffle


@pytest.mark.long
@pytest.mark.parametrize(
    ("shuffle", "where"),
    [
        (only_where(lambda messages: messages.mean() < 0.2), "nobody's one"),
        (only_where(lambda messages: 0.2 < messages.mean() < 0.3), "few ones"),
        (only_where(lambda messages: messages.mean() > 0.85), "all ones"),
        (only_where(lambda messages: 0.7 < messages.mean() < 0.8), "all but few ones"),
    ],
)
def test_a_shuffle_that_depends_on_the_messages_is_found(shuffle: Shuffle, where: str) -> None:
    results = _order_of_others(_others(subject(shuffle), np.random.default_rng(1), 1_000), LEVEL)
    assert where in {result.check.removeprefix("message places, ") for result in results if result.p_value <= LEVEL}


@pytest.mark.long
def test_order_is_judged_at_its_level_on_every_dataset() -> None:
    # Each test alone, over many audits of a fair shuffle: also of one that draws before the users do.
    def before(bits: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        order = rng.permutation(bits.size)
        return sent(bits, rng)[0][order]

    fair_one, level = subject(fair), 0.05
    for messages in (fair_one, replace(fair_one, arrived=before)):
        rng = np.random.default_rng(2)
        p_values = [result.p_value for _ in range(60) for result in _order_of_others(_others(messages, rng, 60), LEVEL)]
        assert len(p_values) == 240
        alarms = int(np.count_nonzero(np.array(p_values) <= level))
        assert stats.binom.sf(alarms - 1, len(p_values), level) > 1e-6
