"""`python -m dpverify` is the command line, and so is the script `dpverify`."""

import gc
import os
import sys
from collections.abc import MutableMapping, Sequence

from protocols.classes.optional import MissingPackageError, needing

__all__ = ["main", "spare_threads"]

_THREADS = ("OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS")
_SMALL = frozenset(
    ("account", "amplify", "budget", "certify", "crowd", "front", "least", "means", "plan", "rappor", "serve", "spend")
)
"""What multiplies small matrices only: classifiers and mechanisms under audit may have larger ones."""


def spare_threads(words: Sequence[str], environment: MutableMapping[str, str]) -> None:
    """Let the linear algebra of a command use one thread, unless its user has said how many.

    The matrices of an account are small: threads for them wait for one another, the longer the busier the machine.

    - words: What was typed.
    - environment: Of the process; numpy reads it when it is first imported.
    """
    if not any(name in environment for name in _THREADS) and _SMALL.intersection(words[:1]):
        environment["OPENBLAS_NUM_THREADS"] = "1"


def main() -> int:
    """Run the command line on the words that were typed, and return its exit status."""
    spare_threads(sys.argv[1:], os.environ)
    if _SMALL.intersection(sys.argv[1:2]):
        gc.set_threshold(50_000)  # what is imported stays: to look for garbage in it takes a tenth of a plan's time
    try:
        with needing("The command line"):
            from dpverify import cli
    except MissingPackageError as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:  # before there is a command line that would say so
        print("Interrupted.", file=sys.stderr)
        return 130
    return cli.main()


if __name__ == "__main__":
    sys.exit(main())
