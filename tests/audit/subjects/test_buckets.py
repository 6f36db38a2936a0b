"""Audits of histograms and selections: right ones pass, and each planted fault is found by the check that should."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpverify.audit.protocol import audit_protocol
from dpverify.audit.subjects.bitsum import Implementation
from dpverify.audit.subjects.buckets import bucket_subject, own_buckets
from dpverify.statistics.family import Verdict
from protocols.bitsum import NegativeBinomial
from protocols.histogram import BucketSums, Histogram
from protocols.selection import Selection
from protocols.shuffler import UserMessages, tagged

NOISE = NegativeBinomial(12, 4.0, 0.4, estimate="under")
HISTOGRAM, MANY = Histogram(NOISE, 3), Histogram(NOISE, 12)
SELECTION = Selection(NegativeBinomial(12, 10.0, 0.6, estimate="under"), 3)
Array = NDArray[Any]


def outputs(protocol: BucketSums) -> Implementation:
    """Return what is published and the counts, without the messages of single users."""
    return dataclasses.replace(own_buckets(protocol, aggregated=True), sent=None, arrived=None)


def audited(reference: BucketSums, implementation: Any = None, trials: int = 2_000, **options: Any) -> set[str]:
    subject = bucket_subject(reference, implementation=implementation)
    report = audit_protocol(subject, trials=trials, **{"level": 0.05, "seed": 3, "block_size": 200, **options})
    return {result.check.split(",")[0].split(" of ")[0] for result in report.violations}


@pytest.mark.long
@pytest.mark.parametrize("protocol", [HISTOGRAM, SELECTION, MANY], ids=lambda p: f"{type(p).__name__} {p.buckets}")
def test_right_protocols_are_not_refuted(protocol: BucketSums) -> None:
    assert audited(protocol, outputs(protocol), 500, level=0.01) == set()


@pytest.mark.long
def test_enough_trials_make_a_pass_message_by_message() -> None:
    small = Histogram(NegativeBinomial(4, 4.0, 0.4, estimate="under"), 2)
    report = audit_protocol(small, trials=1_500, detect=0.5, level=0.05)
    assert report.verdict is Verdict.CONSISTENT


def test_what_is_nearly_always_zero_leaves_no_check_undecided_for_ever() -> None:
    zeros = Histogram(NegativeBinomial(12, 12.0, 0.5, estimate="under"), 3)

    def published(values: Array, rng: np.random.Generator) -> Array:
        return zeros.run(values, rng)

    report = audit_protocol(zeros, implementation=published, trials=500, detect=0.5)
    assert [result.check for result in report.results if result.power == 0.0] == []


def test_a_selection_that_names_the_lone_user_is_found_where_another_is_nearly_always_selected() -> None:
    protocol = Selection(NegativeBinomial(12, 5.0, 0.5, estimate="under"), 3)

    def selected(values: Array, rng: np.random.Generator, *, told: bool) -> float:
        held = np.bincount(values, minlength=3)
        if told and held.max() == 11:
            return float(np.flatnonzero(held == 1)[0])
        return float(np.argmax(held - rng.negative_binomial(5.0, 0.5, 3)))

    for told in (False, True):
        report = audit_protocol(protocol, implementation=functools.partial(selected, told=told), trials=2_000)
        names = [result.check for result in report.violations]
        assert (names[:1] == ["conformance of selected bucket, one in the second bucket"]) is told
        assert bool(names) is told


def faulty(reference: BucketSums, **methods: Callable[..., Any]) -> BucketSums:
    fields = {field.name: getattr(reference, field.name) for field in dataclasses.fields(reference)}
    made: BucketSums = type("Faulty", (type(reference),), methods)(**fields)
    return made


def with_noise(noise: Callable[[np.random.Generator, tuple[int, ...]], Array]) -> Callable[..., Array]:
    """Return a sampler of views with another noise than it should have, of shape (runs, buckets)."""
    return lambda self, counts, rng: self.users - np.asarray(counts) + noise(rng, np.shape(counts))


def drawn(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return rng.negative_binomial(4.0, 0.6, shape)


def only_some(places: slice) -> Callable[..., Array]:
    def noise(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        found = drawn(rng, shape)
        found[..., places] = 0
        return found

    return with_noise(noise)


def tied(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """The last bucket has the noise of the one before."""
    found = drawn(rng, shape)
    found[..., -1] = found[..., -2]
    return found


def one_bucket_smaller(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    found = drawn(rng, shape)
    found[..., -2] = rng.negative_binomial(4.0, 0.6 / 0.85, shape[:-1])
    return found


FAULTS: dict[str, tuple[BucketSums, dict[str, Any], str]] = {
    "no noise in one bucket": (HISTOGRAM, {"sample_view": only_some(slice(1, 2))}, "conformance"),
    "no noise in one of twelve": (MANY, {"sample_view": only_some(slice(9, 10))}, "each instance"),
    "two of twelve share their noise": (MANY, {"sample_view": with_noise(tied)}, "pairs"),
    "two of three share their noise": (HISTOGRAM, {"sample_view": with_noise(tied)}, "pairs"),
    "less noise in one of twelve": (MANY, {"sample_view": with_noise(one_bucket_smaller)}, "each instance"),
    "all noise 12 % less": (
        HISTOGRAM, {"sample_view": with_noise(lambda rng, shape: rng.negative_binomial(3.1, 0.6, shape))},
        "conformance"),
    "one seed for all runs": (
        HISTOGRAM, {"sample_view": with_noise(lambda rng, shape: drawn(np.random.default_rng(1), shape))},
        "repeated"),
    "negative ones mirrored": (HISTOGRAM, {"analyze": lambda self, view: np.abs(12 - np.asarray(view))}, "conformance"),
    "the last of equals": (
        SELECTION, {"analyze": lambda self, view: self.buckets - 1 - np.argmax(self.estimates(view)[..., ::-1], -1)},
        "conformance"),
    "ties at zero go to the first": (
        SELECTION, {"analyze": lambda self, view: np.argmax(np.maximum(self.estimates(view), 0.0), -1)}, "conformance"),
}  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("name", FAULTS)
def test_the_fault_is_caught_by_the_check_that_should(name: str) -> None:
    reference, methods, check = FAULTS[name]
    found = audited(reference, outputs(faulty(reference, **methods)), 1_000)
    assert any(each.startswith(check) for each in found), found


@pytest.mark.long
def test_messages_that_are_not_shuffled_are_seen() -> None:
    kept = own_buckets(HISTOGRAM, aggregated=True, shuffler=lambda messages, rng: messages.symbols)
    assert any(each.startswith("message") for each in audited(HISTOGRAM, kept, 150))


def one_noise(self: BucketSums, values: Array, rng: np.random.Generator) -> UserMessages:
    """All users draw the same noise."""
    one = rng.negative_binomial(4.0 / self.users, 0.6, self.buckets)
    counts = [(np.asarray(values) != bucket) + one[bucket] for bucket in range(self.buckets)]
    users = [np.repeat(np.arange(self.users), count) for count in counts]
    return tagged([UserMessages(np.ones(who.size, dtype=np.int64), who) for who in users])


@pytest.mark.long
def test_users_who_share_their_randomness_are_seen() -> None:
    shared = own_buckets(faulty(HISTOGRAM, randomize=one_noise), aggregated=True)
    assert {"common randomness"} & audited(HISTOGRAM, shared, 150)


@pytest.mark.parametrize(
    ("reference", "run"),
    [
        (HISTOGRAM, lambda values, rng: np.bincount(values, minlength=3).astype(float)),
        (SELECTION, lambda values, rng: int(np.argmax(np.bincount(values, minlength=3)))),
    ],
)
def test_code_from_elsewhere_that_publishes_the_truth_violates_its_claim(reference: Any, run: Any) -> None:
    report = audit_protocol(reference, (1, 1e-3), implementation=run, trials=200, level=0.05)
    assert {"conformance"} <= {result.check.split()[0] for result in report.violations}
    assert any("which are what the adversary sees" in each for each in report.limits.not_tested)


def test_a_claim_is_tested_on_both_buckets_that_change() -> None:
    leak = outputs(faulty(HISTOGRAM, sample_view=only_some(slice(0, 2))))
    report = audit_protocol(HISTOGRAM, (0.5, 0.2), implementation=leak, trials=2_000, level=0.05)
    assert any(result.check.startswith("privacy of the view") for result in report.violations)


def test_few_users_have_fewer_datasets_and_other_protocols_are_refused() -> None:
    one = bucket_subject(Histogram(NegativeBinomial(1, 4.0, 0.4, estimate="under"), 2))
    assert [dataset.inputs.tolist() for dataset in one.datasets] == [[0], [1]]
    assert isinstance(own_buckets(HISTOGRAM), Implementation)
    with pytest.raises(TypeError, match="must be a Histogram or a Selection"):
        bucket_subject(NOISE)  # type: ignore[arg-type]
