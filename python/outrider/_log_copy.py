"""A trainer process's copy of what its rank's sidecar keeps: it outlives that sidecar."""

from __future__ import annotations

from typing import Any

from outrider import _wire_pb2 as wire


class LogCopy:
    """The run's base and the entries of its commit log since, as the sidecar of one rank gave them.

    It is as long as that log: a checkpoint that is said to be saved shortens both. Make it with `of`.
    """

    def __init__(self, key: tuple[str, str, int]) -> None:
        self._key = key
        # Replaced as a whole, or added to at the end: whoever reads it sees a log as it was at some time.
        self._held: tuple[bytes, list[wire.Entry]] | None = None

    @staticmethod
    def of(run_id: str, role: str, rank: int) -> LogCopy:
        """The copy that this process has for a rank, or an empty one."""
        key = run_id, role, rank
        return _copies.setdefault(key, LogCopy(key))

    def take(self, frame: Any) -> None:
        """Follows the sidecar's log; from the reading thread."""
        match frame.WhichOneof("body"):
            case "set_base":
                self._held = frame.set_base.base, list(frame.set_base.log)
            case "append" if self._held is not None:
                base, log = self._held
                entry = frame.append.entry
                if log and log[-1].index >= entry.index:  # by a later life of the owner
                    self._held = base, [*(one for one in log if one.index < entry.index), entry]
                else:
                    log.append(entry)

    def bring(self, role: Any) -> None:
        """Puts the copy into what a rank joins with."""
        if self._held is not None:
            role.base, log = self._held
            role.log.extend(log)
            role.copied = True

    def forget(self) -> None:
        """Lets go of the copy: the rank has left in order."""
        if _copies.get(self._key) is self:
            del _copies[self._key]


_copies: dict[tuple[str, str, int], LogCopy] = {}
