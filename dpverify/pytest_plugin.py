"""The pytest plug-in: audits that take their claim from a marker, and their seed and trials from the command line.

Nothing of this package is imported before a test asks for one of the fixtures: other suites pay for this file alone.
"""

from __future__ import annotations

import functools
import math
import os
import shlex
from collections.abc import Callable
from numbers import Real
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from dpverify.audit.outcome import AuditReport

__all__ = ["assert_consistent", "assert_private", "audit_options"]

_FIXTURES = {"assert_consistent", "assert_private", "audit_options"}
_CLAIMS = {"epsilon", "claim"}
_MARKER = (
    "private(epsilon, delta=0, claim=None, **options): what the fixture assert_private audits for; options are those "
    "of dpverify.testing.assert_private, and inner marks go before outer ones"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--dp-seed` and `--dp-trials`."""
    group = parser.getgroup("dpverify", "audits of differential privacy")
    group.addoption("--dp-seed", type=int, metavar="N", help="the seed of all audits, whatever the tests say")
    group.addoption(
        "--dp-trials",
        type=int,
        metavar="N",
        help="runs on each input in all audits; with fewer than a test asks for it is skipped where it is undecided",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line("markers", _MARKER)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse tests that are marked with a claim and ask for no audit: they would be green for nothing."""
    for item in items:
        # A mark of this name that claims nothing may be another project's.
        if _CLAIMS & _said(item).keys() and not _FIXTURES & set(getattr(item, "fixturenames", _FIXTURES)):
            raise pytest.UsageError(f"{item.nodeid} is marked private, and must ask for the fixture assert_private.")


def _said(item: pytest.Item) -> dict[str, Any]:
    """Return what the marks of a test say: what an inner one leaves open, an outer one does."""
    said: dict[str, Any] = {}
    for mark in item.iter_markers("private"):
        numbers = mark.args if all(isinstance(value, Real) for value in mark.args) else ()
        own: dict[str, Any] = dict(zip(("epsilon", "delta"), numbers, strict=False))
        own |= mark.kwargs
        if _CLAIMS & said.keys():
            own = {name: value for name, value in own.items() if name not in _CLAIMS | {"delta"}}
        said = own | said
    return said


class _Audits:
    """What a test is told by its marks and the command line."""

    def __init__(self, request: pytest.FixtureRequest) -> None:
        self._node, self._config = request.node, request.config
        self._said = _said(request.node)
        epsilon, delta = self._said.pop("epsilon", None), self._said.pop("delta", 0)
        self.claim = self._said.pop("claim", None if epsilon is None else (epsilon, delta))
        forced = {name: self._config.getoption(f"dp_{name}") for name in ("seed", "trials")}
        self._forced = {name: value for name, value in forced.items() if value is not None}

    def options(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return options: those of the command line before given ones before those of marks."""
        return self._said | given | self._forced

    def asserted(self, assertion: Callable[..., AuditReport], options: dict[str, Any]) -> AuditReport:
        """Make an assertion; skip what is undecided with fewer trials than the test itself asks for."""
        __tracebackhide__ = True
        told, own = self.options(options), self._said | options
        # Without a number of its own a test asks for as many as it takes.
        fewer = "trials" in self._forced and told["trials"] < own.get("trials", math.inf)
        allowed = told.pop("allow_undecided", False)
        report = assertion(
            record=lambda *pair: self._node.user_properties.append(pair),  # the fixture record_property may warn
            repeat=self._repeat(told.get("seed", 0)),
            allow_undecided=allowed or fewer,
            **told,
        )
        if report.verdict.value == "undecided" and not allowed:
            pytest.skip(report.statement)
        return report

    def _repeat(self, seed: int) -> str:
        path, *names = self._node.nodeid.split("::")
        path = os.path.relpath(self._config.rootpath / path, self._config.invocation_params.dir)
        forced = {"seed": seed} | self._forced
        return shlex.join(
            ["pytest", "::".join([path, *names]), *(f"--dp-{name}={value}" for name, value in forced.items())]
        )


@pytest.fixture
def _audits(request: pytest.FixtureRequest) -> _Audits:
    return _Audits(request)


@pytest.fixture
def audit_options(_audits: _Audits) -> dict[str, Any]:
    """Return the options of marks and command line, for any audit: `audit_protocol(..., **audit_options)`."""
    own = ("allow_undecided", "exceptions", "inside", "resolution")
    return {name: value for name, value in _audits.options({}).items() if name not in own}


@pytest.fixture
def assert_private(_audits: _Audits) -> Callable[..., AuditReport]:
    """Return `dpverify.testing.assert_private(mechanism, inputs)`, for the claim and with the options of marks."""

    def asserted(mechanism: Any, inputs: Any, claim: Any = None, **options: Any) -> AuditReport:
        __tracebackhide__ = True
        from dpverify.testing import assert_private as function

        claim = _audits.claim if claim is None else claim
        if claim is None:
            raise ValueError("claim=None must be a claim in a test that has no mark private(epsilon, delta).")
        return _audits.asserted(functools.partial(function, mechanism, claim, inputs), options)

    return asserted


@pytest.fixture
def assert_consistent(_audits: _Audits) -> Callable[..., AuditReport]:
    """Return `dpverify.testing.assert_consistent(report)` of any audit, its properties recorded."""

    def asserted(report: AuditReport, **options: Any) -> AuditReport:
        __tracebackhide__ = True
        from dpverify.testing import assert_consistent as function

        def assertion(*, record: Any, repeat: str, allow_undecided: bool, **_: Any) -> AuditReport:
            __tracebackhide__ = True
            return function(report, record=record, repeat=repeat, allow_undecided=allow_undecided)

        return _audits.asserted(assertion, options)

    return asserted
