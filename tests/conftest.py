"""What all tests share: no test fails for the machine's speed, and a build is reproducible."""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from dpverify.demo import DemoResult

# A developer's runs draw new examples each time; a build (CI=true) always draws the same.
settings.register_profile("project", deadline=None, derandomize=bool(os.environ.get("CI")), print_blob=True)
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
