from collections.abc import Iterator

import pytest

from tests.serve.served import Served, served


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    """Return a running `dpverify serve`."""
    with served() as running:
        yield running
