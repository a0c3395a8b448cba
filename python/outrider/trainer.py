"""A trainer rank: admits its shard of a publication and reads it in place."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING

from outrider import _wire_pb2 as wire
from outrider._added import Added
from outrider._channel import Answer
from outrider._check import INT32, count, counts, instance, optional_text, state_bytes, text, until
from outrider._log_copy import LogCopy
from outrider._member import Leaves, Member, joined_to
from outrider._segment import places
from outrider._steps import Steps, Wait, awaiting, blocking
from outrider.batch import Batch, Part
from outrider.errors import ConfigError, Error, kind_of
from outrider.publication import Publication

if TYPE_CHECKING:
    from outrider.run import Run


class Trainer(Leaves):
    """One rank of a trainer role. Its sidecar keeps the run's base state and commit log beside the weights that justify them.

    This process keeps a copy of both. When its sidecar alone was killed (every call raises `Closed`), make another `Trainer` with the
    `state_at` that the weights have: it brings the copy, and the run goes on from there even if its owner was lost as well.

    Args:
        run: The run.
        role: Name of the role, e.g. "actor" or "critic".
        rank: Of this process in the role, from 0.
        world_size: Ranks of the role.
        generation: Rises when the job changes its cohort.
        state_at: Last rollout that this process's parameters contain; −1: none yet. Below the last commit, the run rewinds
            to it as soon as all ranks of the cohort have said so.
        state: What `run.state(state_at)` gave when that checkpoint was written; needed when the owner and every trainer were
            lost together. Give it whenever there is one: weights of a rollout that was undone since are told by it.

    Raises:
        ConfigError: An argument of the wrong kind.
        ConfigError: `state` is damaged, or of a rollout that was undone since, or `state_at` lies above what the ledger knows: these
            weights are not this run's.
        Refused: `state_at` lies below the last commit, with policy.rewind="refuse", or below what `Run.saved` let go.
        StartError: The sidecar did not come up.
    """

    def __init__(
        self,
        run: Run,
        role: str = "trainer",
        rank: int = 0,
        world_size: int = 1,
        generation: int = 1,
        state_at: int = -1,
        state: bytes | None = None,
    ) -> None:
        joined_to(run)
        self.role = text("role", role)
        self.world_size = count("world_size", world_size, 1, INT32)
        self.rank = count("rank", rank, 0, self.world_size - 1)
        self.generation = count("generation", generation, 0)
        request = wire.TrainerRole(
            role=self.role,
            rank=self.rank,
            world_size=self.world_size,
            generation=self.generation,
            state_at=count("state_at", state_at, -1),
            state=state_bytes(state),
        )
        self._copy = LogCopy.of(run.id, self.role, self.rank)
        self._copy.bring(request)
        self._member = Member(run, "trainer", trainer=request)
        self._coming: tuple[int, Future[Answer]] | None = None
        self._member.listen(lambda frame, fds: self._copy.take(frame), lambda: None)

    def next(self, rollout: int, timeout: float | None = None) -> Batch:
        """Take, publish, admit and commit in one: the batch that comes back is this rank's to train.

        For a cohort of one rank. A lease that becomes void on the way (its data or its owner was lost) is taken again.

        Args:
            rollout: Id of the training step.
            timeout: Seconds to wait for a full batch; None: as long as it takes.

        Returns:
            The committed batch.

        Raises:
            TimeoutError: Not enough groups were complete in time; none is lost.
            ConfigError: The cohort has more ranks: a controller takes and publishes, ranks admit.
            Refused: The run went back, and another rollout comes next; the message says which.
            NoWorkers: Nobody was there for `Policy.join_timeout` who could work.
            EndOfRun: The source is exhausted and everything has settled.
            RunFailed: Too many groups have failed.
            Refused: The rollout was committed before; rewind, or ask for the next one. Or the run went back and this rank
                has not said that its weights did: see `restored`.
        """
        return blocking(self._next(rollout, timeout))

    async def next_async(self, rollout: int, timeout: float | None = None) -> Batch:
        """`next`, awaited. Cancelling it loses no group: a batch that was committed all the same comes with the next call of its rollout."""
        return await awaiting(self._next(rollout, timeout))

    def admit(self, publication: Publication, shard: int | Sequence[int] | None = None) -> Batch:
        """Takes hold of a shard: the proof that this rank has exactly these rows, and no training yet.

        A shard is not a rank: tensor-parallel ranks admit the same one, and a rank may admit several. Together the ranks of a
        role have to read every shard, and each equally often.

        Args:
            publication: From `Lease.publish`.
            shard: Index of the shard, or indices in reading order. None: all shards if this role has one rank, else the only
                one, or this rank's own.

        Returns:
            The rows of the shard or shards, in place. Train on them only after the controller's commit.

        Raises:
            ConfigError: No such shard.
            Refused: The publication is void, of another cohort, or not this rank's; the run went back and this rank has not
                said that its weights did (see `restored`); or this is the last rank of its role
                and the role would not read every shard, or one more often than another.
            DataError: The data is not what the publication says.
        """
        return blocking(self._admit(publication, shard))

    async def admit_async(self, publication: Publication, shard: int | Sequence[int] | None = None) -> Batch:
        """`admit`, awaited."""
        return await awaiting(self._admit(publication, shard))

    def restored(self, rollout: int, digest: str | None = None) -> None:
        """Says that this process's parameters contain everything up to a rollout again, and nothing after it.

        After a rewind, or an update that was undone, a rank that had trained what is undone admits nothing before it has said so: it may
        still hold newer weights. Call it where the parameters are put back, before or after the run goes back.

        Args:
            rollout: Last rollout in the parameters; −1: none.
            digest: Of the parameters; compared with the digest of the version that was announced for exactly that rollout.

        Raises:
            Refused: The digest is another one: these are other weights.
            Refused: That rollout is not committed, or a commit is on its way: say it again when that is decided.
        """
        blocking(self._restored(rollout, digest))

    async def restored_async(self, rollout: int, digest: str | None = None) -> None:
        """`restored`, awaited."""
        await awaiting(self._restored(rollout, digest))

    def _restored(self, rollout: int, digest: str | None) -> Steps[None]:
        said = wire.Restored(rollout=count("rollout", rollout, -1), digest=optional_text("digest", digest))
        yield Wait(self._member.ask(restored=said))

    def close(self) -> None:
        """Leaves the run. Batches and views stay valid. Idempotent."""
        blocking(self._close())

    async def close_async(self) -> None:
        """`close`, awaited."""
        await awaiting(self._close())

    def _close(self) -> Steps[None]:
        self._copy.forget()
        yield from self._member.leave(f"trainer {self.role}/{self.rank}")

    def _next(self, rollout: int, timeout: float | None) -> Steps[Batch]:
        if self.world_size != 1:
            raise ConfigError(
                f"outrider: Trainer.next is for one rank and world_size={self.world_size}; take and publish in a controller (run.take), admit in each rank"
            )
        deadline = until("timeout", timeout)
        rollout = count("rollout", rollout, 0)
        while True:
            future = self._asked(rollout)
            try:
                answer = yield Wait(future, deadline)
            except TimeoutError:
                self._member.ask(cancel_take=wire.CancelTake(rollout=rollout))
                try:
                    # The cancel may have come too late; then the batch is there and nothing has timed out.
                    answer = yield Wait(future)
                except Error:
                    self._coming = None
                    raise TimeoutError(
                        f"outrider: next({rollout}): no full batch within {timeout:g} s; see run.progress(), then wait longer or look for what is missing"
                    ) from None
            except Error as error:
                self._coming = None
                if kind_of(error) not in ("stale", "revoked"):
                    raise
                continue
            except BaseException:
                # Whoever waited is gone. What was committed all the same is kept for the next call of this rollout.
                self._member.ask(cancel_take=wire.CancelTake(rollout=rollout))
                raise
            self._coming = None
            return self._batch(answer, [0])

    def _asked(self, rollout: int) -> Future[Answer]:
        """The answer on its way for a rollout; a call that was cancelled may have asked already."""
        if self._coming is None or self._coming[0] != rollout:
            self._coming = rollout, self._member.ask(next=wire.Next(rollout=rollout))
        return self._coming[1]

    def _admit(self, publication: Publication, shard: int | Sequence[int] | None) -> Steps[Batch]:
        instance("publication", publication, Publication, "what Lease.publish gave")
        have = len(publication.message.shards)
        if shard is None:
            shard = range(have) if self.world_size == 1 else 0 if have == 1 else self.rank
        shards = counts("shard", shard, 0) if isinstance(shard, Sequence) else [count("shard", shard, 0, INT32)]
        if not shards or max(shards) >= have or len(set(shards)) < len(shards):
            raise ConfigError(
                f"outrider: shard={shard} of a publication of {have} shards (rollout {publication.rollout}); give one from 0 to {have - 1}, or several, each once"
            )
        request = wire.Admit(
            publication=publication.message, shards=shards, role=self.role, rank=self.rank, generation=self.generation
        )
        return self._batch((yield Wait(self._member.ask(admit=request))), shards)

    def _batch(self, answer: Answer, shards: Sequence[int]) -> Batch:
        """The batch of an `Admitted`, mapped."""
        admitted = answer.frame.admitted
        found = self._member.attachment.map(admitted.segments, answer.fds)
        parts = [
            Part(group, attempt, places(at, found), at.rows)
            for at, group, attempt in zip(admitted.locators, admitted.groups, admitted.attempts, strict=True)
        ]
        added = Added(self._member, admitted.admission, admitted.rollout, shards)
        return Batch(admitted.rollout, admitted.admission, parts, added)
