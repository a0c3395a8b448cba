"""Where a run's owner is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


class Locator(Protocol):
    """Finds a run's owner. Pickles."""

    @property
    def hint(self) -> str:
        """host:port@socket where the owner was last known; the sidecar asks for `address` when nobody answers there."""

    def address(self) -> str:
        """host:port@socket of the owner by Ray's directory; called in a thread of its own.

        Raises:
            OwnerLost: There will be none any more: whoever looks for it stops looking.
            Exception: Any other: it cannot be found at this time.
        """

    def end(self) -> None:
        """The run has been closed: ends what was started for it."""


@dataclass(frozen=True)
class Static:
    """An owner in a process that never moves."""

    at: str

    @property
    def hint(self) -> str:
        """The one address."""
        return self.at

    def address(self) -> str:
        """The one address."""
        return self.at

    def end(self) -> None:
        """Nothing was started."""
