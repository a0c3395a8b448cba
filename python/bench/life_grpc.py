"""The same life by grpcio unary calls to a Go server with the same core behind it."""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import subprocess
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

import grpc
import grpc.aio
import numpy as np

from bench.life import COMPLETED, WARM
from bench.machine import children, processor_seconds
from bench.rival import rival_pb2 as pb
from bench.rows import BATCH_GROUPS, small_bytes

SERVICE = "/outrider.bench.Rival/"


def _call(channel: Any, name: str, request: Any, answer: Any) -> Any:
    return channel.unary_unary(
        SERVICE + name, request_serializer=request.SerializeToString, response_deserializer=answer.FromString
    )


class GrpcLife:
    """Server, worker and trainer as processes; as `life.Life` otherwise."""

    def __init__(self, binary: str, work: Callable[[str], None]) -> None:
        before = children()
        self._server = subprocess.Popen([binary], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._server.stdout is not None
        address = f"127.0.0.1:{int(self._server.stdout.readline())}"
        self.processor: list[float] = []
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._worker = context.Process(target=work, args=(address,), daemon=True)
        self._trainer = context.Process(target=train, args=(address, theirs), daemon=True)
        self._worker.start()
        self._trainer.start()
        self._processes = children() - before

    def measure(self, batches: int) -> float:
        """Groups trained a second over that many batches."""
        before = processor_seconds(self._processes)
        self._pipe.send(batches)
        seconds: float = self._pipe.recv()
        self.processor.append(
            (processor_seconds(self._processes) - before)
            / ((batches + WARM + COMPLETED // BATCH_GROUPS) * BATCH_GROUPS)
            * 1e6
        )
        return batches * BATCH_GROUPS / seconds

    def close(self) -> None:
        """Ends the processes."""
        self._pipe.send(0)
        self._trainer.join(10)
        self._server.communicate("\n", timeout=10)
        self._worker.join(10)
        if self._worker.is_alive():
            self._worker.kill()


def batched(address: str) -> None:
    """Worker: one Reserve and one Complete for up to 64 groups."""
    rows = small_bytes()
    with grpc.insecure_channel(address) as channel, contextlib.suppress(grpc.RpcError):
        reserve = _call(channel, "Reserve", pb.ReserveRequest, pb.Reserved)
        complete = _call(channel, "Complete", pb.CompleteRequest, pb.Completed)
        while True:
            receipts = reserve(pb.ReserveRequest(most=BATCH_GROUPS)).receipts
            done = complete(pb.CompleteRequest(results=[pb.Result(receipt=r, rows=rows) for r in receipts]))
            assert not any(done.errors), done.errors


def outstanding(address: str) -> None:
    """Worker: every group has a Reserve and a Complete of its own; 64 groups are on their way at once."""
    with contextlib.suppress(grpc.RpcError):
        asyncio.run(_outstanding(address))


async def _outstanding(address: str) -> None:
    rows = small_bytes()
    async with grpc.aio.insecure_channel(address) as channel:
        reserve = _call(channel, "Reserve", pb.ReserveRequest, pb.Reserved)
        complete = _call(channel, "Complete", pb.CompleteRequest, pb.Completed)

        async def one() -> None:
            while True:
                receipts = (await reserve(pb.ReserveRequest(most=1))).receipts
                await complete(pb.CompleteRequest(results=[pb.Result(receipt=r, rows=rows) for r in receipts]))

        await asyncio.gather(*(one() for _ in range(BATCH_GROUPS)))


def train(address: str, pipe: Connection) -> None:
    """Trainer: one Take (which publishes and admits) and one Commit a batch; reads the rows as one array."""
    with grpc.insecure_channel(address, options=[("grpc.max_receive_message_length", -1)]) as channel:
        take = _call(channel, "Take", pb.TakeRequest, pb.Taken)
        commit = _call(channel, "Commit", pb.CommitRequest, pb.Committed)
        rollout = 0

        def step() -> Any:
            nonlocal rollout
            taken = take(pb.TakeRequest(rollout=rollout))
            rollout += 1
            rows = np.frombuffer(b"".join([group.rows for group in taken.groups]), np.float64)
            commit(pb.CommitRequest(admission=taken.admission))
            return rows[::16].sum()

        while batches := pipe.recv():
            for _ in range(WARM + COMPLETED // BATCH_GROUPS):
                step()
            start = time.perf_counter()
            for _ in range(batches):
                step()
            pipe.send(time.perf_counter() - start)
