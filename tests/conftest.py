"""What all tests share: no test fails for the machine's speed, and a build is reproducible."""

from __future__ import annotations

import os

from hypothesis import settings

# A developer's runs draw new examples each time; a build (CI=true) always draws the same.
settings.register_profile("project", deadline=None, derandomize=bool(os.environ.get("CI")), print_blob=True)
settings.load_profile("project")
