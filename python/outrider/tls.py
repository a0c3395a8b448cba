"""Certificates of a run: what its sidecars show each other between hosts."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from outrider import _wire_pb2 as wire
from outrider.errors import ConfigError

Pem = str | Path | bytes
"""PEM: its bytes, which travel with the run, or the path of a file, which is read on each host that takes part."""


@dataclass(frozen=True)
class TLS:
    """Has everything that a run sends from host to host encrypted, and sent only to hosts whose certificate the run's `ca` has signed.

    Whoever asks shows the run's token, over such a connection. On one host nothing is encrypted: nothing leaves it. Give paths where
    each host has a key of its own; the bytes of a key are in every pickle of the run.

    Attributes:
        ca: Certificates that sign those of the hosts.
        cert: This host's certificate for servers, with those between it and `ca` after it.
        key: Of `cert`, without a passphrase.
        name: A name that the certificates of all hosts carry; empty: each carries the IP address by which Ray knows its host.
    """

    ca: Pem
    cert: Pem
    key: Pem = field(repr=False)
    name: str = ""

    def __post_init__(self) -> None:
        """Refuses what is neither path nor bytes (ConfigError)."""
        for one in fields(self):
            value = getattr(self, one.name)
            kinds = (str,) if one.name == "name" else (str, Path, bytes)
            if not isinstance(value, kinds):
                raise ConfigError(
                    f"outrider: tls: {one.name} is of type {type(value).__name__}; give {' or '.join(kind.__name__ for kind in kinds)}"
                )

    def to_wire(self) -> Any:
        """The wire's `Tls`, of this host.

        Raises:
            ConfigError: A file cannot be read here.
        """
        return wire.Tls(
            ca=_read("ca", self.ca), cert=_read("cert", self.cert), key=_read("key", self.key), name=self.name
        )


def _read(what: str, pem: Pem) -> bytes:
    if isinstance(pem, bytes):
        return pem
    try:
        return Path(pem).read_bytes()
    except OSError as error:
        raise ConfigError(
            f"outrider: tls: {what}={str(pem)!r} cannot be read on this host: {error.strerror}; put the file there, or give its bytes"
        ) from error
