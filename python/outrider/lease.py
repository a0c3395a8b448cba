"""A leased batch, from the side of the controller: metadata, publication, settlement. No token bytes come here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from outrider import _wire_pb2 as wire
from outrider._channel import Answer
from outrider._check import INT32, count, counts, flag, instance, text, until
from outrider._steps import Steps, Wait, awaiting, blocking
from outrider.errors import Error, Refused
from outrider.publication import Publication, plan

if TYPE_CHECKING:
    from outrider._member import Member


@dataclass(frozen=True)
class LeasedGroup:
    """What the controller knows of one group.

    Attributes:
        group: Index in the source's endless order.
        attempt: Which reservation of it this is, from 1.
        row: Its row of the table.
        lengths: int32 [rows], tokens of each sample.
        rewards: float64 [rows], or None when no stage has given one.
        min_version: Oldest weight version that any of its tokens used.
        staleness: Versions between that and the announced one.
    """

    group: int
    attempt: int
    row: int
    lengths: npt.NDArray[np.int32]
    rewards: npt.NDArray[np.float64] | None
    min_version: int
    staleness: int


class Lease:
    """Ownership of one batch by one rollout id, until commit or rollback.

    As a context manager: leaving the block by an exception rolls back; leaving it open is an error.

    Attributes:
        rollout: The id it was taken under.
        admission: Its identity; a later lease of the same rollout has another.
        short: Whether the batch is below the size asked for: the source has ended, groups were discarded without others in their
            place, or as many groups as it may have hold fewer tokens.
    """

    def __init__(self, member: Member, lease: Any) -> None:
        self._member = member
        self._set(lease)
        self._settled = False

    def _set(self, lease: Any) -> None:
        self._lease = lease
        self.rollout: int = lease.rollout
        self.admission: int = lease.admission
        self.short: bool = lease.short
        self._groups: tuple[LeasedGroup, ...] | None = None

    def __repr__(self) -> str:
        return f"<outrider.Lease rollout={self.rollout} admission={self.admission} groups={len(self._lease.groups)}>"

    @property
    def groups(self) -> tuple[LeasedGroup, ...]:
        """The groups, ordered by group index."""
        if self._groups is None:
            self._groups = tuple(
                LeasedGroup(
                    group=g.group,
                    attempt=g.attempt,
                    row=g.row,
                    lengths=np.array(g.summary.lengths, np.int32),
                    rewards=np.array(g.summary.rewards, np.float64) if g.summary.rewards else None,
                    min_version=g.summary.min_version,
                    staleness=g.staleness,
                )
                for g in self._lease.groups
            )
        return self._groups

    @property
    def samples(self) -> int:
        """Rows of the batch."""
        return sum(len(g.summary.lengths) for g in self._lease.groups)

    @property
    def tokens(self) -> int:
        """Tokens of the batch, prompts included."""
        return sum(sum(g.summary.lengths) for g in self._lease.groups)

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """int64 [rows]: tokens of each row of the batch, in group order; what a plan of shards is made from."""
        return np.array([length for g in self._lease.groups for length in g.summary.lengths], np.int64)

    def publish(
        self,
        shards: Sequence[Sequence[int]] | int = 1,
        roles: Mapping[str, int] | None = None,
        generation: int = 1,
    ) -> Publication:
        """Fixes who reads what, for ever, under this lease's admission id.

        Args:
            shards: Into how many shards of neighbouring groups to cut the batch; or for each shard the rows of the batch in the
                order to read them, every row exactly once.
            roles: Role → world size: every rank of every role must admit. Each role reads the whole batch; see `Trainer.admit`. None: {"trainer": 1}.
            generation: Of the cohort, as given to `Trainer`.

        Returns:
            The publication; pickles, so that each rank can be given it.

        Raises:
            ConfigError: A row is missing or there twice; names it.
            Stale: The lease is void: its owner was restarted, or it was settled.
        """
        return blocking(self.publishing(shards, roles, generation))

    async def publish_async(
        self,
        shards: Sequence[Sequence[int]] | int = 1,
        roles: Mapping[str, int] | None = None,
        generation: int = 1,
    ) -> Publication:
        """`publish`, awaited."""
        return await awaiting(self.publishing(shards, roles, generation))

    def publishing(
        self, shards: Sequence[Sequence[int]] | int, roles: Mapping[str, int] | None, generation: int
    ) -> Steps[Publication]:
        """The core of `publish`."""
        cohort = (
            {"trainer": 1}
            if roles is None
            else {
                text("roles", role): count(f"roles[{role!r}]", size, 1, INT32)
                for role, size in instance("roles", roles, Mapping, "a dict from role to world size").items()
            }
        )
        request = wire.Publish(
            admission=self.admission,
            shards=plan(self._lease.groups, shards),
            roles=cohort,
            generation=count("generation", generation, 0),
        )
        answer = yield Wait(self._member.ask(publish=request))
        return Publication(answer.frame.publication)

    def discard(self, groups: Sequence[int], reason: str, *, refill: bool = True) -> None:
        """Settles groups of this batch as consumed without training; before it is published.

        Args:
            groups: Group indices, as in `groups[i].group`.
            reason: They are counted under it.
            refill: Wait until others have taken their places; False: the batch stays smaller and is marked short.

        Raises:
            Refused: Already published, or a group that is not in this lease.
            Stale: It has no group left and the source has no other: it is rolled back; take the rollout again.
        """
        blocking(self._discard(groups, reason, refill))

    async def discard_async(self, groups: Sequence[int], reason: str, *, refill: bool = True) -> None:
        """`discard`, awaited."""
        await awaiting(self._discard(groups, reason, refill))

    def _discard(self, groups: Sequence[int], reason: str, refill: bool) -> Steps[None]:
        indices = counts("groups", groups, 0)
        answer = yield Wait(
            self._member.ask(
                discard_groups=wire.DiscardGroups(
                    admission=self.admission,
                    groups=indices,
                    reason=text("reason", reason),
                    shorter=not flag("refill", refill),
                )
            )
        )
        if answer.frame.HasField("lease"):
            self._set(answer.frame.lease)

    def commit(self) -> None:
        """Accepts the batch for training: when this returns, every admitted rank's log has it. Only then step.

        Repeating it is safe; it has one effect. With commit_order="wait" it waits while the lease of a lower rollout is open: whoever
        holds that, too, commits it first.

        Raises:
            NotAdmitted: A required rank has not admitted; names it. The lease stays open.
            CohortChanged: Publish again to the ranks of today, or roll back.
            Stale: The lease is void; take again.
            Refused: It was rolled back, or revoked because data was lost.
            Conflict: The lease of a lower rollout is open, with commit_order="refuse", or was rolled back while this call waited
                for it; nothing has changed.
        """
        blocking(self.committing())

    async def commit_async(self) -> None:
        """`commit`, awaited."""
        await awaiting(self.committing())

    def committing(self) -> Steps[None]:
        """The core of `commit`."""
        answer = yield Wait(self._member.ask(commit=wire.Commit(admission=self.admission)))
        settled = answer.frame.settled
        if answer.frame.HasField("settled") and settled.status != "committed":
            self._settled = settled.status == "rolled_back"
            raise Refused(
                f"outrider: commit of rollout {self.rollout} (admission {self.admission}): it is {settled.status} ({settled.reason}); take again"
            )
        self._settled = True

    def rollback(self, reason: str) -> None:
        """Gives the groups back to the source, pristine. Nothing happens to a lease that is rolled back already.

        Args:
            reason: For log and status.

        Raises:
            Refused: It was committed.
        """
        blocking(self.rolling_back(reason))

    async def rollback_async(self, reason: str) -> None:
        """`rollback`, awaited."""
        await awaiting(self.rolling_back(reason))

    def rolling_back(self, reason: str) -> Steps[None]:
        """The core of `rollback`."""
        answer = yield Wait(
            self._member.ask(rollback=wire.Rollback(admission=self.admission, reason=text("reason", reason)))
        )
        self._settled = True
        settled = answer.frame.settled
        if answer.frame.HasField("settled") and settled.status == "committed":
            raise Refused(
                f"outrider: rollback of rollout {self.rollout} (admission {self.admission}): it was committed; rewind the run to go back behind it"
            )

    def status(self) -> str:
        """What became of it: "open", "published", "committing", "committed" or "rolled_back".

        Raises:
            Stale: Unknown: older than what the owner remembers, which is 1024 settled leases, or of a former life of the owner.
        """
        return blocking(self._status())

    async def status_async(self) -> str:
        """`status`, awaited."""
        return await awaiting(self._status())

    def _status(self) -> Steps[str]:
        answer = yield Wait(self._member.ask(lease_status=wire.LeaseStatus(admission=self.admission)))
        return str(answer.frame.settled.status)

    def __enter__(self) -> Lease:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        blocking(self._leave(error))

    async def __aenter__(self) -> Lease:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await awaiting(self._leave(error))

    def _leave(self, error: BaseException | None) -> Steps[None]:
        if self._settled:
            return
        try:
            yield from self.rolling_back(f"{type(error).__name__}: {error}" if error else "left open")
        except Error:
            if error is None:
                raise
            return  # The first error is the one to see.
        if error is None:
            raise Refused(
                f"outrider: the block of rollout {self.rollout} (admission {self.admission}) ended with the lease open; it was rolled back; call commit() or rollback(reason) in the block"
            )


def take(member: Member, rollout: int, timeout: float | None) -> Steps[Lease]:
    """The core of every take, for the session that is to own the lease."""
    request = wire.Take(rollout=count("rollout", rollout, 0))
    deadline = until("timeout", timeout)
    future = member.ask(take=request)
    try:
        answer = yield Wait(future, deadline)
    except TimeoutError:
        member.ask(cancel_take=wire.CancelTake(rollout=rollout))
        try:
            # The cancel may have come too late; then the lease is there and nothing has timed out.
            answer = yield Wait(future)
        except Error as cancelled:
            lack = str(cancelled).partition("was cancelled")[
                2
            ]  # the owner says what nothing that runs would have brought
            raise TimeoutError(
                f"outrider: take of rollout {rollout}: no full batch within {timeout:g} s{lack}; see run.progress(), then wait longer or look for what is missing"
            ) from None
    except BaseException:
        # Whoever waited is gone (a cancelled task, Ctrl-C): a lease that comes all the same goes back.
        if not future.done():
            future.add_done_callback(lambda late: _give_back(member, late))
            member.ask(cancel_take=wire.CancelTake(rollout=rollout))
        raise
    return Lease(member, answer.frame.lease)


def _give_back(member: Member, late: Future[Answer]) -> None:
    if not late.cancelled() and late.exception() is None:
        member.ask(
            rollback=wire.Rollback(admission=late.result().frame.lease.admission, reason="the take was cancelled")
        )
