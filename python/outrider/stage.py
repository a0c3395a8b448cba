"""A later stage: adds columns to groups whose generation is finished."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from outrider import _wire_pb2 as wire
from outrider._execution import Execution
from outrider._memory import joined
from outrider._report import Finished
from outrider._runner import Runner, Stream
from outrider._segment import places, side_by_side
from outrider._steps import Steps, awaiting, blocking
from outrider.adds import declared, stage_name, to_columns
from outrider.batch import Group
from outrider.errors import Error

if TYPE_CHECKING:
    from outrider.run import Run

log = logging.getLogger("outrider")


class StageGroup(Execution):
    """A finished group, and the duty to end its stage by exactly one of add, retry, fail, discard.

    Its columns are attributes, as those of a `Group` of a batch are: `g.tokens`, `g.cu_seqlens`, `g.column(name)`.

    Attributes:
        group: Index of the group in the source's endless order.
        attempt: Which reservation of the group this is, from 1.
        rows: Its rows in place, with the columns that earlier stages added.
    """

    __slots__ = ("rows", "stage")

    adds = True

    def __init__(self, stage: Stage, granted: Any, receipt: Any, rows: Group) -> None:
        super().__init__(stage, granted, receipt.group, receipt.attempt, receipt.execution, None)
        self.stage = stage
        self.rows = rows

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.rows, name)

    def add(self, **columns: Any) -> bool:
        """Gives the stage's columns: the group goes to the next stage, or, after the last one, is complete.

        Args:
            columns: By name, each one value a row (a list of numbers a row for a list column): numpy or Arrow arrays, or lists.

        Returns:
            True: the owner took them. False: nobody waits for them any more, because the group had gone elsewhere meanwhile or the
            run is over; nothing is left to do.

        Raises:
            DataError: Other columns than the stage adds, another number of rows, values of another type, a null: nothing has been
                written, give them again. Or lists whose lengths do not fit those of their domain: counted against `max_attempts`.
            Closed: The sidecar has died.
        """
        return blocking(self._add(columns, self.runner.reporter.submit_here))

    async def add_async(self, **columns: Any) -> bool:
        """`add`, awaited; the writing happens in the stage's own thread."""
        return await awaiting(self._add(columns, self.runner.reporter.submit))

    def _add(self, columns: Mapping[str, Any], submit: Callable[[Finished], None]) -> Steps[bool]:
        batch = to_columns(self.stage.fields, columns, self.rows.rows.num_rows, f"outrider: group {self.group}")
        return (yield from self.end(Finished(self, "success", batch=batch), submit))


class Stage(Runner[StageGroup]):
    """This process serves a stage: it adds columns to finished groups, which are trained when the last stage has. Its sidecar is up when this returns.

    A group that this process has when it is lost goes to another member of the stage, and so do groups of which it holds the columns,
    as long as they are not leased: what was generated stays.

    Args:
        run: The run, started with this stage in `stages`.
        adds: Name → type of its columns, as given there.
        slots: Groups that it has at once, from when it first asks for them by `groups`.
        name: Shown in logs, status and errors; None: the actor's name or class.

    Raises:
        ConfigError: An argument of the wrong kind, or a stage that the run does not have.
        StartError: The sidecar did not come up.
        Closed: The run is over.
    """

    _what = "this stage"

    def __init__(self, run: Run, adds: Mapping[str, Any], slots: int = 1, name: str | None = None) -> None:
        self.fields = declared("adds", adds)
        super().__init__(run, slots, name, wire.WorkerRole(stage=stage_name(self.fields)))
        for fd in self._member.fds:
            os.close(fd)
        self._member.listen(self._on_push, self._on_ended)

    def groups(self) -> Stream[StageGroup]:
        """Finished groups as they come: `async for g in stage.groups()` (or a plain `for` in a thread); ends with the run."""
        self.ask_for_work()
        return Stream(self, 1, True)

    def _on_push(self, frame: Any, fds: list[int]) -> None:
        """From the reading thread."""
        kind = frame.WhichOneof("body")
        if kind == "stage_grant":
            self._given(frame.stage_grant, fds)
        elif kind == "cancel":
            self.cancelled(frame.cancel.receipts)

    def _given(self, grant: Any, fds: list[int]) -> None:
        receipt, at = grant.receipt, grant.locator
        granted = wire.Receipts(timeline=receipt.timeline, worker=receipt.worker)
        try:
            rows = joined(side_by_side(places(at, self._member.attachment.map(grant.segments, fds)), at.rows))
        except (Error, OSError) as error:
            log.warning("outrider: group %d was not read: %s; its stage is done again", receipt.group, error)
            self._member.tell(
                report=wire.Report(outcomes=[wire.Outcome(receipt=receipt, kind="retry", reason=str(error))])
            )
            return
        work = StageGroup(self, granted, receipt, Group(receipt.group, receipt.attempt, rows))
        self.began([work])
        self.inbox.put([work])
