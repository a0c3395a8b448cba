"""One execution, whatever it is of: a prompt group that a worker runs, or a finished one that a stage adds to."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from outrider import _wire_pb2 as wire
from outrider._check import instance, text
from outrider._report import Finished
from outrider._steps import Steps, Wait, awaiting, blocking
from outrider.errors import Stale

if TYPE_CHECKING:
    from outrider._runner import Runner


class Execution:
    """The right, and the duty, to end one execution of one group, once.

    Attributes:
        group: Index of the group in the source's endless order.
        attempt: Which reservation of the group this is, from 1.
        execution: Which execution of that reservation, a number of its own over the whole run.
        print: Digest of the prompt, where this process has made it; empty otherwise.
        promise: Bytes that its host has set aside for its rows; None: there is no bound.
        granted: The `Receipts` that it came with: the timeline and the session of its own receipt.
    """

    __slots__ = ("_cancelled", "_ending", "attempt", "execution", "granted", "group", "print", "promise", "runner")

    adds = False
    """Whether what it reports are more columns of rows that are there."""

    def __init__(
        self, runner: Runner[Any], granted: Any, group: int, attempt: int, execution: int, promise: int | None
    ) -> None:
        self.runner = runner
        self.granted = granted
        self.group = group
        self.attempt = attempt
        self.execution = execution
        self.promise = promise
        self.print = b""
        self._ending = False
        self._cancelled = False

    def __repr__(self) -> str:
        return f"<outrider.{type(self).__name__} group={self.group} attempt={self.attempt}{' cancelled' if self._cancelled else ''}>"

    @property
    def receipt(self) -> Any:
        """The execution receipt in the wire's form; void once the group has gone elsewhere."""
        return wire.Receipt(
            timeline=self.granted.timeline,
            group=self.group,
            attempt=self.attempt,
            execution=self.execution,
            worker=self.granted.worker,
        )

    @property
    def cancelled(self) -> bool:
        """Whether the owner wants it stopped; end it with `retry` when it has stopped. A result that is there counts all the same."""
        return self._cancelled

    def retry(self, reason: str) -> bool:
        """Asks for another attempt that is not counted as the data's fault (the engine aborted, say).

        Returns:
            True: the owner took it. False: nobody waits for it any more, because the group had gone elsewhere meanwhile (its
            receipt is stale) or the run is over; nothing is left to do.
        """
        return blocking(self.end(Finished(self, "retry", text("reason", reason)), self.runner.reporter.submit_here))

    async def retry_async(self, reason: str) -> bool:
        """`retry`, awaited."""
        return await awaiting(self.end(Finished(self, "retry", text("reason", reason)), self.runner.reporter.submit))

    def fail(self, error: BaseException | str) -> bool:
        """Reports that the data itself made it fail; counted against `max_attempts`. Returns as `retry` does."""
        return blocking(self.end(Finished(self, "failure", describe(_said(error))), self.runner.reporter.submit_here))

    async def fail_async(self, error: BaseException | str) -> bool:
        """`fail`, awaited."""
        return await awaiting(self.end(Finished(self, "failure", describe(_said(error))), self.runner.reporter.submit))

    def discard(self, reason: str) -> bool:
        """Settles the group as consumed without training, counted under the reason. Returns as `retry` does."""
        return blocking(self.end(Finished(self, "discard", text("reason", reason)), self.runner.reporter.submit_here))

    async def discard_async(self, reason: str) -> bool:
        """`discard`, awaited."""
        return await awaiting(self.end(Finished(self, "discard", text("reason", reason)), self.runner.reporter.submit))

    def end(self, finished: Finished, submit: Callable[[Finished], None]) -> Steps[bool]:
        """Ends this execution; the core of all that do."""
        self.begin_end()
        submit(finished)
        error = yield Wait(finished.answer)
        return self.runner.accepted(error)

    def submit(self, finished: Finished) -> None:
        """Ends this execution without waiting for the owner's word."""
        self.begin_end()
        self.runner.reporter.submit(finished)

    def begin_end(self) -> None:
        """From here on nothing else can end it.

        Raises:
            Stale: Something has ended it before.
        """
        if self._ending:
            raise Stale(f"outrider: group {self.group} attempt {self.attempt} was ended before; end each work once")
        self._ending = True

    @property
    def ending(self) -> bool:
        """Whether it has been ended here."""
        return self._ending

    def cancel(self) -> None:
        """From the reading thread: the owner wants it stopped."""
        self._cancelled = True


def _said(error: Any) -> BaseException | str:
    return cast("BaseException | str", instance("error", error, (BaseException, str), "an exception or a str"))


def describe(error: BaseException | str) -> str:
    """An exception in one line."""
    return error if isinstance(error, str) else f"{type(error).__name__}: {error}"
