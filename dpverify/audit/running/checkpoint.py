"""Finished trials on disk: written atomically, and refused if damaged or by an audit with another configuration."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.audit.running.packed import Packed
from dpverify.files import replaced
from protocols.classes.frozen import dataclass

__all__ = ["Checkpoint", "CheckpointError"]

_FORMAT = "dpverify audit checkpoint 2"

_NAMED = 4
"""How many of the things in which two configurations differ a message names."""

Key = tuple[int, int]
"""A block of trials: the index of the dataset, and of the block."""


class CheckpointError(ValueError):
    """A checkpoint cannot be read, written, or belongs to another audit; the file on disk is left as it was."""


@dataclass(frozen=True)
class Checkpoint:
    """The file that keeps the finished blocks of one audit.

    - path: The file; it need not exist.
    - configuration: All that determines the outputs; its hash is stored and compared.
    """

    path: Path
    configuration: Mapping[str, str]

    @property
    def digest(self) -> str:
        """The SHA-256 of the configuration."""
        text = json.dumps([_FORMAT, dict(self.configuration)], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def load(self) -> dict[Key, Packed]:
        """Return the blocks on disk; none if there is no file.

        Raises CheckpointError if the file is no checkpoint, is damaged, or is that of another configuration.
        """
        if not self.path.exists():
            return {}
        try:
            with np.load(self.path, allow_pickle=False) as stored:
                header = json.loads(str(stored["header"]))
                keys = [(int(stream), int(block)) for stream, block in stored["keys"].tolist()]
                blocks, found = dict[Key, Packed](), hashlib.sha256()
                for stream, block in keys:  # they were written in order
                    outputs = stored[f"{stream}_{block}"]
                    _digest_block(found, (stream, block), outputs)
                    blocks[stream, block] = Packed.of(outputs)
            digest, configuration, content = header["digest"], dict(header["configuration"]), header["content"]
        except Exception as error:  # a damaged archive raises what it likes
            raise self.refused(f"is damaged or no checkpoint of an audit ({type(error).__name__})") from None
        if digest != self.digest:
            raise self.refused(f"belongs to an audit with another {self._differing(configuration)}")
        if content != found.hexdigest():
            raise self.refused("is damaged: its blocks are not those that were written")
        return blocks

    def refused(self, what: str) -> CheckpointError:
        """Return the error for a file that is not used and not replaced; `what` is what it is or does."""
        return CheckpointError(
            f"checkpoint={str(self.path)!r} {what}; it is left as it is: choose another file, or the arguments and the "
            "code of that audit."
        )

    def _differing(self, configuration: Mapping[str, str]) -> str:
        names = {*self.configuration, *configuration}
        differing = sorted(name for name in names if self.configuration.get(name) != configuration.get(name))
        more = f" and {len(differing) - _NAMED} more" if len(differing) > _NAMED else ""
        return ", ".join(differing[:_NAMED]) + more or "format"

    def save(self, blocks: Mapping[Key, Packed]) -> None:
        """Replace the file by these blocks: at any moment it holds either the old ones or all new ones.

        Raises CheckpointError if they cannot be written, for instance on a full disk; an earlier file is intact.
        """
        content = hashlib.sha256()
        for key in sorted(blocks):
            _digest_block(content, key, blocks[key].array())
        contents = {
            "digest": self.digest,
            "configuration": dict(self.configuration),
            "content": content.hexdigest(),
        }
        header = json.dumps(contents, sort_keys=True)
        keys = np.array(sorted(blocks), dtype=np.int64).reshape(-1, 2)
        try:
            with replaced(self.path, durable=True) as part, zipfile.ZipFile(part, "w") as archive:
                # as numpy.savez does, but one block at a time
                _write(archive, "header", np.array(header))
                _write(archive, "keys", keys)
                for stream, block in sorted(blocks):
                    _write(archive, f"{stream}_{block}", blocks[stream, block].array())
        except OSError as error:
            kept = "the earlier checkpoint is intact" if self.path.exists() else "there is none yet"
            raise CheckpointError(
                f"checkpoint={str(self.path)!r} cannot be written: {error.strerror or error}; {kept}."
            ) from error


def _write(archive: zipfile.ZipFile, name: str, array: NDArray[Any]) -> None:
    with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
        np.lib.format.write_array(entry, array, allow_pickle=False)


def _digest_block(digest: Any, key: Key, outputs: NDArray[np.float64]) -> None:
    digest.update(f"{key} {outputs.dtype} {outputs.shape} ".encode())
    digest.update(outputs.tobytes())
