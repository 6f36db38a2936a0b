"""The commands `collect`, `collected` and `release`: uploads taken once, counted, and released as a shuffled batch."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpverify.cli.options import integer
from dpverify.cli.output import print_result
from protocols.classes.optional import needing

if TYPE_CHECKING:
    from dpverify.collection.store import Store

__all__ = ["register"]

ManifestFile = Annotated[Path, typer.Argument(metavar="MANIFEST", help="The file that clients read.")]
Hash = Annotated[str, typer.Option("--hash", help="Its SHA-256, from where clients have it from.")]
_FOLDER = "The batch's folder, which has its name"
Folder = Annotated[Path, typer.Option("--store", help=f"{_FOLDER}; a new one is made.")]
Collected = Annotated[Path, typer.Option("--store", help=f"{_FOLDER}, as `dpverify collect` made it.")]


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    app.command()(collect)
    app.command()(collected)
    app.command()(release)


def _opened(manifest: Path, hash: str, folder: Path, *, new: bool = True) -> Store:
    from dpverify.collection.manifest import Manifest
    from dpverify.collection.store import Store

    read = Manifest.read(manifest)
    if hash != read.hash:
        raise ValueError(f"hash={hash!r} must be the SHA-256 of {str(manifest)!r}, in 64 digits and letters of 0-9a-f.")
    stored = folder / "uploads.db"
    if not new and not (stored.is_file() and stored.stat().st_size):
        raise ValueError(f"folder={str(folder)!r} must be that of a batch that `dpverify collect` took.")
    return Store(folder, read.data, hash)


def collect(
    manifest: ManifestFile,
    hash: Hash,
    folder: Folder,
    port: Annotated[int, integer(within="[0, 65535]", help="On this machine only; 0 takes any that is free.")] = 8572,
) -> None:
    """Take the uploads of one batch over HTTP, each once. Ctrl-C ends it.

    PUT /uploads/BATCH/KEY, where the key is 128 random bits as 32 digits and letters, chosen by the client: whoever is
    not sure that an upload arrived sends it again with the same key. Nothing about who sent it, or when, is stored. An
    answer of 204 is given when it is on the disk. `dpverify collected` says how many have arrived.

    It is one operator's part: it sees addresses and uploads together, and takes any number of uploads from anybody. In
    production a relay of another operator stands before it (Oblivious HTTP), and tokens tell users.
    """
    with needing("The service"):
        from dpverify.serve.uploads import run

    with closing(_opened(manifest, hash, folder)) as store:
        run(store, port, lambda address: typer.echo(f"{address} (Ctrl-C ends it)"))


def collected(manifest: ManifestFile, hash: Hash, folder: Collected) -> None:
    """Show how many uploads have arrived, and what can be released.

    It may run beside `dpverify collect`, and reads numbers of uploads alone. "lacks 40" are missing to the honest users
    that the guarantee counts on; between these and all users a release takes --least, which says who is honest.
    """
    with closing(_opened(manifest, hash, folder, new=False)) as store:
        print_result(store.collected())


def release(
    manifest: ManifestFile,
    query: Annotated[str, typer.Argument(help="Its name.")],
    hash: Hash,
    folder: Collected,
    least: Annotated[
        int | None,
        integer(
            within="[1, inf)",
            help="From so many uploads on, not fewer than are accounted for as honest; by default all users'.",
        ),
    ] = None,
    memory: Annotated[
        int, integer(within="[1048576, inf)", help="Bytes for the messages that are put in order at a time.")
    ] = 1 << 28,
) -> None:
    """Release a query's batch, shuffled, and delete its uploads.

    There is one file for each instance, in STORE/released/PLACE, and no more uploads to this query are taken. It may
    run beside `dpverify collect`; a release that was interrupted goes on where it is asked for again.

    By default all users' uploads must be there. With --least N you say that among N uploads there are as many honest
    ones as the guarantee counts on: at most the others are not.
    """
    with closing(_opened(manifest, hash, folder, new=False)) as store:
        typer.echo(str(store.release(query, least=least, memory=memory)))
