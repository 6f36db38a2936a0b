"""A client as a program: it reads users, one a line, and writes what they send."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dpverify.audit.running.target import TargetError
from protocols.classes.frozen import dataclass

__all__ = ["Program"]

_SHOWN = 200
"""Characters of what a program wrote that an error shows."""


@dataclass(frozen=True)
class Program:
    """A client in any language, which is started with a manifest's path and its hash behind its own words.

    It reads lines until there are no more, each one a JSON object: `query`, `value`, and where they are given `entropy`
    as hexadecimal digits (in place of the operating system's) and `memory` (what an earlier client of that user had).
    Each line is another user. It writes a JSON object to a line for each of them, in order: `upload` as hexadecimal
    digits, or `refused` with a sentence; `memory` afterwards if it was given one; and, if it likes, `nanoseconds`,
    which the upload took.

    - command: As in a shell, such as `node client.js`; it is run without one.
    - manifest: A file with the manifest.
    - timeout: Seconds for the users of one call.
    """

    command: str
    manifest: Path
    hash: str
    timeout: float = 120.0

    def replies(self, users: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Return what a new process answers to some users.

        Raises TargetError if it cannot be started, fails, takes too long, or does not answer each line with an upload
        or a refusal.
        """
        lines = "".join(json.dumps(user) + "\n" for user in users)
        try:
            words = shlex.split(self.command)
        except ValueError as error:
            raise TargetError(f"client={self.command!r} must be a command as in a shell: {error}.") from None
        if not words:  # the manifest would be run
            raise TargetError(f"client={self.command!r} must name the program that starts the client.")
        words += [str(self.manifest), self.hash]
        try:
            done = subprocess.run(
                words, input=lines, capture_output=True, encoding="utf-8", timeout=self.timeout, check=False
            )
        except subprocess.TimeoutExpired:
            raise TargetError(
                f"client={self.command!r} took over {self.timeout:g} seconds for {len(users):,} users."
            ) from None
        except (OSError, UnicodeDecodeError) as error:
            raise TargetError(f"client={self.command!r} cannot be run: {error}.") from None
        if done.returncode:
            last = done.stderr.strip().splitlines()[-1:] or ["no message"]
            raise TargetError(f"client={self.command!r} ended with {done.returncode}: {last[0][:_SHOWN]}")
        written = done.stdout.splitlines()
        if len(written) != len(users):
            raise TargetError(f"client={self.command!r} wrote {len(written)} lines, but must write {len(users)}.")
        return [self._read(line) for line in written]

    def _read(self, line: str) -> dict[str, Any]:
        try:
            reply = json.loads(line)
            bytes.fromhex(reply.get("upload", ""))
            if ("upload" in reply) != ("refused" in reply):
                return dict(reply)
        except (AttributeError, RecursionError, TypeError, ValueError):
            pass
        raise TargetError(
            f"client={self.command!r} wrote {line[:_SHOWN]!r}, but must write a JSON object with either 'upload' as "
            "hexadecimal digits or 'refused'."
        )
