"""The edges of the wire and of the sidecar's life, against a sidecar that misbehaves."""

import asyncio
import contextlib
import logging
import multiprocessing
import os
import re
import select
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pyarrow as pa
import pytest

import outrider
from outrider import _wire_pb2 as wire
from outrider._channel import Channel


def sample(prompt):
    return outrider.Sample([1, 2, 3 + prompt.group], 2, reward=float(prompt.slot))


def work_all(worker, size=2):
    for work in worker.groups():
        work.complete([sample(work.prompt(slot)) for slot in range(size)])


def descriptors():
    """What every open descriptor of this process leads to."""
    found = {}
    for path in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):
            found[path.name] = str(path.readlink())
    return found


def in_thread(function, *arguments):
    thread = threading.Thread(target=function, args=arguments, daemon=True)
    thread.start()
    return thread


def test_L_01_a_sidecar_that_dies_at_its_start_is_an_error_with_its_last_words(fake, own):
    path = fake("die")
    with pytest.raises(outrider.StartError) as caught:
        own()
    message = str(caught.value)
    assert message.startswith(f"outrider: sidecar {path} (pid ")
    assert "ended with exit code 3 (parent lost) before it was up; its log is " in message
    assert message.endswith("; it said:\nno such luck")


def test_L_01_a_sidecar_that_keeps_silent_is_given_up(fake):
    from outrider._sidecar import Sidecar

    fake("silent")
    with pytest.raises(outrider.StartError, match=r"did not answer within 0\.05 s"):
        Sidecar("owner", start_seconds=0.05)


def test_L_01_a_sidecar_of_another_protocol_is_refused(fake, own):
    fake("protocol")
    with pytest.raises(outrider.StartError) as caught:
        own()
    assert str(caught.value) == (
        "outrider: sidecar fake speaks protocol 9..9, this package 2..2; install the same version of both"
    )


def test_L_01_no_binary(own, monkeypatch, tmp_path):
    monkeypatch.setenv("OUTRIDER_BINARY", str(tmp_path / "none"))
    with pytest.raises(outrider.StartError) as caught:
        own()
    assert str(caught.value) == (
        f"outrider: {tmp_path / 'none'} is not an executable file; install the wheel for this platform "
        "(linux x86_64 or aarch64) or point OUTRIDER_BINARY to the sidecar's binary"
    )


def test_a_failed_start_leaves_no_process_and_no_descriptor(fake, own):
    fake("die")
    before = descriptors()
    pids = []
    for _ in range(5):
        with pytest.raises(outrider.StartError) as caught:
            own()
        pids.append(re.search(r"\(pid (\d+)\)", str(caught.value))[1])
    assert descriptors() == before
    assert not any(Path("/proc", pid).exists() for pid in pids)


@pytest.mark.parametrize("mode", ["", "spill", "parts"])
def test_a_batch_arrives_however_its_answers_travel(fake, own, mode):
    fake(mode)
    run = own()
    with outrider.Worker(run, slots=8) as worker, outrider.Trainer(run) as trainer:
        in_thread(work_all, worker)
        for rollout in range(3):
            batch = trainer.next(rollout)
            assert [list(group.tokens) for group in batch.groups()] == [[1, 2, 3 + g.group] * 2 for g in batch.groups()]


def test_a_lease_that_is_revoked_on_the_way_is_taken_again(fake, own):
    fake("revoke")
    run = own()
    with outrider.Worker(run, slots=8) as worker, outrider.Trainer(run) as trainer:
        in_thread(work_all, worker)
        batch = trainer.next(0)
    assert (batch.rollout, batch.admission) == (0, 2)


def test_a_result_that_comes_too_late_is_no_error(fake, own):
    fake("stale")
    run = own()
    with outrider.Worker(run, slots=2) as worker:
        work = next(worker.groups())
        assert work.complete([sample(work.prompt(slot)) for slot in range(2)]) is False


def test_a_take_that_takes_too_long_times_out_and_is_cancelled(fake, own):
    run = own()
    with pytest.raises(TimeoutError) as caught:
        run.take(0, timeout=0.0)
    assert str(caught.value) == (
        "outrider: take of rollout 0: no full batch within 0 s; see run.progress(), then wait longer or look for what is missing"
    )


async def test_a_cancelled_take_leaves_no_question_open(fake, own, monkeypatch):
    run = own()
    asked = threading.Event()
    ask = Channel.ask

    def watched(channel, frame, fds=()):
        future = ask(channel, frame, fds)
        if frame.WhichOneof("body") == "take":
            asked.set()
        return future

    monkeypatch.setattr(Channel, "ask", watched)
    task = asyncio.create_task(run.take_async(0))
    await asyncio.to_thread(asked.wait)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert run.stats().next_rollout == 0
    assert not run._client_member.attachment.channel._pending


def test_the_sidecar_may_ask_where_the_owner_is(fake, own):
    fake("locate")
    assert own().stats().ownership == "127.0.0.1:1"


def test_a_sidecar_that_crashes_is_named_with_pid_code_and_words(fake, own):
    fake("crash")
    run = own()
    pid = run._owner.sidecar.pid
    with pytest.raises(outrider.Closed) as caught:
        run.close()
    assert f"outrider: the sidecar (pid {pid}) ended with exit code 1 (internal error); its log is " in str(
        caught.value
    )
    assert "it said:\nassertion failed: the books; attach again" in str(caught.value)
    with pytest.raises(outrider.Closed, match=f"pid {pid}"):
        run.stats()


