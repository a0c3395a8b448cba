"""What lets a process into a run."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import Any

from outrider import _wire_pb2 as wire
from outrider.tls import TLS


@dataclass(frozen=True)
class Key:
    """Names one run among all and opens it. Pickles with every `Run`.

    Attributes:
        name: Unique among the runs of a Ray namespace.
        id: 16 random bytes in hex; a run of the same name later has another.
        token: 16 random bytes in hex, which whoever asks must show.
        tls: Certificates for what goes from host to host; None: in the clear.
    """

    name: str
    id: str
    token: str = field(repr=False)
    tls: TLS | None = None

    @staticmethod
    def made(name: str, tls: TLS | None) -> Key:
        """The key of a run that begins here."""
        return Key(name, secrets.token_hex(16), secrets.token_hex(16), tls)

    def to_wire(self) -> Any:
        """The wire's `Run`, with this host's certificates.

        Raises:
            ConfigError: A file of `tls` cannot be read here.
        """
        return wire.Run(
            name=self.name, id=self.id, token=self.token, tls=None if self.tls is None else self.tls.to_wire()
        )
