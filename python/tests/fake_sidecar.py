"""A sidecar in Python, for the edges of the wire only: one process is owner and members, one worker, one trainer rank.

It keeps no promise of the product; tests of the product use the real binary. `FAKE` in the environment makes it misbehave.
"""

import os
import socket
import struct
import sys

from outrider import _wire_pb2 as wire


class Fake:
    def __init__(self, fd):
        self.sock = socket.socket(fileno=fd)
        self.mode = os.environ.get("FAKE", "")
        self.members = 0
        self.segments = {}
        self.queue = []
        self.takes = []
        self.next_group = 0
        self.admission = 0
        self.leases = {}
        self.executing = {}
        self.worker = None
        self.version = 0
        self.confirmed = 0
        self.rollout = 0
        self.acknowledged = 0

    def send(self, frame, fds=()):
        ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack(f"{len(fds)}i", *fds))] if fds else []
        data = frame.SerializeToString()
        if len(data) > 150_000 or (self.mode == "spill" and frame.answer):
            fd = os.memfd_create("spill")
            os.write(fd, data)
            return self.send(wire.Frame(spilled=wire.Spilled(bytes=len(data))), [fd, *fds])
        self.sock.sendmsg([data], ancillary)
        return None

    def recv(self):
        data, ancillary, _, _ = self.sock.recvmsg(1 << 20, socket.CMSG_SPACE(254 * 4))
        fds = [fd for _, _, part in ancillary for (fd,) in struct.iter_unpack("i", part)]
        if not data:
            sys.exit(0)
        frame = wire.Frame.FromString(data)
        if frame.HasField("spilled"):
            data = os.pread(fds[0], frame.spilled.bytes, 0)
            return wire.Frame.FromString(data), fds[1:]
        return frame, fds

    def answer(self, frame, fds=(), **body):
        self.send(wire.Frame(id=frame.id, answer=True, member=frame.member, **body), fds)

    def refuse(self, frame, kind, message):
        self.answer(frame, error=wire.Error(kind=kind, message=message))

    def run(self):
        if self.mode == "die":
            print("no such luck", file=sys.stderr)
            sys.exit(3)
        if self.mode == "silent":
            self.recv()
        low = 9 if self.mode == "protocol" else 2
        self.send(wire.Frame(ready=wire.Ready(protocol_min=low, protocol_max=low, version="fake", pid=os.getpid())))
        self.recv()
        while True:
            frame, fds = self.recv()
            if frame.answer:
                self.located = frame.located.address
                self.answer(self.asked, stats=wire.Stats(ownership=self.located))
                continue
            getattr(self, frame.WhichOneof("body"))(frame, fds)

    def own(self, frame, fds):
        (self.table,) = fds
        self.config = frame.own.config
        self.answer(frame, owned=wire.Owned(address="127.0.0.1:1"))

    def join(self, frame, fds):
        self.members += 1
        joined = wire.Joined(
            member=self.members,
            session=self.members,
            group_size=self.config.group_size,
            batch_groups=self.config.batch_groups,
        )
        if frame.join.HasField("worker"):
            self.worker = self.members
            joined_fds = [self.table]
            self.slots = frame.join.worker.slots
            # A grant may overtake the caller's thread: it comes before the shim knows the member's handler.
            self.answer(frame, joined_fds, joined=joined)
            self.grant()
        else:
            self.answer(frame, joined=joined)

    def grant(self):
        room = self.slots // self.config.group_size - len(self.executing)
        if self.worker is None or room <= 0:
            return
        grant = wire.Grant(receipts=wire.Receipts(worker=self.worker))
        for _ in range(room):
            self.executing[self.next_group + 1] = self.next_group
            grant.receipts.groups.append(self.next_group)
            grant.receipts.attempts.append(1)
            grant.receipts.executions.append(self.next_group + 1)
            grant.rows.append(self.next_group % 4)
            grant.versions.append(self.version)
            self.next_group += 1
        self.send(wire.Frame(member=self.worker, grant=grant))

    def set_slots(self, frame, fds):
        """A push when a worker begins to ask for work, a question when its slots change."""
        self.slots = frame.set_slots.slots
        if frame.id:
            self.answer(frame, done=wire.Done())
        self.grant()

    def sample_done(self, frame, fds):
        pass

    def report(self, frame, fds):
        numbers = []
        for fd in fds:
            self.segments[len(self.segments)] = fd
            numbers.append(len(self.segments) - 1)
        said = wire.Reported()
        ends = [
            (execution, at)
            for one in frame.report.successes
            for execution, *at in zip(one.receipts.executions, one.segments, one.first_rows, one.rows, strict=True)
        ] + [(outcome.receipt.execution, None) for outcome in frame.report.outcomes]
        for place, (execution, at) in enumerate(ends):
            group = self.executing.pop(execution, None)
            if group is None or self.mode == "stale":
                said.errors.add(kind="stale", message="outrider: void")
                said.places.append(place)
            elif at is not None:
                segment, first, rows = at
                locator = wire.Locator(
                    segment=wire.SegmentId(holder=7, number=numbers[segment]), first_row=first, rows=rows
                )
                summary = wire.Summary(slots=range(rows), lengths=[1] * rows)
                self.queue.append(wire.LeasedGroup(group=group, attempt=1, locator=locator, summary=summary))
        self.answer(frame, reported=said)
        self.grant()
        self.serve_takes()

    def take(self, frame, fds):
        self.takes.append(frame)
        self.serve_takes()

    def next(self, frame, fds):
        self.take(frame, fds)

    def cancel_take(self, frame, fds):
        for take in self.takes:
            self.refuse(take, "refused", "cancelled")
        self.takes = []
        self.answer(frame, done=wire.Done())

    def serve_takes(self):
        while self.takes and len(self.queue) >= self.config.batch_groups:
            self.admission += 1
            groups, self.queue = self.queue[: self.config.batch_groups], self.queue[self.config.batch_groups :]
            take = self.takes.pop(0)
            rollout = take.next.rollout if take.HasField("next") else take.take.rollout
            lease = wire.Lease(admission=self.admission, rollout=rollout, groups=groups)
            self.leases[self.admission] = lease
            if not take.HasField("next"):
                self.answer(take, lease=lease)
            elif self.mode == "revoke":
                self.mode = ""
                self.queue = list(groups) + self.queue
                self.refuse(take, "revoked", "outrider: data of group 0 was lost; take again")
            else:
                self.acknowledged += len(groups)
                self.deliver(
                    take, lease, [g.locator for g in groups], [g.group for g in groups], [g.attempt for g in groups]
                )

    def publish(self, frame, fds):
        ask = frame.publish
        publication = wire.Publication(
            admission=ask.admission,
            rollout=self.leases[ask.admission].rollout,
            shards=ask.shards,
            roles=ask.roles,
            generation=ask.generation,
        )
        self.answer(frame, publication=publication)

    def admit(self, frame, fds):
        publication = frame.admit.publication
        shard = publication.shards[frame.admit.shard]
        self.deliver(frame, self.leases[publication.admission], shard.locators, shard.groups, shard.attempts)

    def deliver(self, frame, lease, locators, groups, attempts):
        ids = {(at.segment.holder, at.segment.number): at.segment for at in locators}
        keys = list(ids)
        every = list(keys)
        while self.mode == "parts" and len(keys) > 1:
            ahead = wire.Fetched(segments=[ids[keys[0]]])
            self.send(wire.Frame(member=frame.member, fetched=ahead), [self.segments[keys[0][1]]])
            keys = keys[1:]
        last = wire.Admitted(
            segments=[ids[key] for key in every],
            locators=locators,
            groups=groups,
            attempts=attempts,
            admission=lease.admission,
            rollout=lease.rollout,
        )
        self.answer(frame, [self.segments[number] for _, number in keys], admitted=last)

    def commit(self, frame, fds):
        if self.mode == "revoke":
            self.mode = ""
            return self.refuse(frame, "revoked", "outrider: data of group 0 was lost; take again")
        lease = self.leases[frame.commit.admission]
        self.rollout = lease.rollout + 1
        self.acknowledged += len(lease.groups)
        return self.answer(frame, settled=wire.Settled(admission=lease.admission, status="committed"))

    def rollback(self, frame, fds):
        self.answer(frame, settled=wire.Settled(admission=frame.rollback.admission, status="rolled_back"))

    def lease_status(self, frame, fds):
        self.answer(frame, settled=wire.Settled(admission=frame.lease_status.admission, status="open"))

    def get_stats(self, frame, fds):
        if self.mode == "locate":
            self.asked = frame
            return self.send(wire.Frame(id=1, locate=wire.Locate(run="x")))
        count = wire.Count(groups=self.acknowledged)
        books = wire.Books(reserved=count, acknowledged=count, live=wire.Count())
        return self.answer(
            frame, stats=wire.Stats(books=books, next_rollout=self.rollout, announced_version=self.version)
        )

    def confirm(self, frame, fds):
        self.confirmed = frame.confirm.version
        self.answer(frame, confirmed=wire.Confirmed())

    def begin_update(self, frame, fds):
        if frame.begin_update.version <= self.version and not frame.begin_update.rebroadcast:
            return self.refuse(
                frame, "conflict", f"outrider: version {frame.begin_update.version} is not above {self.version}"
            )
        self.updating = frame.begin_update.version or self.version
        return self.get_update(frame, fds)

    def get_update(self, frame, fds):
        engines = [wire.EngineState(session=1, name="engine", confirmed=self.confirmed == self.updating)]
        state = wire.UpdateState(hold=5, version=self.updating, last_version=self.version, engines=engines)
        self.answer(frame, update_state=state)

    def record_update(self, frame, fds):
        if self.mode == "restarted":
            self.mode = ""
            return self.refuse(frame, "stale", "outrider: hold 5 is not held")
        if self.confirmed != self.updating:
            return self.refuse(frame, "update_failed", f"outrider: no engine has confirmed version {self.updating}")
        self.version = self.updating
        return self.get_update(frame, fds)

    def undo_update(self, frame, fds):
        self.updating = self.version
        self.get_update(frame, fds)

    def release_hold(self, frame, fds):
        self.answer(frame, done=wire.Done())

    def hold(self, frame, fds):
        self.answer(frame, hold_granted=wire.HoldGranted(hold=5))

    await_frontier = release_hold
    drain = release_hold
    leave = release_hold

    def close(self, frame, fds):
        if self.mode == "crash":
            print("assertion failed: the books", file=sys.stderr)
            os._exit(1)
        for member in range(1, self.members + 1):
            self.send(wire.Frame(member=member, end=wire.End()))
        self.answer(frame, closed=wire.Closed(stats=wire.Stats(next_rollout=self.rollout), state=b"final"))


if __name__ == "__main__":
    Fake(int(sys.argv[sys.argv.index("--socket") + 1])).run()
