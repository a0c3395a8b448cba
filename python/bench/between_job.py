"""`bench.between_job HERE THERE MEGABYTES ROUNDS`, run on one of two hosts by `bench.between`: fetches in turns from the other; prints JSON."""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
import time
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.flight
import ray

import outrider
from bench.between import KINDS
from bench.handover import GROUP_SIZE, samples_of
from bench.machine import host_seconds
from bench.rows import PROMPT, RESPONSE, columns, record_batch

PIECE = 1 << 20


class Stock(pyarrow.flight.FlightServerBase):
    """Serves one record batch as pyarrow does."""

    def __init__(self, ip: str, batch: pa.RecordBatch) -> None:
        super().__init__(f"grpc://{ip}:0")
        self._table = pa.Table.from_batches([batch])

    def do_get(self, context: Any, ticket: Any) -> Any:
        """The batch, whatever the ticket says."""
        return pyarrow.flight.RecordBatchStream(self._table)


@ray.remote(num_cpus=0)
class Far:
    """Everybody who sends."""

    def __init__(self, run: outrider.Run, ip: str, megabytes: float) -> None:
        self._cols = columns(samples_of(megabytes), PROMPT, RESPONSE)
        self._batch = record_batch(self._cols)
        self._works = iter(outrider.Worker(run, slots=GROUP_SIZE, engine=False).groups())
        self._stock = Stock(ip, self._batch)
        self._listener = socket.create_server((ip, 0))
        threading.Thread(target=self._send, daemon=True).start()

    def _send(self) -> None:
        while True:
            conn, _ = self._listener.accept()
            with conn:
                for column in self._cols.values():
                    conn.sendall(memoryview(column).cast("B"))

    def places(self) -> dict[str, int]:
        """Ports, and how many bytes there are."""
        size = sum(column.nbytes for column in self._cols.values())
        return {"tcp": self._listener.getsockname()[1], "flight": self._stock.port, "bytes": size}

    def complete(self) -> None:
        """One group with the columns is finished."""
        work = next(self._works)
        count = self._batch.num_rows
        slot = (np.arange(count) // (count // GROUP_SIZE)).astype(np.int32)
        assert work.complete(record_batch(self._cols, np.full(count, work.group, np.int64), slot))

    def put(self) -> list[Any]:
        """The columns in this node's store."""
        return [ray.put(self._cols)]

    def processor(self) -> float:
        """Seconds of this host so far."""
        return host_seconds()


class Near:
    """Whoever fetches."""

    def __init__(self, run: outrider.Run, far: Any, ip: str) -> None:
        self._run, self._far, self._ip = run, far, ip
        self._trainer = outrider.Trainer(run)
        self._rollout = 0
        self._places = ray.get(far.places.remote())
        self._stock = pyarrow.flight.connect(f"grpc://{ip}:{self._places['flight']}")

    def turn(self, kind: str) -> dict[str, float]:
        """One fetch: MB/s, and processor seconds for each GB at either end."""
        return {"outrider": self.outrider, "tcp": self.tcp, "flight": self.flight, "ray": self.ray}[kind]()

    def outrider(self) -> dict[str, float]:
        """From a publication to the rows of a batch."""
        done = self._far.complete.remote()
        lease = self._run.take(self._rollout)
        ray.get(done)
        publication = lease.publish()
        seen = self._measure(lambda: self._trainer.admit(publication))
        lease.commit()
        self._rollout += 1
        return seen

    def tcp(self) -> dict[str, float]:
        """A new connection, its bytes written into a new memfd."""
        return self._measure(self._copy)

    def _copy(self) -> None:
        piece, landed = memoryview(bytearray(PIECE)), 0
        fd = os.memfd_create("bench")
        with socket.create_connection((self._ip, self._places["tcp"])) as conn:
            while count := conn.recv_into(piece):
                landed += os.write(fd, piece[:count])
        assert landed == self._places["bytes"]
        os.close(fd)

    def flight(self) -> dict[str, float]:
        """The batch by a client that is connected already."""
        return self._measure(lambda: self._stock.do_get(pyarrow.flight.Ticket(b"")).read_all())

    def ray(self) -> dict[str, float]:
        """An object that this node's store does not have yet."""
        refs = ray.get(self._far.put.remote())
        return self._measure(lambda: ray.get(refs[0]))

    def _measure(self, fetch: Any) -> dict[str, float]:
        gigabytes = self._places["bytes"] / 1e9
        time.sleep(0.2)
        sender, receiver, start = ray.get(self._far.processor.remote()), host_seconds(), time.perf_counter()
        held = fetch()
        seconds = time.perf_counter() - start
        used = host_seconds() - receiver, ray.get(self._far.processor.remote()) - sender
        del held
        return {"MB/s": 1e3 * gigabytes / seconds, "receiver": used[0] / gigabytes, "sender": used[1] / gigabytes}


def main(here: str, there: str, megabytes: str, rounds: str) -> None:
    """All contestants in turns, once before anything counts."""
    ray.init(address=f"{here}:6379", _node_ip_address=here, log_to_driver=False, logging_level="ERROR")
    run = outrider.start(
        "bench-between",
        source=outrider.table([{"question": i} for i in range(64)]),
        group_size=GROUP_SIZE,
        batch_groups=1,
    )
    far = Far.options(resources={"host2": 1}).remote(run, there, float(megabytes))
    near = Near(run, far, there)
    for kind in KINDS:
        near.turn(kind)
    turns: dict[str, list[dict[str, float]]] = {kind: [] for kind in KINDS}
    for number in range(int(rounds)):
        for kind in list(KINDS) if number % 2 == 0 else list(reversed(KINDS)):
            turns[kind].append(near.turn(kind))
    run.close(force=True)
    sys.stdout.write("\n" + json.dumps(turns) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
