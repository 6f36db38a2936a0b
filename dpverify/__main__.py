"""`python -m dpverify` is the command line, and so is the script `dpverify`."""

import sys

from dpverify.optional import MissingPackageError, needing

__all__ = ["main"]


def main() -> int:
    """Run the command line on the words that were typed, and return its exit status."""
    try:
        with needing("The command line"):
            from dpverify import cli
    except MissingPackageError as error:
        print(error, file=sys.stderr)
        return 2
    return cli.main()


if __name__ == "__main__":
    sys.exit(main())