def test_S7_15_an_update_that_nobody_confirms_fails_with_its_causes(fake, own):
    run = own()

    def send(version, members):
        raise ConnectionError(f"rank {len(members)} is gone")

    with pytest.raises(outrider.UpdateFailed) as caught:
        run.update_weights(3, send, resend=1)
    assert [str(cause) for cause in caught.value.causes] == ["rank 1 is gone"] * 2
    assert str(caught.value).startswith("outrider: update to version 3: no engine confirmed it; the run is held")
    assert isinstance(caught.value.__cause__, ConnectionError)


def test_an_update_whose_hold_died_with_the_owner_begins_again(fake, own):
    fake("restarted")
    run = own()
    with outrider.Worker(run) as worker:
        sent = []
        report = run.update_weights(3, lambda version, members: (sent.append(version), worker.confirm(version)))
    assert report.version == 3
    assert [engine.name for engine in report.confirmed] == ["engine"]
    assert sent == [3]


def test_S8_09_an_update_that_fails_goes_back_with_restore(fake, own):
    run = own()
    done = []
    with outrider.Worker(run) as worker:

        def send(version, members):
            done.append(("send", version))
            if version == 0:
                worker.confirm(0)

        worker.confirm(7)
        with pytest.raises(outrider.UpdateFailed, match=r"trainer, ledger and engines are back at version 0"):
            run.update_weights(3, send, restore=lambda version: done.append(("restore", version)), resend=0)
    assert done == [("send", 3), ("restore", 0), ("send", 0)]


def test_an_async_send_needs_the_async_form(fake, own):
    run = own()

    async def send(version, members):
        pass

    with pytest.raises(outrider.UpdateFailed, match="use the call's _async form"):
        run.update_weights(3, send)


def test_L_12_a_forked_child_lets_go_of_the_session(fake, own):
    run = own()
    sock = run._owner.sidecar.sock.fileno()
    name = descriptors()[str(sock)]
    run.stats()
    here, there = multiprocessing.get_context("fork").Pipe()

    def child():
        held = descriptors().values()
        try:
            run.stats()
        except outrider.Closed as error:
            there.send((name in held, str(error)))

    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    held, message = here.recv()
    process.join()
    assert not held
    assert message == "outrider: this process was forked from the one that attached; attach in the child"
    assert run.stats().next_rollout == 0


FORKS = """
import os, signal, outrider
run = outrider.own("forks", source=outrider.table([{"question": "?"}]), group_size=1, batch_groups=1)
child = os.fork()
if child == 0:
    signal.pause()
print(run._owner.sidecar.pid, child, flush=True)
signal.pause()
"""


def test_L_12_the_parents_end_is_noticed_while_a_forked_child_lives():
    parent = subprocess.Popen([sys.executable, "-c", FORKS], stdout=subprocess.PIPE, text=True)
    sidecar, child = map(int, parent.stdout.readline().split())
    try:
        end = os.pidfd_open(sidecar)
        parent.kill()
        parent.wait()
        select.select([end], [], [])  # for ever where the child stands in for its parent
        os.close(end)
        os.kill(child, 0)  # it lives
    finally:
        os.kill(child, signal.SIGKILL)


def test_frames_that_do_not_fit_the_socket_arrive_in_order_and_block_nobody():
    import socket

    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    channel = Channel(ours, lambda frame, fds: None, lambda: outrider.Closed("over"))
    channel.start()
    count = 200
    for number in range(count):
        channel.tell(wire.Frame(member=number, own=wire.Own(state=b"x" * 100_000)))
    seen = [wire.Frame.FromString(theirs.recv(1 << 20)).member for _ in range(count)]
    assert seen == list(range(count))
    theirs.close()
    channel.close()


def test_a_frame_that_is_no_frame_is_logged_and_the_next_one_is_read(caplog):
    import socket

    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    seen = threading.Event()
    channel = Channel(ours, lambda frame, fds: seen.set(), lambda: outrider.Closed("over"))
    channel.start()
    with caplog.at_level(logging.ERROR, "outrider"):
        theirs.send(b"\xff\xff\xff")
        theirs.send(wire.Frame(end=wire.End()).SerializeToString())
        assert seen.wait(30)
    assert "a frame of 3 bytes from the sidecar was not understood" in caplog.text
    theirs.close()
    channel.close()


def test_two_closers_share_one_close(fake, own):
    run = own()
    results = []
    threads = [in_thread(lambda: results.append(run.close())) for _ in range(4)]
    for thread in threads:
        thread.join()
    assert len(results) == 4
    assert all(result is results[0] for result in results)
    with pytest.raises(outrider.Closed) as caught:
        run.take(0)
    assert str(caught.value) == "outrider: run 'test' is closed; start a new one"


def test_one_sidecar_serves_all_objects_of_a_process_and_goes_with_the_last(fake, own):
    run = own()
    attachment = run._owner
    worker, trainer = outrider.Worker(run), outrider.Trainer(run)
    assert worker._member.attachment is trainer._member.attachment is attachment
    run.close()
    trainer.close()
    assert attachment.sidecar.exit_code is None
    worker.close()
    worker.close()
    assert attachment.sidecar.exit_code == 0


def test_a_table_of_many_batches_is_read_row_by_row(fake):
    batches = [pa.RecordBatch.from_pydict({"n": [n, n + 1]}) for n in (0, 2)]
    run = outrider.own("t", source=outrider.table(pa.Table.from_batches(batches)), group_size=2, batch_groups=2)
    with outrider.Worker(run, slots=8) as worker:
        stream = worker.groups()
        works = [next(stream) for _ in range(4)]
        assert [work.prompt(1)["n"] for work in works] == [0, 1, 2, 3]
        assert [work.prompts.column("n").to_pylist() for work in works] == [[n, n] for n in range(4)]
    run.close()
