"""Finished trials on disk: written atomically, and refused by an audit with another configuration."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Checkpoint", "CheckpointError"]

_FORMAT = "dpverify audit checkpoint 1"

Key = tuple[int, int]
"""A block of trials: the index of the dataset, and of the block."""


class CheckpointError(ValueError):
    """A checkpoint cannot be read, written, or belongs to another audit; the file on disk is left as it was."""


@dataclass(frozen=True)
class Checkpoint:
    """The file that keeps the finished blocks of one audit.

    Parameters
    ----------
    path : Path
        The file; it need not exist.
    configuration : mapping of str to str
        All that determines the outputs; its hash is stored and compared.
    """

    path: Path
    configuration: Mapping[str, str]

    @property
    def digest(self) -> str:
        """The SHA-256 of the configuration."""
        text = json.dumps([_FORMAT, dict(self.configuration)], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def load(self) -> dict[Key, NDArray[np.float64]]:
        """Return the blocks on disk; none if there is no file.

        Raises
        ------
        CheckpointError
            If the file is no checkpoint, is damaged, or is that of another configuration.
        """
        if not self.path.exists():
            return {}
        try:
            with np.load(self.path, allow_pickle=False) as stored:
                header = json.loads(str(stored["header"]))
                blocks = {
                    (int(stream), int(block)): stored[f"{stream}_{block}"] for stream, block in stored["keys"].tolist()
                }
            digest, configuration = header["digest"], header["configuration"]
        except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
            raise CheckpointError(
                f"checkpoint={str(self.path)!r} is damaged or no checkpoint of an audit ({type(error).__name__}); it "
                "is left as it is: choose another file."
            ) from None
        if digest != self.digest:
            names = {*self.configuration, *configuration}
            differing = sorted(name for name in names if self.configuration.get(name) != configuration.get(name))
            raise CheckpointError(
                f"checkpoint={str(self.path)!r} belongs to an audit with another {', '.join(differing) or 'format'}; "
                "it is left as it is: choose another file, or the arguments of that audit."
            )
        return blocks

    def save(self, blocks: Mapping[Key, NDArray[np.float64]]) -> None:
        """Replace the file by these blocks: at any moment it holds either the old ones or all new ones.

        Raises
        ------
        CheckpointError
            If they cannot be written, for instance on a full disk; an earlier file is intact.
        """
        header = json.dumps({"digest": self.digest, "configuration": dict(self.configuration)}, sort_keys=True)
        arrays: dict[str, Any] = {f"{stream}_{block}": outputs for (stream, block), outputs in blocks.items()}
        keys = np.array(sorted(blocks), dtype=np.int64).reshape(-1, 2)
        temporary: str | None = None
        try:
            descriptor, temporary = tempfile.mkstemp(dir=self.path.parent, prefix=f".{self.path.name}.", suffix=".part")
            with os.fdopen(descriptor, "wb") as file:
                np.savez(file, header=np.array(header), keys=keys, **arrays)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, self.path)
            temporary = None
            _sync_folder(self.path.parent)
        except OSError as error:
            kept = "the earlier checkpoint is intact" if self.path.exists() else "there is none yet"
            raise CheckpointError(
                f"checkpoint={str(self.path)!r} cannot be written: {error.strerror or error}; {kept}."
            ) from error
        finally:
            if temporary is not None:
                Path(temporary).unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    """Make the renaming itself survive a power failure, where the system can."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
