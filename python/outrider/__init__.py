"""Outrider: prompt groups, leases and shared memory for asynchronous reinforcement learning beside Ray actors.

A job starts or owns a `Run`; engines attach as `Worker`, trainer ranks as `Trainer`; a `Batch` is read in place.
"""

from outrider.batch import Batch, Group
from outrider.config import Limits, Policy
from outrider.data_source import DataSource, data_source
from outrider.engine import Engine
from outrider.errors import (
    Closed,
    CohortChanged,
    ConfigError,
    Conflict,
    Damaged,
    DataError,
    EndOfRun,
    Error,
    NotAdmitted,
    NoWorkers,
    OwnerLost,
    Refused,
    Retry,
    RunFailed,
    SourceError,
    Stale,
    StartError,
    Unsupported,
    UpdateFailed,
)
from outrider.hold import Hold
from outrider.keyed import Keyed, keyed
from outrider.lease import Lease, LeasedGroup
from outrider.packing import Packed
from outrider.prompt import Prompt
from outrider.publication import Publication
from outrider.run import Rewound, Run
from outrider.sample import Sample
from outrider.source import Table, table
from outrider.stage import Stage, StageGroup
from outrider.start import connect, own, start
from outrider.stats import Books, Bound, Count, Eviction, MemberStats, Stats, StepStats
from outrider.stream import Stream, stream
from outrider.tls import TLS
from outrider.trainer import Trainer
from outrider.update import EngineState, Members, UpdateReport
from outrider.view import Missing
from outrider.work import Work
from outrider.worker import Worker

__all__ = [
    "TLS",
    "Batch",
    "Books",
    "Bound",
    "Closed",
    "CohortChanged",
    "ConfigError",
    "Conflict",
    "Count",
    "Damaged",
    "DataError",
    "DataSource",
    "EndOfRun",
    "Engine",
    "EngineState",
    "Error",
    "Eviction",
    "Group",
    "Hold",
    "Keyed",
    "Lease",
    "LeasedGroup",
    "Limits",
    "MemberStats",
    "Members",
    "Missing",
    "NoWorkers",
    "NotAdmitted",
    "OwnerLost",
    "Packed",
    "Policy",
    "Prompt",
    "Publication",
    "Refused",
    "Retry",
    "Rewound",
    "Run",
    "RunFailed",
    "Sample",
    "SourceError",
    "Stage",
    "StageGroup",
    "Stale",
    "StartError",
    "Stats",
    "StepStats",
    "Stream",
    "Table",
    "Trainer",
    "Unsupported",
    "UpdateFailed",
    "UpdateReport",
    "Work",
    "Worker",
    "connect",
    "data_source",
    "keyed",
    "own",
    "start",
    "stream",
    "table",
]
