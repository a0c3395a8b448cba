"""An engine apart from its workers: holds serving weights for requests that come from other processes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from outrider import _wire_pb2 as wire
from outrider._check import count, optional_text
from outrider._member import Leaves, Member, joined_to
from outrider._steps import Steps, Wait, awaiting, blocking
from outrider.errors import ConfigError

if TYPE_CHECKING:
    from outrider.run import Run


def engine_name(argument: str, value: Any) -> str:
    """Checks the name of an engine.

    Raises:
        ConfigError: No text, or an empty one.
    """
    if not isinstance(value, str) or not value:
        raise ConfigError(
            f"outrider: {argument}={value!r} names no engine; give the text that engine and workers share"
        )
    return value


def confirming(member: Member, version: int, digest: str | None) -> Steps[None]:
    """The core of `Engine.confirm` and `Worker.confirm`."""
    said = wire.Confirm(version=count("version", version, 0), digest=optional_text("digest", digest))
    yield Wait(member.ask(confirm=said))


class Engine(Leaves):
    """This process holds serving weights for workers that run elsewhere: a server behind a router. Its sidecar is up when this returns.

    It gets weights as a `Worker` with weights of its own does: `send` of an update reaches its actor, and it calls `confirm`.
    Workers that use it, `Worker(run, engine=name)`, get no work before that.

    Args:
        run: The run.
        name: What workers say that they use. Replicas behind one router share a name: work may go to any of them, so their
            workers get it when all of them have confirmed the announced version.

    Raises:
        ConfigError: No run, or no name.
        StartError: The sidecar did not come up.
        Closed: The run is over.
    """

    def __init__(self, run: Run, name: str) -> None:
        self.name = engine_name("name", name)
        self._member = Member(joined_to(run), "engine", name=self.name, engine=wire.EngineRole(name=self.name))
        self._member.listen(lambda frame, fds: None, lambda: None)

    def confirm(self, version: int, digest: str | None = None) -> None:
        """Says that this process serves these weights; from here its workers may get work again.

        Args:
            version: As given to `send`.
            digest: Of the weights, to be compared between engines and trainer.

        Raises:
            Refused: A digest other than the trainer's of that version, or a version that nobody sent.
        """
        blocking(confirming(self._member, version, digest))

    async def confirm_async(self, version: int, digest: str | None = None) -> None:
        """`confirm`, awaited."""
        await awaiting(confirming(self._member, version, digest))

    def quiet(self) -> int:
        """Says that nothing runs here any more that a worker which is gone asked for.

        Until every engine of the name has said so, or `Policy.orphan_ttl` has passed, what a lost worker ran counts against the
        places of the engine's workers, and a draining update waits for it. It counts for workers whose loss the owner has
        noticed: say it again while `run.stats().orphans` is not 0. It costs one small message.

        Returns:
            Samples that it freed.

        Raises:
            Closed: The run is over.
        """
        return blocking(self._quiet())

    async def quiet_async(self) -> int:
        """`quiet`, awaited."""
        return await awaiting(self._quiet())

    def _quiet(self) -> Steps[int]:
        answer = yield Wait(self._member.ask(quiet=wire.Quiet()))
        return int(answer.frame.quieted.samples)

    def close(self) -> None:
        """Leaves the run: its workers get no more work unless another engine has its name. Idempotent."""
        blocking(self._member.leave(f"engine {self.name!r}"))

    async def close_async(self) -> None:
        """`close`, awaited."""
        await awaiting(self._member.leave(f"engine {self.name!r}"))
