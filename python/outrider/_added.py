"""What the ranks of a lease add to the rows that they have admitted."""

from __future__ import annotations

import os
from collections.abc import Sequence

import pyarrow as pa

from outrider import _wire_pb2 as wire
from outrider._member import Member
from outrider._memory import write_stream
from outrider._segment import Selected
from outrider._steps import Steps, Wait


class Added:
    """The way from one admitted batch to the other ranks of its lease.

    Args:
        member: The rank.
        admission: Identity of the lease.
        rollout: Its rollout id.
        shards: What the rank reads, in reading order.
    """

    def __init__(self, member: Member, admission: int, rollout: int, shards: Sequence[int]) -> None:
        self._member = member
        self._admission = admission
        self._rollout = rollout
        self._shards = list(shards)

    def put(self, columns: pa.RecordBatch) -> Steps[None]:
        """Gives the ranks columns of all rows that this one reads."""
        fd = write_stream(columns.schema, [columns], "columns")
        try:
            asked = self._member.ask(
                (fd,),
                add_columns=wire.AddColumns(
                    admission=self._admission, rollout=self._rollout, shards=self._shards, names=columns.schema.names
                ),
            )
        finally:
            os.close(fd)
        yield Wait(asked)

    def get(self, name: str) -> Steps[list[tuple[Selected, int, int]]]:
        """Where a column is: segment, first row and rows, one after the other as this rank reads them."""
        answer = yield Wait(
            self._member.ask(get_column=wire.GetColumn(admission=self._admission, shards=self._shards, name=name))
        )
        admitted = answer.frame.admitted
        found = {
            key: Selected(segment, name)
            for key, segment in self._member.attachment.map(admitted.segments, answer.fds).items()
        }
        return [(found[at.segment.holder, at.segment.number], at.first_row, at.rows) for at in admitted.locators]
