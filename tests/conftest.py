"""What all tests share: no test fails for the machine's speed, and a build is reproducible."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

from tests.browser import started

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from dpverify.demo import DemoResult

# A developer's runs draw new examples each time; a build (CI=true) always draws the same.
settings.register_profile(
    "project", deadline=None, max_examples=40, derandomize=bool(os.environ.get("CI")), print_blob=True
)
settings.load_profile("project")


@functools.cache
def cached_plan(*arguments: Any, **options: Any) -> Any:
    """Return a plan, made once for all tests that ask for the same."""
    from dpverify.planning.plan import plan

    return plan(*arguments, **options)


@pytest.fixture(scope="session")
def small_demo() -> DemoResult:
    """A run of the demonstration that is quick, and shared by the tests of the library and of the command."""
    from dpverify import demo

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(demo, "plan", cached_plan)
        patch.setattr(demo, "_COUNT_STEP", 100)  # one search per bitsum
        return demo.run(repeats=1, instances=256)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Return a headless Chromium for `tests.browser.opened`; tests that need it are skipped where there is none."""
    with started() as running:
        yield running
