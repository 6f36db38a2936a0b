"""A look inside: each fault is found with its line, and what is right gives no finding."""

import inspect
import math
import os
import random
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpverify.audit.inside.findings import Finding, findings
from dpverify.audit.running.target import Target, target_of
from dpverify.audit.subjects.libraries import library_target
from dpverify.guarantee import Budget
from dpverify.statistics.bounds.claims import CurveClaim, GaussianDP
from dpverify.statistics.bounds.renyi_claims import ConcentratedDP, RenyiDP
from tests.audit.inside import targets

INPUTS = [np.zeros(5), np.eye(5)[0]]


def looked(
    target: Any, claim: Any = (1.1, 0.0), seed: int = 0, inputs: Sequence[NDArray[Any]] = INPUTS
) -> tuple[list[Finding], str]:
    claimed = claim if claim is None or isinstance(claim, CurveClaim) else Budget.of(claim, "claim")
    rows, recorded = findings(target_of(target), inputs, [(0, 1)], claimed, 1e-4, seed)
    return [Finding(*row) for row in rows], recorded


@pytest.mark.long
@pytest.mark.parametrize("target", targets.FAULTS, ids=lambda target: target.__name__)
def test_a_fault_is_found_with_its_line(target: Callable[..., Any]) -> None:
    kind, refutes = targets.FAULTS[target]
    found, _ = looked(target)
    of_kind = [one for one in found if one.kind == kind]
    assert [one.refutes for one in of_kind] == [refutes], found
    source, first = inspect.getsourcelines(target)
    file, _, line = of_kind[0].place.rpartition(":")
    assert file.endswith("targets.py")
    assert first <= int(line) < first + len(source)
    assert {one.kind for one in found} <= {kind, "floats"} | ({"source"} if target is targets.seed_of_all else set())


@pytest.mark.long
@pytest.mark.parametrize("target", targets.RECORDED, ids=lambda target: target.__name__)
def test_a_fault_of_a_kind_that_recording_found_in_libraries_is_found(target: Callable[..., Any]) -> None:
    first, second, kind, refutes = targets.RECORDED[target]
    found, _ = looked(target, inputs=[np.array(first), np.array(second)])
    assert [one.refutes for one in found if one.kind == kind] == [refutes], found
    back, _ = looked(target, inputs=[np.array(second), np.array(first)])
    assert [one.refutes for one in back if one.kind == kind] == [refutes], back


@pytest.mark.long
@pytest.mark.parametrize("target", targets.CORRECT, ids=lambda target: target.__name__)
def test_what_is_right_gives_no_finding(target: Callable[..., Any]) -> None:
    for seed in range(3):
        assert looked(target, seed=seed)[0] == []


@pytest.mark.parametrize("target", targets.BRING_THEIR_OWN, ids=lambda target: target.__name__)
def test_targets_may_bring_their_own_randomness(target: Callable[..., Any]) -> None:
    found, recorded = looked(library_target(target))
    assert found == []
    assert "draws in 40 runs" in recorded


def test_gaussian_noise_is_held_to_its_exact_delta() -> None:
    def noisy(x: Any, rng: Any) -> Any:
        return x.sum() + rng.normal(scale=3.73)

    # The least sigma of (1, 1e-5) is 3.7306.
    assert [one.kind for one in looked(noisy, (1.0, 1e-5))[0]] == ["scale", "floats"]
    assert [one.kind for one in looked(noisy, (1.0, 1.01e-5))[0]] == ["floats"]
    _, recorded = looked(noisy, None)
    assert "mu 0.2681 of Gaussian noise" in recorded


@pytest.mark.long
def test_claims_in_other_terms_are_refuted_a_thousandth_beyond_what_is_true() -> None:
    def normal(x: Any, rng: Any) -> Any:
        return x.sum() + rng.normal(scale=2.0)

    def both(x: Any, rng: Any) -> Any:
        return x.sum() + rng.laplace(scale=2.0), x.sum() + rng.normal(scale=2.0)

    divergence = (math.log(2 / 3) + np.logaddexp(0.5, -1.0 - math.log(2))) + 0.25  # of order 2
    for target, claim, true in (
        (normal, GaussianDP, 0.5),
        (normal, ConcentratedDP, 0.125),
        (normal, partial(RenyiDP, 3.0), 0.375),
        (both, partial(RenyiDP, 2.0), divergence),
    ):
        assert [one.kind for one in looked(target, claim(1.001 * true))[0]] == ["floats"]
        found = looked(target, claim(true / 1.001))[0]
        assert [(one.kind, one.refutes) for one in found] == [("scale", True), ("floats", False)]
    assert [one.kind for one in looked(lambda x, rng: x.sum(), GaussianDP(1.0))[0] if one.refutes] == ["bare"]


def test_native_code_is_said_to_hide_its_draws_and_its_unvarying_bits_are_found() -> None:
    # As native code does: bytes of the system that nothing in Python sees.
    descriptor = os.open("/dev/urandom", os.O_RDONLY)

    def bits(x: Any) -> bytes:
        """Randomized response on 16 bits, the last of which is forgotten (opendp#2707)."""
        noise = np.unpackbits(np.frombuffer(os.read(descriptor, 32), np.uint8)).reshape(2, -1)[:, :16].all(axis=0)
        noise[-1] = False
        return bytes(np.bitwise_xor(np.array(x, np.uint8), np.packbits(noise, bitorder="little")).tolist())

    inputs = [np.array([0, 0], np.uint8), np.array([1, 0], np.uint8)]
    try:
        rows, recorded = findings(library_target(bits), inputs, [(0, 1)], Budget.of((2.2, 0.0), "claim"), 1e-4)
    finally:
        os.close(descriptor)
    assert recorded == "nothing was recorded: draws, if any, are outside Python"
    assert [(kind, p_value) for kind, _, _, p_value in rows] == [("bare", 1.0)]
    assert rows[0][1].startswith("bit 7 of byte 1 of output never varies, and tells an input from one with bit 7 of")


def test_a_target_without_noise_is_refuted_and_a_constant_is_not() -> None:
    found, _ = looked(lambda x, rng: x.sum())
    assert [(one.kind, one.refutes) for one in found] == [("bare", True)]
    assert looked(lambda x, rng: "nothing")[0] == []


def test_batches_are_looked_into_and_randomness_goes_on_where_it_was() -> None:
    before = random.getstate(), np.random.get_state()[1].tolist(), np.random.default_rng  # noqa: NPY002
    target = Target(lambda x, rng, runs: x.sum() + rng.laplace(scale=0.5, size=runs), batch=True)
    assert [one.kind for one in looked(target)[0]] == ["scale", "floats"]
    looked(targets.of_numpy)
    assert (random.getstate(), np.random.get_state()[1].tolist(), np.random.default_rng) == before  # noqa: NPY002


def test_a_finding_says_whether_it_is_a_hint() -> None:
    hint, proof = Finding("unused", "nothing", "a.py:1"), Finding("scale", "small", "a.py:2", 0.0)
    assert str(hint) == "unused (a hint): nothing [a.py:1]"
    assert str(proof) == "scale: small [a.py:2]"
