from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Frame(_message.Message):
    __slots__ = ["id", "answer", "member", "error", "ready", "hello", "spilled", "log_line", "done", "own", "owned", "join", "joined", "leave", "locate", "located", "new_term", "new_timeline", "end", "fetch", "fetched", "get_status", "status", "grant", "cancel", "sample_done", "report", "reported", "confirm", "confirmed", "drain", "release", "carried", "credit", "cancel_groups", "groups_cancelled", "set_slots", "quiet", "quieted", "keeper", "keep", "kept", "unkept", "stage_grant", "take", "cancel_take", "lease", "publish", "publication", "admit", "admitted", "commit", "rollback", "lease_status", "settled", "discard_groups", "next", "add_columns", "get_column", "push", "pushed", "end_stream", "let_go", "offer", "offered", "pull", "pulled", "give_back", "gave_back", "set_base", "append", "committed", "restored", "mapped", "get_state", "state_bytes", "saved", "rewind", "rewound", "get_stats", "stats", "close", "closed", "get_metrics", "metrics", "hold", "hold_granted", "await_frontier", "release_hold", "begin_update", "update_state", "get_update", "record_update", "undo_update"]
    ID_FIELD_NUMBER: _ClassVar[int]
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    MEMBER_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    READY_FIELD_NUMBER: _ClassVar[int]
    HELLO_FIELD_NUMBER: _ClassVar[int]
    SPILLED_FIELD_NUMBER: _ClassVar[int]
    LOG_LINE_FIELD_NUMBER: _ClassVar[int]
    DONE_FIELD_NUMBER: _ClassVar[int]
    OWN_FIELD_NUMBER: _ClassVar[int]
    OWNED_FIELD_NUMBER: _ClassVar[int]
    JOIN_FIELD_NUMBER: _ClassVar[int]
    JOINED_FIELD_NUMBER: _ClassVar[int]
    LEAVE_FIELD_NUMBER: _ClassVar[int]
    LOCATE_FIELD_NUMBER: _ClassVar[int]
    LOCATED_FIELD_NUMBER: _ClassVar[int]
    NEW_TERM_FIELD_NUMBER: _ClassVar[int]
    NEW_TIMELINE_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    FETCH_FIELD_NUMBER: _ClassVar[int]
    FETCHED_FIELD_NUMBER: _ClassVar[int]
    GET_STATUS_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    GRANT_FIELD_NUMBER: _ClassVar[int]
    CANCEL_FIELD_NUMBER: _ClassVar[int]
    SAMPLE_DONE_FIELD_NUMBER: _ClassVar[int]
    REPORT_FIELD_NUMBER: _ClassVar[int]
    REPORTED_FIELD_NUMBER: _ClassVar[int]
    CONFIRM_FIELD_NUMBER: _ClassVar[int]
    CONFIRMED_FIELD_NUMBER: _ClassVar[int]
    DRAIN_FIELD_NUMBER: _ClassVar[int]
    RELEASE_FIELD_NUMBER: _ClassVar[int]
    CARRIED_FIELD_NUMBER: _ClassVar[int]
    CREDIT_FIELD_NUMBER: _ClassVar[int]
    CANCEL_GROUPS_FIELD_NUMBER: _ClassVar[int]
    GROUPS_CANCELLED_FIELD_NUMBER: _ClassVar[int]
    SET_SLOTS_FIELD_NUMBER: _ClassVar[int]
    QUIET_FIELD_NUMBER: _ClassVar[int]
    QUIETED_FIELD_NUMBER: _ClassVar[int]
    KEEPER_FIELD_NUMBER: _ClassVar[int]
    KEEP_FIELD_NUMBER: _ClassVar[int]
    KEPT_FIELD_NUMBER: _ClassVar[int]
    UNKEPT_FIELD_NUMBER: _ClassVar[int]
    STAGE_GRANT_FIELD_NUMBER: _ClassVar[int]
    TAKE_FIELD_NUMBER: _ClassVar[int]
    CANCEL_TAKE_FIELD_NUMBER: _ClassVar[int]
    LEASE_FIELD_NUMBER: _ClassVar[int]
    PUBLISH_FIELD_NUMBER: _ClassVar[int]
    PUBLICATION_FIELD_NUMBER: _ClassVar[int]
    ADMIT_FIELD_NUMBER: _ClassVar[int]
    ADMITTED_FIELD_NUMBER: _ClassVar[int]
    COMMIT_FIELD_NUMBER: _ClassVar[int]
    ROLLBACK_FIELD_NUMBER: _ClassVar[int]
    LEASE_STATUS_FIELD_NUMBER: _ClassVar[int]
    SETTLED_FIELD_NUMBER: _ClassVar[int]
    DISCARD_GROUPS_FIELD_NUMBER: _ClassVar[int]
    NEXT_FIELD_NUMBER: _ClassVar[int]
    ADD_COLUMNS_FIELD_NUMBER: _ClassVar[int]
    GET_COLUMN_FIELD_NUMBER: _ClassVar[int]
    PUSH_FIELD_NUMBER: _ClassVar[int]
    PUSHED_FIELD_NUMBER: _ClassVar[int]
    END_STREAM_FIELD_NUMBER: _ClassVar[int]
    LET_GO_FIELD_NUMBER: _ClassVar[int]
    OFFER_FIELD_NUMBER: _ClassVar[int]
    OFFERED_FIELD_NUMBER: _ClassVar[int]
    PULL_FIELD_NUMBER: _ClassVar[int]
    PULLED_FIELD_NUMBER: _ClassVar[int]
    GIVE_BACK_FIELD_NUMBER: _ClassVar[int]
    GAVE_BACK_FIELD_NUMBER: _ClassVar[int]
    SET_BASE_FIELD_NUMBER: _ClassVar[int]
    APPEND_FIELD_NUMBER: _ClassVar[int]
    COMMITTED_FIELD_NUMBER: _ClassVar[int]
    RESTORED_FIELD_NUMBER: _ClassVar[int]
    MAPPED_FIELD_NUMBER: _ClassVar[int]
    GET_STATE_FIELD_NUMBER: _ClassVar[int]
    STATE_BYTES_FIELD_NUMBER: _ClassVar[int]
    SAVED_FIELD_NUMBER: _ClassVar[int]
    REWIND_FIELD_NUMBER: _ClassVar[int]
    REWOUND_FIELD_NUMBER: _ClassVar[int]
    GET_STATS_FIELD_NUMBER: _ClassVar[int]
    STATS_FIELD_NUMBER: _ClassVar[int]
    CLOSE_FIELD_NUMBER: _ClassVar[int]
    CLOSED_FIELD_NUMBER: _ClassVar[int]
    GET_METRICS_FIELD_NUMBER: _ClassVar[int]
    METRICS_FIELD_NUMBER: _ClassVar[int]
    HOLD_FIELD_NUMBER: _ClassVar[int]
    HOLD_GRANTED_FIELD_NUMBER: _ClassVar[int]
    AWAIT_FRONTIER_FIELD_NUMBER: _ClassVar[int]
    RELEASE_HOLD_FIELD_NUMBER: _ClassVar[int]
    BEGIN_UPDATE_FIELD_NUMBER: _ClassVar[int]
    UPDATE_STATE_FIELD_NUMBER: _ClassVar[int]
    GET_UPDATE_FIELD_NUMBER: _ClassVar[int]
    RECORD_UPDATE_FIELD_NUMBER: _ClassVar[int]
    UNDO_UPDATE_FIELD_NUMBER: _ClassVar[int]
    id: int
    answer: bool
    member: int
    error: Error
    ready: Ready
    hello: Hello
    spilled: Spilled
    log_line: LogLine
    done: Done
    own: Own
    owned: Owned
    join: Join
    joined: Joined
    leave: Leave
    locate: Locate
    located: Located
    new_term: NewTerm
    new_timeline: NewTimeline
    end: End
    fetch: Fetch
    fetched: Fetched
    get_status: GetStatus
    status: Status
    grant: Grant
    cancel: Cancel
    sample_done: SampleDone
    report: Report
    reported: Reported
    confirm: Confirm
    confirmed: Confirmed
    drain: Drain
    release: Release
    carried: Carried
    credit: Credit
    cancel_groups: CancelGroups
    groups_cancelled: GroupsCancelled
    set_slots: SetSlots
    quiet: Quiet
    quieted: Quieted
    keeper: Keeper
    keep: Keep
    kept: Kept
    unkept: Unkept
    stage_grant: StageGrant
    take: Take
    cancel_take: CancelTake
    lease: Lease
    publish: Publish
    publication: Publication
    admit: Admit
    admitted: Admitted
    commit: Commit
    rollback: Rollback
    lease_status: LeaseStatus
    settled: Settled
    discard_groups: DiscardGroups
    next: Next
    add_columns: AddColumns
    get_column: GetColumn
    push: Push
    pushed: Pushed
    end_stream: EndStream
    let_go: LetGo
    offer: Offer
    offered: Offered
    pull: Pull
    pulled: Pulled
    give_back: GiveBack
    gave_back: GaveBack
    set_base: SetBase
    append: Append
    committed: Committed
    restored: Restored
    mapped: Mapped
    get_state: GetState
    state_bytes: StateBytes
    saved: Saved
    rewind: Rewind
    rewound: Rewound
    get_stats: GetStats
    stats: Stats
    close: Close
    closed: Closed
    get_metrics: GetMetrics
    metrics: Metrics
    hold: Hold
    hold_granted: HoldGranted
    await_frontier: AwaitFrontier
    release_hold: ReleaseHold
    begin_update: BeginUpdate
    update_state: UpdateState
    get_update: GetUpdate
    record_update: RecordUpdate
    undo_update: UndoUpdate
    def __init__(self, id: _Optional[int] = ..., answer: bool = ..., member: _Optional[int] = ..., error: _Optional[_Union[Error, _Mapping]] = ..., ready: _Optional[_Union[Ready, _Mapping]] = ..., hello: _Optional[_Union[Hello, _Mapping]] = ..., spilled: _Optional[_Union[Spilled, _Mapping]] = ..., log_line: _Optional[_Union[LogLine, _Mapping]] = ..., done: _Optional[_Union[Done, _Mapping]] = ..., own: _Optional[_Union[Own, _Mapping]] = ..., owned: _Optional[_Union[Owned, _Mapping]] = ..., join: _Optional[_Union[Join, _Mapping]] = ..., joined: _Optional[_Union[Joined, _Mapping]] = ..., leave: _Optional[_Union[Leave, _Mapping]] = ..., locate: _Optional[_Union[Locate, _Mapping]] = ..., located: _Optional[_Union[Located, _Mapping]] = ..., new_term: _Optional[_Union[NewTerm, _Mapping]] = ..., new_timeline: _Optional[_Union[NewTimeline, _Mapping]] = ..., end: _Optional[_Union[End, _Mapping]] = ..., fetch: _Optional[_Union[Fetch, _Mapping]] = ..., fetched: _Optional[_Union[Fetched, _Mapping]] = ..., get_status: _Optional[_Union[GetStatus, _Mapping]] = ..., status: _Optional[_Union[Status, _Mapping]] = ..., grant: _Optional[_Union[Grant, _Mapping]] = ..., cancel: _Optional[_Union[Cancel, _Mapping]] = ..., sample_done: _Optional[_Union[SampleDone, _Mapping]] = ..., report: _Optional[_Union[Report, _Mapping]] = ..., reported: _Optional[_Union[Reported, _Mapping]] = ..., confirm: _Optional[_Union[Confirm, _Mapping]] = ..., confirmed: _Optional[_Union[Confirmed, _Mapping]] = ..., drain: _Optional[_Union[Drain, _Mapping]] = ..., release: _Optional[_Union[Release, _Mapping]] = ..., carried: _Optional[_Union[Carried, _Mapping]] = ..., credit: _Optional[_Union[Credit, _Mapping]] = ..., cancel_groups: _Optional[_Union[CancelGroups, _Mapping]] = ..., groups_cancelled: _Optional[_Union[GroupsCancelled, _Mapping]] = ..., set_slots: _Optional[_Union[SetSlots, _Mapping]] = ..., quiet: _Optional[_Union[Quiet, _Mapping]] = ..., quieted: _Optional[_Union[Quieted, _Mapping]] = ..., keeper: _Optional[_Union[Keeper, _Mapping]] = ..., keep: _Optional[_Union[Keep, _Mapping]] = ..., kept: _Optional[_Union[Kept, _Mapping]] = ..., unkept: _Optional[_Union[Unkept, _Mapping]] = ..., stage_grant: _Optional[_Union[StageGrant, _Mapping]] = ..., take: _Optional[_Union[Take, _Mapping]] = ..., cancel_take: _Optional[_Union[CancelTake, _Mapping]] = ..., lease: _Optional[_Union[Lease, _Mapping]] = ..., publish: _Optional[_Union[Publish, _Mapping]] = ..., publication: _Optional[_Union[Publication, _Mapping]] = ..., admit: _Optional[_Union[Admit, _Mapping]] = ..., admitted: _Optional[_Union[Admitted, _Mapping]] = ..., commit: _Optional[_Union[Commit, _Mapping]] = ..., rollback: _Optional[_Union[Rollback, _Mapping]] = ..., lease_status: _Optional[_Union[LeaseStatus, _Mapping]] = ..., settled: _Optional[_Union[Settled, _Mapping]] = ..., discard_groups: _Optional[_Union[DiscardGroups, _Mapping]] = ..., next: _Optional[_Union[Next, _Mapping]] = ..., add_columns: _Optional[_Union[AddColumns, _Mapping]] = ..., get_column: _Optional[_Union[GetColumn, _Mapping]] = ..., push: _Optional[_Union[Push, _Mapping]] = ..., pushed: _Optional[_Union[Pushed, _Mapping]] = ..., end_stream: _Optional[_Union[EndStream, _Mapping]] = ..., let_go: _Optional[_Union[LetGo, _Mapping]] = ..., offer: _Optional[_Union[Offer, _Mapping]] = ..., offered: _Optional[_Union[Offered, _Mapping]] = ..., pull: _Optional[_Union[Pull, _Mapping]] = ..., pulled: _Optional[_Union[Pulled, _Mapping]] = ..., give_back: _Optional[_Union[GiveBack, _Mapping]] = ..., gave_back: _Optional[_Union[GaveBack, _Mapping]] = ..., set_base: _Optional[_Union[SetBase, _Mapping]] = ..., append: _Optional[_Union[Append, _Mapping]] = ..., committed: _Optional[_Union[Committed, _Mapping]] = ..., restored: _Optional[_Union[Restored, _Mapping]] = ..., mapped: _Optional[_Union[Mapped, _Mapping]] = ..., get_state: _Optional[_Union[GetState, _Mapping]] = ..., state_bytes: _Optional[_Union[StateBytes, _Mapping]] = ..., saved: _Optional[_Union[Saved, _Mapping]] = ..., rewind: _Optional[_Union[Rewind, _Mapping]] = ..., rewound: _Optional[_Union[Rewound, _Mapping]] = ..., get_stats: _Optional[_Union[GetStats, _Mapping]] = ..., stats: _Optional[_Union[Stats, _Mapping]] = ..., close: _Optional[_Union[Close, _Mapping]] = ..., closed: _Optional[_Union[Closed, _Mapping]] = ..., get_metrics: _Optional[_Union[GetMetrics, _Mapping]] = ..., metrics: _Optional[_Union[Metrics, _Mapping]] = ..., hold: _Optional[_Union[Hold, _Mapping]] = ..., hold_granted: _Optional[_Union[HoldGranted, _Mapping]] = ..., await_frontier: _Optional[_Union[AwaitFrontier, _Mapping]] = ..., release_hold: _Optional[_Union[ReleaseHold, _Mapping]] = ..., begin_update: _Optional[_Union[BeginUpdate, _Mapping]] = ..., update_state: _Optional[_Union[UpdateState, _Mapping]] = ..., get_update: _Optional[_Union[GetUpdate, _Mapping]] = ..., record_update: _Optional[_Union[RecordUpdate, _Mapping]] = ..., undo_update: _Optional[_Union[UndoUpdate, _Mapping]] = ...) -> None: ...

class Error(_message.Message):
    __slots__ = ["kind", "message"]
    KIND_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    kind: str
    message: str
    def __init__(self, kind: _Optional[str] = ..., message: _Optional[str] = ...) -> None: ...

class Done(_message.Message):
    __slots__ = []
    def __init__(self) -> None: ...

class Ready(_message.Message):
    __slots__ = ["protocol_min", "protocol_max", "version", "pid"]
    PROTOCOL_MIN_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_MAX_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    PID_FIELD_NUMBER: _ClassVar[int]
    protocol_min: int
    protocol_max: int
    version: str
    pid: int
    def __init__(self, protocol_min: _Optional[int] = ..., protocol_max: _Optional[int] = ..., version: _Optional[str] = ..., pid: _Optional[int] = ...) -> None: ...

class Hello(_message.Message):
    __slots__ = ["protocol_min", "protocol_max", "version"]
    PROTOCOL_MIN_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_MAX_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    protocol_min: int
    protocol_max: int
    version: str
    def __init__(self, protocol_min: _Optional[int] = ..., protocol_max: _Optional[int] = ..., version: _Optional[str] = ...) -> None: ...

class Spilled(_message.Message):
    __slots__ = ["bytes"]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    bytes: int
    def __init__(self, bytes: _Optional[int] = ...) -> None: ...

class LogLine(_message.Message):
    __slots__ = ["level", "message"]
    LEVEL_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    level: str
    message: str
    def __init__(self, level: _Optional[str] = ..., message: _Optional[str] = ...) -> None: ...

class Term(_message.Message):
    __slots__ = ["number", "session"]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    number: int
    session: int
    def __init__(self, number: _Optional[int] = ..., session: _Optional[int] = ...) -> None: ...

class Timeline(_message.Message):
    __slots__ = ["number", "origin"]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    ORIGIN_FIELD_NUMBER: _ClassVar[int]
    number: int
    origin: Term
    def __init__(self, number: _Optional[int] = ..., origin: _Optional[_Union[Term, _Mapping]] = ...) -> None: ...

class Receipt(_message.Message):
    __slots__ = ["timeline", "group", "attempt", "execution", "worker"]
    TIMELINE_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    EXECUTION_FIELD_NUMBER: _ClassVar[int]
    WORKER_FIELD_NUMBER: _ClassVar[int]
    timeline: Timeline
    group: int
    attempt: int
    execution: int
    worker: int
    def __init__(self, timeline: _Optional[_Union[Timeline, _Mapping]] = ..., group: _Optional[int] = ..., attempt: _Optional[int] = ..., execution: _Optional[int] = ..., worker: _Optional[int] = ...) -> None: ...

class SegmentId(_message.Message):
    __slots__ = ["holder", "number", "checksum", "fd", "inode"]
    HOLDER_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    CHECKSUM_FIELD_NUMBER: _ClassVar[int]
    FD_FIELD_NUMBER: _ClassVar[int]
    INODE_FIELD_NUMBER: _ClassVar[int]
    holder: int
    number: int
    checksum: int
    fd: int
    inode: int
    def __init__(self, holder: _Optional[int] = ..., number: _Optional[int] = ..., checksum: _Optional[int] = ..., fd: _Optional[int] = ..., inode: _Optional[int] = ...) -> None: ...

class Locator(_message.Message):
    __slots__ = ["segment", "first_row", "rows", "keeper", "columns"]
    SEGMENT_FIELD_NUMBER: _ClassVar[int]
    FIRST_ROW_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    KEEPER_FIELD_NUMBER: _ClassVar[int]
    COLUMNS_FIELD_NUMBER: _ClassVar[int]
    segment: SegmentId
    first_row: int
    rows: int
    keeper: int
    columns: _containers.RepeatedCompositeFieldContainer[Locator]
    def __init__(self, segment: _Optional[_Union[SegmentId, _Mapping]] = ..., first_row: _Optional[int] = ..., rows: _Optional[int] = ..., keeper: _Optional[int] = ..., columns: _Optional[_Iterable[_Union[Locator, _Mapping]]] = ...) -> None: ...

class Endpoint(_message.Message):
    __slots__ = ["session", "host", "socket", "address", "memory", "pid"]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    HOST_FIELD_NUMBER: _ClassVar[int]
    SOCKET_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    PID_FIELD_NUMBER: _ClassVar[int]
    session: int
    host: str
    socket: str
    address: str
    memory: int
    pid: int
    def __init__(self, session: _Optional[int] = ..., host: _Optional[str] = ..., socket: _Optional[str] = ..., address: _Optional[str] = ..., memory: _Optional[int] = ..., pid: _Optional[int] = ...) -> None: ...

class Run(_message.Message):
    __slots__ = ["name", "id", "token", "tls"]
    NAME_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    TLS_FIELD_NUMBER: _ClassVar[int]
    name: str
    id: str
    token: str
    tls: Tls
    def __init__(self, name: _Optional[str] = ..., id: _Optional[str] = ..., token: _Optional[str] = ..., tls: _Optional[_Union[Tls, _Mapping]] = ...) -> None: ...

class Tls(_message.Message):
    __slots__ = ["ca", "cert", "key", "name"]
    CA_FIELD_NUMBER: _ClassVar[int]
    CERT_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    ca: bytes
    cert: bytes
    key: bytes
    name: str
    def __init__(self, ca: _Optional[bytes] = ..., cert: _Optional[bytes] = ..., key: _Optional[bytes] = ..., name: _Optional[str] = ...) -> None: ...

class Own(_message.Message):
    __slots__ = ["run", "config", "state", "recover", "ip"]
    RUN_FIELD_NUMBER: _ClassVar[int]
    CONFIG_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    RECOVER_FIELD_NUMBER: _ClassVar[int]
    IP_FIELD_NUMBER: _ClassVar[int]
    run: Run
    config: Config
    state: bytes
    recover: bool
    ip: str
    def __init__(self, run: _Optional[_Union[Run, _Mapping]] = ..., config: _Optional[_Union[Config, _Mapping]] = ..., state: _Optional[bytes] = ..., recover: bool = ..., ip: _Optional[str] = ...) -> None: ...

class Config(_message.Message):
    __slots__ = ["source", "group_size", "batch_groups", "executing", "retained", "completed", "bytes", "submission", "order", "max_staleness", "stale", "full", "max_attempts", "max_failed", "rewind", "ownership", "join_window_ms", "window", "pace", "batches_per_update", "last_batch", "times", "max_requeues", "batch_samples", "batch_tokens", "commit_order", "stages", "checksums"]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    GROUP_SIZE_FIELD_NUMBER: _ClassVar[int]
    BATCH_GROUPS_FIELD_NUMBER: _ClassVar[int]
    EXECUTING_FIELD_NUMBER: _ClassVar[int]
    RETAINED_FIELD_NUMBER: _ClassVar[int]
    COMPLETED_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    SUBMISSION_FIELD_NUMBER: _ClassVar[int]
    ORDER_FIELD_NUMBER: _ClassVar[int]
    MAX_STALENESS_FIELD_NUMBER: _ClassVar[int]
    STALE_FIELD_NUMBER: _ClassVar[int]
    FULL_FIELD_NUMBER: _ClassVar[int]
    MAX_ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    MAX_FAILED_FIELD_NUMBER: _ClassVar[int]
    REWIND_FIELD_NUMBER: _ClassVar[int]
    OWNERSHIP_FIELD_NUMBER: _ClassVar[int]
    JOIN_WINDOW_MS_FIELD_NUMBER: _ClassVar[int]
    WINDOW_FIELD_NUMBER: _ClassVar[int]
    PACE_FIELD_NUMBER: _ClassVar[int]
    BATCHES_PER_UPDATE_FIELD_NUMBER: _ClassVar[int]
    LAST_BATCH_FIELD_NUMBER: _ClassVar[int]
    TIMES_FIELD_NUMBER: _ClassVar[int]
    MAX_REQUEUES_FIELD_NUMBER: _ClassVar[int]
    BATCH_SAMPLES_FIELD_NUMBER: _ClassVar[int]
    BATCH_TOKENS_FIELD_NUMBER: _ClassVar[int]
    COMMIT_ORDER_FIELD_NUMBER: _ClassVar[int]
    STAGES_FIELD_NUMBER: _ClassVar[int]
    CHECKSUMS_FIELD_NUMBER: _ClassVar[int]
    source: Source
    group_size: int
    batch_groups: int
    executing: int
    retained: int
    completed: int
    bytes: int
    submission: str
    order: str
    max_staleness: int
    stale: str
    full: str
    max_attempts: int
    max_failed: float
    rewind: str
    ownership: str
    join_window_ms: int
    window: int
    pace: bool
    batches_per_update: int
    last_batch: str
    times: Times
    max_requeues: int
    batch_samples: int
    batch_tokens: int
    commit_order: str
    stages: _containers.RepeatedScalarFieldContainer[str]
    checksums: bool
    def __init__(self, source: _Optional[_Union[Source, _Mapping]] = ..., group_size: _Optional[int] = ..., batch_groups: _Optional[int] = ..., executing: _Optional[int] = ..., retained: _Optional[int] = ..., completed: _Optional[int] = ..., bytes: _Optional[int] = ..., submission: _Optional[str] = ..., order: _Optional[str] = ..., max_staleness: _Optional[int] = ..., stale: _Optional[str] = ..., full: _Optional[str] = ..., max_attempts: _Optional[int] = ..., max_failed: _Optional[float] = ..., rewind: _Optional[str] = ..., ownership: _Optional[str] = ..., join_window_ms: _Optional[int] = ..., window: _Optional[int] = ..., pace: bool = ..., batches_per_update: _Optional[int] = ..., last_batch: _Optional[str] = ..., times: _Optional[_Union[Times, _Mapping]] = ..., max_requeues: _Optional[int] = ..., batch_samples: _Optional[int] = ..., batch_tokens: _Optional[int] = ..., commit_order: _Optional[str] = ..., stages: _Optional[_Iterable[str]] = ..., checksums: bool = ...) -> None: ...

class Times(_message.Message):
    __slots__ = ["execution_deadline", "cancel_grace", "start_deadline", "join_timeout", "stall_warning", "orphan_ttl", "held_warning"]
    EXECUTION_DEADLINE_FIELD_NUMBER: _ClassVar[int]
    CANCEL_GRACE_FIELD_NUMBER: _ClassVar[int]
    START_DEADLINE_FIELD_NUMBER: _ClassVar[int]
    JOIN_TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    STALL_WARNING_FIELD_NUMBER: _ClassVar[int]
    ORPHAN_TTL_FIELD_NUMBER: _ClassVar[int]
    HELD_WARNING_FIELD_NUMBER: _ClassVar[int]
    execution_deadline: int
    cancel_grace: int
    start_deadline: int
    join_timeout: int
    stall_warning: int
    orphan_ttl: int
    held_warning: int
    def __init__(self, execution_deadline: _Optional[int] = ..., cancel_grace: _Optional[int] = ..., start_deadline: _Optional[int] = ..., join_timeout: _Optional[int] = ..., stall_warning: _Optional[int] = ..., orphan_ttl: _Optional[int] = ..., held_warning: _Optional[int] = ...) -> None: ...

class Source(_message.Message):
    __slots__ = ["shuffle", "seed", "epochs", "kind", "rows", "identity", "waiting"]
    SHUFFLE_FIELD_NUMBER: _ClassVar[int]
    SEED_FIELD_NUMBER: _ClassVar[int]
    EPOCHS_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    IDENTITY_FIELD_NUMBER: _ClassVar[int]
    WAITING_FIELD_NUMBER: _ClassVar[int]
    shuffle: bool
    seed: int
    epochs: int
    kind: str
    rows: int
    identity: bytes
    waiting: int
    def __init__(self, shuffle: bool = ..., seed: _Optional[int] = ..., epochs: _Optional[int] = ..., kind: _Optional[str] = ..., rows: _Optional[int] = ..., identity: _Optional[bytes] = ..., waiting: _Optional[int] = ...) -> None: ...

class Pull(_message.Message):
    __slots__ = ["groups", "cursor", "forget"]
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    FORGET_FIELD_NUMBER: _ClassVar[int]
    groups: int
    cursor: bytes
    forget: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, groups: _Optional[int] = ..., cursor: _Optional[bytes] = ..., forget: _Optional[_Iterable[int]] = ...) -> None: ...

class Pulled(_message.Message):
    __slots__ = ["groups", "cursor"]
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    groups: _containers.RepeatedCompositeFieldContainer[Given]
    cursor: bytes
    def __init__(self, groups: _Optional[_Iterable[_Union[Given, _Mapping]]] = ..., cursor: _Optional[bytes] = ...) -> None: ...

class Given(_message.Message):
    __slots__ = ["key", "group", "of", "parents", "digest", "row", "problem"]
    KEY_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    OF_FIELD_NUMBER: _ClassVar[int]
    PARENTS_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    ROW_FIELD_NUMBER: _ClassVar[int]
    PROBLEM_FIELD_NUMBER: _ClassVar[int]
    key: int
    group: int
    of: _containers.RepeatedScalarFieldContainer[int]
    parents: _containers.RepeatedScalarFieldContainer[int]
    digest: bytes
    row: bytes
    problem: str
    def __init__(self, key: _Optional[int] = ..., group: _Optional[int] = ..., of: _Optional[_Iterable[int]] = ..., parents: _Optional[_Iterable[int]] = ..., digest: _Optional[bytes] = ..., row: _Optional[bytes] = ..., problem: _Optional[str] = ...) -> None: ...

class GiveBack(_message.Message):
    __slots__ = ["keys"]
    KEYS_FIELD_NUMBER: _ClassVar[int]
    keys: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, keys: _Optional[_Iterable[int]] = ...) -> None: ...

class GaveBack(_message.Message):
    __slots__ = ["failed", "error"]
    FAILED_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    failed: _containers.RepeatedScalarFieldContainer[int]
    error: str
    def __init__(self, failed: _Optional[_Iterable[int]] = ..., error: _Optional[str] = ...) -> None: ...

class Owned(_message.Message):
    __slots__ = ["address"]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    address: str
    def __init__(self, address: _Optional[str] = ...) -> None: ...

class Join(_message.Message):
    __slots__ = ["run", "address", "name", "handle", "worker", "trainer", "engine", "session", "endpoint", "known_term", "looked_up", "inventory", "pid"]
    RUN_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    HANDLE_FIELD_NUMBER: _ClassVar[int]
    WORKER_FIELD_NUMBER: _ClassVar[int]
    TRAINER_FIELD_NUMBER: _ClassVar[int]
    ENGINE_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    ENDPOINT_FIELD_NUMBER: _ClassVar[int]
    KNOWN_TERM_FIELD_NUMBER: _ClassVar[int]
    LOOKED_UP_FIELD_NUMBER: _ClassVar[int]
    INVENTORY_FIELD_NUMBER: _ClassVar[int]
    PID_FIELD_NUMBER: _ClassVar[int]
    run: Run
    address: str
    name: str
    handle: bytes
    worker: WorkerRole
    trainer: TrainerRole
    engine: EngineRole
    session: int
    endpoint: Endpoint
    known_term: Term
    looked_up: bool
    inventory: Inventory
    pid: int
    def __init__(self, run: _Optional[_Union[Run, _Mapping]] = ..., address: _Optional[str] = ..., name: _Optional[str] = ..., handle: _Optional[bytes] = ..., worker: _Optional[_Union[WorkerRole, _Mapping]] = ..., trainer: _Optional[_Union[TrainerRole, _Mapping]] = ..., engine: _Optional[_Union[EngineRole, _Mapping]] = ..., session: _Optional[int] = ..., endpoint: _Optional[_Union[Endpoint, _Mapping]] = ..., known_term: _Optional[_Union[Term, _Mapping]] = ..., looked_up: bool = ..., inventory: _Optional[_Union[Inventory, _Mapping]] = ..., pid: _Optional[int] = ...) -> None: ...

class WorkerRole(_message.Message):
    __slots__ = ["slots", "engine", "confirmed_version", "confirmed_timeline", "uses", "stage"]
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    ENGINE_FIELD_NUMBER: _ClassVar[int]
    CONFIRMED_VERSION_FIELD_NUMBER: _ClassVar[int]
    CONFIRMED_TIMELINE_FIELD_NUMBER: _ClassVar[int]
    USES_FIELD_NUMBER: _ClassVar[int]
    STAGE_FIELD_NUMBER: _ClassVar[int]
    slots: int
    engine: bool
    confirmed_version: int
    confirmed_timeline: Timeline
    uses: str
    stage: str
    def __init__(self, slots: _Optional[int] = ..., engine: bool = ..., confirmed_version: _Optional[int] = ..., confirmed_timeline: _Optional[_Union[Timeline, _Mapping]] = ..., uses: _Optional[str] = ..., stage: _Optional[str] = ...) -> None: ...

class EngineRole(_message.Message):
    __slots__ = ["name", "confirmed_version", "confirmed_timeline"]
    NAME_FIELD_NUMBER: _ClassVar[int]
    CONFIRMED_VERSION_FIELD_NUMBER: _ClassVar[int]
    CONFIRMED_TIMELINE_FIELD_NUMBER: _ClassVar[int]
    name: str
    confirmed_version: int
    confirmed_timeline: Timeline
    def __init__(self, name: _Optional[str] = ..., confirmed_version: _Optional[int] = ..., confirmed_timeline: _Optional[_Union[Timeline, _Mapping]] = ...) -> None: ...

class TrainerRole(_message.Message):
    __slots__ = ["role", "rank", "world_size", "generation", "state_at", "state", "base", "log", "copied", "unsaid"]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    RANK_FIELD_NUMBER: _ClassVar[int]
    WORLD_SIZE_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    STATE_AT_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    BASE_FIELD_NUMBER: _ClassVar[int]
    LOG_FIELD_NUMBER: _ClassVar[int]
    COPIED_FIELD_NUMBER: _ClassVar[int]
    UNSAID_FIELD_NUMBER: _ClassVar[int]
    role: str
    rank: int
    world_size: int
    generation: int
    state_at: int
    state: bytes
    base: bytes
    log: _containers.RepeatedCompositeFieldContainer[Entry]
    copied: bool
    unsaid: bool
    def __init__(self, role: _Optional[str] = ..., rank: _Optional[int] = ..., world_size: _Optional[int] = ..., generation: _Optional[int] = ..., state_at: _Optional[int] = ..., state: _Optional[bytes] = ..., base: _Optional[bytes] = ..., log: _Optional[_Iterable[_Union[Entry, _Mapping]]] = ..., copied: bool = ..., unsaid: bool = ...) -> None: ...

class Inventory(_message.Message):
    __slots__ = ["held"]
    HELD_FIELD_NUMBER: _ClassVar[int]
    held: _containers.RepeatedCompositeFieldContainer[Held]
    def __init__(self, held: _Optional[_Iterable[_Union[Held, _Mapping]]] = ...) -> None: ...

class Held(_message.Message):
    __slots__ = ["receipt", "version", "done", "outcome"]
    RECEIPT_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    DONE_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    receipt: Receipt
    version: int
    done: int
    outcome: Outcome
    def __init__(self, receipt: _Optional[_Union[Receipt, _Mapping]] = ..., version: _Optional[int] = ..., done: _Optional[int] = ..., outcome: _Optional[_Union[Outcome, _Mapping]] = ...) -> None: ...

class Joined(_message.Message):
    __slots__ = ["member", "session", "term", "timeline", "next_rollout", "announced_version", "group_size", "batch_groups", "ownership", "table", "table_segment", "void", "ready", "source", "held_warning", "checksums"]
    MEMBER_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    TERM_FIELD_NUMBER: _ClassVar[int]
    TIMELINE_FIELD_NUMBER: _ClassVar[int]
    NEXT_ROLLOUT_FIELD_NUMBER: _ClassVar[int]
    ANNOUNCED_VERSION_FIELD_NUMBER: _ClassVar[int]
    GROUP_SIZE_FIELD_NUMBER: _ClassVar[int]
    BATCH_GROUPS_FIELD_NUMBER: _ClassVar[int]
    OWNERSHIP_FIELD_NUMBER: _ClassVar[int]
    TABLE_FIELD_NUMBER: _ClassVar[int]
    TABLE_SEGMENT_FIELD_NUMBER: _ClassVar[int]
    VOID_FIELD_NUMBER: _ClassVar[int]
    READY_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    HELD_WARNING_FIELD_NUMBER: _ClassVar[int]
    CHECKSUMS_FIELD_NUMBER: _ClassVar[int]
    member: int
    session: int
    term: Term
    timeline: Timeline
    next_rollout: int
    announced_version: int
    group_size: int
    batch_groups: int
    ownership: str
    table: Endpoint
    table_segment: SegmentId
    void: _containers.RepeatedCompositeFieldContainer[Receipt]
    ready: bool
    source: str
    held_warning: int
    checksums: bool
    def __init__(self, member: _Optional[int] = ..., session: _Optional[int] = ..., term: _Optional[_Union[Term, _Mapping]] = ..., timeline: _Optional[_Union[Timeline, _Mapping]] = ..., next_rollout: _Optional[int] = ..., announced_version: _Optional[int] = ..., group_size: _Optional[int] = ..., batch_groups: _Optional[int] = ..., ownership: _Optional[str] = ..., table: _Optional[_Union[Endpoint, _Mapping]] = ..., table_segment: _Optional[_Union[SegmentId, _Mapping]] = ..., void: _Optional[_Iterable[_Union[Receipt, _Mapping]]] = ..., ready: bool = ..., source: _Optional[str] = ..., held_warning: _Optional[int] = ..., checksums: bool = ...) -> None: ...

class Leave(_message.Message):
    __slots__ = []
    def __init__(self) -> None: ...

class Locate(_message.Message):
    __slots__ = ["run"]
    RUN_FIELD_NUMBER: _ClassVar[int]
    run: str
    def __init__(self, run: _Optional[str] = ...) -> None: ...

class Located(_message.Message):
    __slots__ = ["address"]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    address: str
    def __init__(self, address: _Optional[str] = ...) -> None: ...

class NewTerm(_message.Message):
    __slots__ = ["term"]
    TERM_FIELD_NUMBER: _ClassVar[int]
    term: Term
    def __init__(self, term: _Optional[_Union[Term, _Mapping]] = ...) -> None: ...

class Restored(_message.Message):
    __slots__ = ["rollout", "digest", "unsaid"]
    ROLLOUT_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    UNSAID_FIELD_NUMBER: _ClassVar[int]
    rollout: int
    digest: str
    unsaid: bool
    def __init__(self, rollout: _Optional[int] = ..., digest: _Optional[str] = ..., unsaid: bool = ...) -> None: ...

class NewTimeline(_message.Message):
    __slots__ = ["timeline", "version", "last_rollout"]
    TIMELINE_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    LAST_ROLLOUT_FIELD_NUMBER: _ClassVar[int]
    timeline: Timeline
    version: int
    last_rollout: int
    def __init__(self, timeline: _Optional[_Union[Timeline, _Mapping]] = ..., version: _Optional[int] = ..., last_rollout: _Optional[int] = ...) -> None: ...

class End(_message.Message):
    __slots__ = ["error"]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    error: Error
    def __init__(self, error: _Optional[_Union[Error, _Mapping]] = ...) -> None: ...

class Fetch(_message.Message):
    __slots__ = ["token", "segments", "rollout"]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    SEGMENTS_FIELD_NUMBER: _ClassVar[int]
    ROLLOUT_FIELD_NUMBER: _ClassVar[int]
    token: str
    segments: _containers.RepeatedCompositeFieldContainer[SegmentId]
    rollout: int
    def __init__(self, token: _Optional[str] = ..., segments: _Optional[_Iterable[_Union[SegmentId, _Mapping]]] = ..., rollout: _Optional[int] = ...) -> None: ...

class Fetched(_message.Message):
    __slots__ = ["segments"]
    SEGMENTS_FIELD_NUMBER: _ClassVar[int]
    segments: _containers.RepeatedCompositeFieldContainer[SegmentId]
    def __init__(self, segments: _Optional[_Iterable[_Union[SegmentId, _Mapping]]] = ...) -> None: ...

class GetStatus(_message.Message):
    __slots__ = ["run"]
    RUN_FIELD_NUMBER: _ClassVar[int]
    run: str
    def __init__(self, run: _Optional[str] = ...) -> None: ...

class Status(_message.Message):
    __slots__ = ["runs"]
    RUNS_FIELD_NUMBER: _ClassVar[int]
    runs: _containers.RepeatedCompositeFieldContainer[RunStatus]
    def __init__(self, runs: _Optional[_Iterable[_Union[RunStatus, _Mapping]]] = ...) -> None: ...

class RunStatus(_message.Message):
    __slots__ = ["name", "id", "owner", "stats"]
    NAME_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    STATS_FIELD_NUMBER: _ClassVar[int]
    name: str
    id: str
    owner: bool
    stats: Stats
    def __init__(self, name: _Optional[str] = ..., id: _Optional[str] = ..., owner: bool = ..., stats: _Optional[_Union[Stats, _Mapping]] = ...) -> None: ...

class Receipts(_message.Message):
    __slots__ = ["timeline", "worker", "groups", "attempts", "executions"]
    TIMELINE_FIELD_NUMBER: _ClassVar[int]
    WORKER_FIELD_NUMBER: _ClassVar[int]
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    EXECUTIONS_FIELD_NUMBER: _ClassVar[int]
    timeline: Timeline
    worker: int
    groups: _containers.RepeatedScalarFieldContainer[int]
    attempts: _containers.RepeatedScalarFieldContainer[int]
    executions: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, timeline: _Optional[_Union[Timeline, _Mapping]] = ..., worker: _Optional[int] = ..., groups: _Optional[_Iterable[int]] = ..., attempts: _Optional[_Iterable[int]] = ..., executions: _Optional[_Iterable[int]] = ...) -> None: ...

class Grant(_message.Message):
    __slots__ = ["receipts", "rows", "versions", "promises", "pushed"]
    RECEIPTS_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    VERSIONS_FIELD_NUMBER: _ClassVar[int]
    PROMISES_FIELD_NUMBER: _ClassVar[int]
    PUSHED_FIELD_NUMBER: _ClassVar[int]
    receipts: Receipts
    rows: _containers.RepeatedScalarFieldContainer[int]
    versions: _containers.RepeatedScalarFieldContainer[int]
    promises: _containers.RepeatedScalarFieldContainer[int]
    pushed: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, receipts: _Optional[_Union[Receipts, _Mapping]] = ..., rows: _Optional[_Iterable[int]] = ..., versions: _Optional[_Iterable[int]] = ..., promises: _Optional[_Iterable[int]] = ..., pushed: _Optional[_Iterable[bytes]] = ...) -> None: ...

class AddColumns(_message.Message):
    __slots__ = ["admission", "rollout", "shards", "names", "segment", "rows", "address"]
    ADMISSION_FIELD_NUMBER: _ClassVar[int]
    ROLLOUT_FIELD_NUMBER: _ClassVar[int]
    SHARDS_FIELD_NUMBER: _ClassVar[int]
    NAMES_FIELD_NUMBER: _ClassVar[int]
    SEGMENT_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    admission: int
    rollout: int
    shards: _containers.RepeatedScalarFieldContainer[int]
    names: _containers.RepeatedScalarFieldContainer[str]
    segment: int
    rows: int
    address: str
    def __init__(self, admission: _Optional[int] = ..., rollout: _Optional[int] = ..., shards: _Optional[_Iterable[int]] = ..., names: _Optional[_Iterable[str]] = ..., segment: _Optional[int] = ..., rows: _Optional[int] = ..., address: _Optional[str] = ...) -> None: ...

class GetColumn(_message.Message):
    __slots__ = ["admission", "shards", "name"]
    ADMISSION_FIELD_NUMBER: _ClassVar[int]
    SHARDS_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    admission: int
    shards: _containers.RepeatedScalarFieldContainer[int]
    name: str
    def __init__(self, admission: _Optional[int] = ..., shards: _Optional[_Iterable[int]] = ..., name: _Optional[str] = ...) -> None: ...

class StageGrant(_message.Message):
    __slots__ = ["receipt", "locator", "endpoints", "segments"]
    RECEIPT_FIELD_NUMBER: _ClassVar[int]
    LOCATOR_FIELD_NUMBER: _ClassVar[int]
    ENDPOINTS_FIELD_NUMBER: _ClassVar[int]
    SEGMENTS_FIELD_NUMBER: _ClassVar[int]
    receipt: Receipt
    locator: Locator
    endpoints: _containers.RepeatedCompositeFieldContainer[Endpoint]
    segments: _containers.RepeatedCompositeFieldContainer[SegmentId]
    def __init__(self, receipt: _Optional[_Union[Receipt, _Mapping]] = ..., locator: _Optional[_Union[Locator, _Mapping]] = ..., endpoints: _Optional[_Iterable[_Union[Endpoint, _Mapping]]] = ..., segments: _Optional[_Iterable[_Union[SegmentId, _Mapping]]] = ...) -> None: ...

class Carried(_message.Message):
    __slots__ = ["receipts"]
    RECEIPTS_FIELD_NUMBER: _ClassVar[int]
    receipts: Receipts
    def __init__(self, receipts: _Optional[_Union[Receipts, _Mapping]] = ...) -> None: ...

class Credit(_message.Message):
    __slots__ = ["receipts", "bytes"]
    RECEIPTS_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    receipts: Receipts
    bytes: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, receipts: _Optional[_Union[Receipts, _Mapping]] = ..., bytes: _Optional[_Iterable[int]] = ...) -> None: ...

class Cancel(_message.Message):
    __slots__ = ["receipts"]
    RECEIPTS_FIELD_NUMBER: _ClassVar[int]
    receipts: _containers.RepeatedCompositeFieldContainer[Receipt]
    def __init__(self, receipts: _Optional[_Iterable[_Union[Receipt, _Mapping]]] = ...) -> None: ...

class Quiet(_message.Message):
    __slots__ = []
    def __init__(self) -> None: ...

class Quieted(_message.Message):
    __slots__ = ["samples"]
    SAMPLES_FIELD_NUMBER: _ClassVar[int]
    samples: int
    def __init__(self, samples: _Optional[int] = ...) -> None: ...

class SetSlots(_message.Message):
    __slots__ = ["slots"]
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    slots: int
    def __init__(self, slots: _Optional[int] = ...) -> None: ...

class CancelGroups(_message.Message):
    __slots__ = ["groups", "reason"]
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    groups: _containers.RepeatedScalarFieldContainer[int]
    reason: str
    def __init__(self, groups: _Optional[_Iterable[int]] = ..., reason: _Optional[str] = ...) -> None: ...

class GroupsCancelled(_message.Message):
    __slots__ = ["asked"]
    ASKED_FIELD_NUMBER: _ClassVar[int]
    asked: int
    def __init__(self, asked: _Optional[int] = ...) -> None: ...

class SampleDone(_message.Message):
    __slots__ = ["counts"]
    COUNTS_FIELD_NUMBER: _ClassVar[int]
    counts: _containers.RepeatedCompositeFieldContainer[SampleCount]
    def __init__(self, counts: _Optional[_Iterable[_Union[SampleCount, _Mapping]]] = ...) -> None: ...

class SampleCount(_message.Message):
    __slots__ = ["receipt", "samples"]
    RECEIPT_FIELD_NUMBER: _ClassVar[int]
    SAMPLES_FIELD_NUMBER: _ClassVar[int]
    receipt: Receipt
    samples: int
    def __init__(self, receipt: _Optional[_Union[Receipt, _Mapping]] = ..., samples: _Optional[int] = ...) -> None: ...

class Report(_message.Message):
    __slots__ = ["outcomes", "successes", "columns", "checksums", "masked"]
    OUTCOMES_FIELD_NUMBER: _ClassVar[int]
    SUCCESSES_FIELD_NUMBER: _ClassVar[int]
    COLUMNS_FIELD_NUMBER: _ClassVar[int]
    CHECKSUMS_FIELD_NUMBER: _ClassVar[int]
    MASKED_FIELD_NUMBER: _ClassVar[int]
    outcomes: _containers.RepeatedCompositeFieldContainer[Outcome]
    successes: _containers.RepeatedCompositeFieldContainer[Successes]
    columns: bool
    checksums: _containers.RepeatedScalarFieldContainer[int]
    masked: bool
    def __init__(self, outcomes: _Optional[_Iterable[_Union[Outcome, _Mapping]]] = ..., successes: _Optional[_Iterable[_Union[Successes, _Mapping]]] = ..., columns: bool = ..., checksums: _Optional[_Iterable[int]] = ..., masked: bool = ...) -> None: ...

class Successes(_message.Message):
    __slots__ = ["receipts", "segments", "first_rows", "rows", "prints"]
    RECEIPTS_FIELD_NUMBER: _ClassVar[int]
    SEGMENTS_FIELD_NUMBER: _ClassVar[int]
    FIRST_ROWS_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    PRINTS_FIELD_NUMBER: _ClassVar[int]
    receipts: Receipts
    segments: _containers.RepeatedScalarFieldContainer[int]
    first_rows: _containers.RepeatedScalarFieldContainer[int]
    rows: _containers.RepeatedScalarFieldContainer[int]
    prints: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, receipts: _Optional[_Union[Receipts, _Mapping]] = ..., segments: _Optional[_Iterable[int]] = ..., first_rows: _Optional[_Iterable[int]] = ..., rows: _Optional[_Iterable[int]] = ..., prints: _Optional[_Iterable[bytes]] = ...) -> None: ...

class Outcome(_message.Message):
    __slots__ = ["receipt", "kind", "reason", "locator", "summary", "print", "columns"]
    RECEIPT_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    LOCATOR_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    PRINT_FIELD_NUMBER: _ClassVar[int]
    COLUMNS_FIELD_NUMBER: _ClassVar[int]
    receipt: Receipt
    kind: str
    reason: str
    locator: Locator
    summary: Summary
    print: bytes
    columns: _containers.RepeatedCompositeFieldContainer[Column]
    def __init__(self, receipt: _Optional[_Union[Receipt, _Mapping]] = ..., kind: _Optional[str] = ..., reason: _Optional[str] = ..., locator: _Optional[_Union[Locator, _Mapping]] = ..., summary: _Optional[_Union[Summary, _Mapping]] = ..., print: _Optional[bytes] = ..., columns: _Optional[_Iterable[_Union[Column, _Mapping]]] = ...) -> None: ...

class Column(_message.Message):
    __slots__ = ["name", "type"]
    NAME_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    name: str
    type: str
    def __init__(self, name: _Optional[str] = ..., type: _Optional[str] = ...) -> None: ...

class Summary(_message.Message):
    __slots__ = ["parents", "slots", "lengths", "rewards", "aborted", "failed", "tokens", "response_tokens", "has_versions", "min_version", "max_version", "sum_versions", "bytes"]
    PARENTS_FIELD_NUMBER: _ClassVar[int]
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    LENGTHS_FIELD_NUMBER: _ClassVar[int]
    REWARDS_FIELD_NUMBER: _ClassVar[int]
    ABORTED_FIELD_NUMBER: _ClassVar[int]
    FAILED_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    RESPONSE_TOKENS_FIELD_NUMBER: _ClassVar[int]
    HAS_VERSIONS_FIELD_NUMBER: _ClassVar[int]
    MIN_VERSION_FIELD_NUMBER: _ClassVar[int]
    MAX_VERSION_FIELD_NUMBER: _ClassVar[int]
    SUM_VERSIONS_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    parents: _containers.RepeatedScalarFieldContainer[int]
    slots: _containers.RepeatedScalarFieldContainer[int]
    lengths: _containers.RepeatedScalarFieldContainer[int]
    rewards: _containers.RepeatedScalarFieldContainer[float]
    aborted: int
    failed: _containers.RepeatedScalarFieldContainer[int]
    tokens: int
    response_tokens: int
    has_versions: bool
    min_version: int
    max_version: int
    sum_versions: int
    bytes: int
    def __init__(self, parents: _Optional[_Iterable[int]] = ..., slots: _Optional[_Iterable[int]] = ..., lengths: _Optional[_Iterable[int]] = ..., rewards: _Optional[_Iterable[float]] = ..., aborted: _Optional[int] = ..., failed: _Optional[_Iterable[int]] = ..., tokens: _Optional[int] = ..., response_tokens: _Optional[int] = ..., has_versions: bool = ..., min_version: _Optional[int] = ..., max_version: _Optional[int] = ..., sum_versions: _Optional[int] = ..., bytes: _Optional[int] = ...) -> None: ...

class Reported(_message.Message):
    __slots__ = ["errors", "places"]
    ERRORS_FIELD_NUMBER: _ClassVar[int]
    PLACES_FIELD_NUMBER: _ClassVar[int]
    errors: _containers.RepeatedCompositeFieldContainer[Error]
    places: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, errors: _Optional[_Iterable[_Union[Error, _Mapping]]] = ..., places: _Optional[_Iterable[int]] = ...) -> None: ...

class Confirm(_message.Message):
    __slots__ = ["version", "digest"]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    version: int
    digest: str
    def __init__(self, version: _Optional[int] = ..., digest: _Optional[str] = ...) -> None: ...

class Confirmed(_message.Message):
    __slots__ = ["timeline"]
    TIMELINE_FIELD_NUMBER: _ClassVar[int]
    timeline: Timeline
    def __init__(self, timeline: _Optional[_Union[Timeline, _Mapping]] = ...) -> None: ...

class Drain(_message.Message):
    __slots__ = []
    def __init__(self) -> None: ...

class Release(_message.Message):
    __slots__ = ["executions", "worker"]
    EXECUTIONS_FIELD_NUMBER: _ClassVar[int]
    WORKER_FIELD_NUMBER: _ClassVar[int]
    executions: _containers.RepeatedScalarFieldContainer[int]
    worker: int
    def __init__(self, executions: _Optional[_Iterable[int]] = ..., worker: _Optional[int] = ...) -> None: ...

class Keeper(_message.Message):
    __slots__ = ["endpoint"]
    ENDPOINT_FIELD_NUMBER: _ClassVar[int]
    endpoint: Endpoint
    def __init__(self, endpoint: _Optional[_Union[Endpoint, _Mapping]] = ...) -> None: ...

class Keep(_message.Message):
    __slots__ = ["token", "keeper", "segments", "held"]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    KEEPER_FIELD_NUMBER: _ClassVar[int]
    SEGMENTS_FIELD_NUMBER: _ClassVar[int]
    HELD_FIELD_NUMBER: _ClassVar[int]
    token: str
    keeper: int
    segments: _containers.RepeatedCompositeFieldContainer[SegmentId]
    held: _containers.RepeatedCompositeFieldContainer[Held]
    def __init__(self, token: _Optional[str] = ..., keeper: _Optional[int] = ..., segments: _Optional[_Iterable[_Union[SegmentId, _Mapping]]] = ..., held: _Optional[_Iterable[_Union[Held, _Mapping]]] = ...) -> None: ...

class Kept(_message.Message):
    __slots__ = ["held", "address"]
    HELD_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    held: _containers.RepeatedCompositeFieldContainer[Held]
    address: str
    def __init__(self, held: _Optional[_Iterable[_Union[Held, _Mapping]]] = ..., address: _Optional[str] = ...) -> None: ...

class Unkept(_message.Message):
    __slots__ = ["receipts"]
    RECEIPTS_FIELD_NUMBER: _ClassVar[int]
    receipts: _containers.RepeatedCompositeFieldContainer[Receipt]
    def __init__(self, receipts: _Optional[_Iterable[_Union[Receipt, _Mapping]]] = ...) -> None: ...

class Push(_message.Message):
    __slots__ = ["ids", "digests", "rows", "wait"]
    IDS_FIELD_NUMBER: _ClassVar[int]
    DIGESTS_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    WAIT_FIELD_NUMBER: _ClassVar[int]
    ids: _containers.RepeatedScalarFieldContainer[bytes]
    digests: _containers.RepeatedScalarFieldContainer[bytes]
    rows: _containers.RepeatedScalarFieldContainer[bytes]
    wait: bool
    def __init__(self, ids: _Optional[_Iterable[bytes]] = ..., digests: _Optional[_Iterable[bytes]] = ..., rows: _Optional[_Iterable[bytes]] = ..., wait: bool = ...) -> None: ...

class Pushed(_message.Message):
    __slots__ = ["fresh", "gone"]
    FRESH_FIELD_NUMBER: _ClassVar[int]
    GONE_FIELD_NUMBER: _ClassVar[int]
    fresh: int
    gone: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, fresh: _Optional[int] = ..., gone: _Optional[_Iterable[bytes]] = ...) -> None: ...

class Offer(_message.Message):
    __slots__ = ["id", "digest", "row", "wait"]
    ID_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    ROW_FIELD_NUMBER: _ClassVar[int]
    WAIT_FIELD_NUMBER: _ClassVar[int]
    id: bytes
    digest: bytes
    row: bytes
    wait: bool
    def __init__(self, id: _Optional[bytes] = ..., digest: _Optional[bytes] = ..., row: _Optional[bytes] = ..., wait: bool = ...) -> None: ...

class Offered(_message.Message):
    __slots__ = ["grant", "gone"]
    GRANT_FIELD_NUMBER: _ClassVar[int]
    GONE_FIELD_NUMBER: _ClassVar[int]
    grant: Grant
    gone: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, grant: _Optional[_Union[Grant, _Mapping]] = ..., gone: _Optional[_Iterable[bytes]] = ...) -> None: ...

class EndStream(_message.Message):
    __slots__ = []
    def __init__(self) -> None: ...

class LetGo(_message.Message):
    __slots__ = ["gone"]
    GONE_FIELD_NUMBER: _ClassVar[int]
    gone: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, gone: _Optional[_Iterable[bytes]] = ...) -> None: ...

class Take(_message.Message):
    __slots__ = ["rollout", "alone"]
    ROLLOUT_FIELD_NUMBER: _ClassVar[int]
    ALONE_FIELD_NUMBER: _ClassVar[int]
    rollout: int
    alone: Alone
    def __init__(self, rollout: _Optional[int] = ..., alone: _Optional[_Union[Alone, _Mapping]] = ...) -> None: ...

class Alone(_message.Message):
    __slots__ = ["role", "generation"]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    role: str
    generation: int
    def __init__(self, role: _Optional[str] = ..., generation: _Optional[int] = ...) -> None: ...

class CancelTake(_message.Message):
    __slots__ = ["rollout"]
    ROLLOUT_FIELD_NUMBER: _ClassVar[int]
    rollout: int
    def __init__(self, rollout: _Optional[int] = ...) -> None: ...

class LeasedGroup(_message.Message):
    __slots__ = ["group", "attempt", "row", "locator", "summary", "staleness"]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    ROW_FIELD_NUMBER: _ClassVar[int]
    LOCATOR_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    STALENESS_FIELD_NUMBER: _ClassVar[int]
    group: int
    attempt: int
    row: int
    locator: Locator
    summary: Summary
    staleness: int
    def __init__(self, group: _Optional[int] = ..., attempt: _Optional[int] = ..., row: _Optional[int] = ..., locator: _Optional[_Union[Locator, _Mapping]] = ..., summary: _Optional[_Union[Summary, _Mapping]] = ..., staleness: _Optional[int] = ...) -> None: ...

class Lease(_message.Message):
    __slots__ = ["admission", "rollout", "short", "groups", "endpoints", "published"]
    ADMISSION_FIELD_NUMBER: _ClassVar[int]
    ROLLOUT_FIELD_NUMBER: _ClassVar[int]
    SHORT_FIELD_NUMBER: _ClassVar[int]
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    ENDPOINTS_FIELD_NUMBER: _ClassVar[int]
    PUBLISHED_FIELD_NUMBER: _ClassVar[int]
    admission: int
    rollout: int
    short: bool
    groups: _containers.RepeatedCompositeFieldContainer[LeasedGroup]
    endpoints: _containers.RepeatedCompositeFieldContainer[Endpoint]
    published: bytes
    def __init__(self, admission: _Optional[int] = ..., rollout: _Optional[int] = ..., short: bool = ..., groups: _Optional[_Iterable[_Union[LeasedGroup, _Mapping]]] = ..., endpoints: _Optional[_Iterable[_Union[Endpoint, _Mapping]]] = ..., published: _Optional[bytes] = ...) -> None: ...

class Shard(_message.Message):
    __slots__ = ["locators", "groups", "attempts"]
    LOCATORS_FIELD_NUMBER: _ClassVar[int]
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    locators: _containers.RepeatedCompositeFieldContainer[Locator]
    groups: _containers.RepeatedScalarFieldContainer[int]
    attempts: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, locators: _Optional[_Iterable[_Union[Locator, _Mapping]]] = ..., groups: _Optional[_Iterable[int]] = ..., attempts: _Optional[_Iterable[int]] = ...) -> None: ...

class Publish(_message.Message):
    __slots__ = ["admission", "shards", "roles", "generation"]
    class RolesEntry(_message.Message):
        __slots__ = ["key", "value"]
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    ADMISSION_FIELD_NUMBER: _ClassVar[int]
    SHARDS_FIELD_NUMBER: _ClassVar[int]
    ROLES_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    admission: int
    shards: _containers.RepeatedCompositeFieldContainer[Shard]
    roles: _containers.ScalarMap[str, int]
    generation: int
    def __init__(self, admission: _Optional[int] = ..., shards: _Optional[_Iterable[_Union[Shard, _Mapping]]] = ..., roles: _Optional[_Mapping[str, int]] = ..., generation: _Optional[int] = ...) -> None: ...

class Publication(_message.Message):
    __slots__ = ["admission", "rollout", "timeline", "term", "shards", "roles", "generation", "endpoints", "digest"]
    class RolesEntry(_message.Message):
        __slots__ = ["key", "value"]
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    ADMISSION_FIELD_NUMBER: _ClassVar[int]
    ROLLOUT_FIELD_NUMBER: _ClassVar[int]
    TIMELINE_FIELD_NUMBER: _ClassVar[int]
    TERM_FIELD_NUMBER: _ClassVar[int]
    SHARDS_FIELD_NUMBER: _ClassVar[int]
    ROLES_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    ENDPOINTS_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    admission: int
    rollout: int
    timeline: Timeline
    term: Term
    shards: _containers.RepeatedCompositeFieldContainer[Shard]
    roles: _containers.ScalarMap[str, int]
    generation: int
    endpoints: _containers.RepeatedCompositeFieldContainer[Endpoint]
    digest: bytes
    def __init__(self, admission: _Optional[int] = ..., rollout: _Optional[int] = ..., timeline: _Optional[_Union[Timeline, _Mapping]] = ..., term: _Optional[_Union[Term, _Mapping]] = ..., shards: _Optional[_Iterable[_Union[Shard, _Mapping]]] = ..., roles: _Optional[_Mapping[str, int]] = ..., generation: _Optional[int] = ..., endpoints: _Optional[_Iterable[_Union[Endpoint, _Mapping]]] = ..., digest: _Optional[bytes] = ...) -> None: ...

class Admit(_message.Message):
    __slots__ = ["publication", "shards", "role", "rank", "generation"]
    PUBLICATION_FIELD_NUMBER: _ClassVar[int]
    SHARDS_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    RANK_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    publication: Publication
    shards: _containers.RepeatedScalarFieldContainer[int]
    role: str
    rank: int
    generation: int
    def __init__(self, publication: _Optional[_Union[Publication, _Mapping]] = ..., shards: _Optional[_Iterable[int]] = ..., role: _Optional[str] = ..., rank: _Optional[int] = ..., generation: _Optional[int] = ...) -> None: ...

class Admitted(_message.Message):
    __slots__ = ["segments", "locators", "groups", "attempts", "admission", "rollout"]
    SEGMENTS_FIELD_NUMBER: _ClassVar[int]
    LOCATORS_FIELD_NUMBER: _ClassVar[int]
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    ADMISSION_FIELD_NUMBER: _ClassVar[int]
    ROLLOUT_FIELD_NUMBER: _ClassVar[int]
    segments: _containers.RepeatedCompositeFieldContainer[SegmentId]
    locators: _containers.RepeatedCompositeFieldContainer[Locator]
    groups: _containers.RepeatedScalarFieldContainer[int]
    attempts: _containers.RepeatedScalarFieldContainer[int]
    admission: int
    rollout: int
    def __init__(self, segments: _Optional[_Iterable[_Union[SegmentId, _Mapping]]] = ..., locators: _Optional[_Iterable[_Union[Locator, _Mapping]]] = ..., groups: _Optional[_Iterable[int]] = ..., attempts: _Optional[_Iterable[int]] = ..., admission: _Optional[int] = ..., rollout: _Optional[int] = ...) -> None: ...

class Next(_message.Message):
    __slots__ = ["rollout"]
    ROLLOUT_FIELD_NUMBER: _ClassVar[int]
    rollout: int
    def __init__(self, rollout: _Optional[int] = ...) -> None: ...

class Commit(_message.Message):
    __slots__ = ["admission", "admit"]
    ADMISSION_FIELD_NUMBER: _ClassVar[int]
    ADMIT_FIELD_NUMBER: _ClassVar[int]
    admission: int
    admit: Admit
    def __init__(self, admission: _Optional[int] = ..., admit: _Optional[_Union[Admit, _Mapping]] = ...) -> None: ...

class Rollback(_message.Message):
    __slots__ = ["admission", "reason"]
    ADMISSION_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    admission: int
    reason: str
    def __init__(self, admission: _Optional[int] = ..., reason: _Optional[str] = ...) -> None: ...

class LeaseStatus(_message.Message):
    __slots__ = ["admission"]
    ADMISSION_FIELD_NUMBER: _ClassVar[int]
    admission: int
    def __init__(self, admission: _Optional[int] = ...) -> None: ...

class Settled(_message.Message):
    __slots__ = ["admission", "status", "rollout", "reason"]
    ADMISSION_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    ROLLOUT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    admission: int
    status: str
    rollout: int
    reason: str
    def __init__(self, admission: _Optional[int] = ..., status: _Optional[str] = ..., rollout: _Optional[int] = ..., reason: _Optional[str] = ...) -> None: ...

class DiscardGroups(_message.Message):
    __slots__ = ["admission", "groups", "reason", "shorter"]
    ADMISSION_FIELD_NUMBER: _ClassVar[int]
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    SHORTER_FIELD_NUMBER: _ClassVar[int]
    admission: int
    groups: _containers.RepeatedScalarFieldContainer[int]
    reason: str
    shorter: bool
    def __init__(self, admission: _Optional[int] = ..., groups: _Optional[_Iterable[int]] = ..., reason: _Optional[str] = ..., shorter: bool = ...) -> None: ...

class Entry(_message.Message):
    __slots__ = ["index", "data"]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    index: int
    data: bytes
    def __init__(self, index: _Optional[int] = ..., data: _Optional[bytes] = ...) -> None: ...

class SetBase(_message.Message):
    __slots__ = ["index", "base", "log"]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    BASE_FIELD_NUMBER: _ClassVar[int]
    LOG_FIELD_NUMBER: _ClassVar[int]
    index: int
    base: bytes
    log: _containers.RepeatedCompositeFieldContainer[Entry]
    def __init__(self, index: _Optional[int] = ..., base: _Optional[bytes] = ..., log: _Optional[_Iterable[_Union[Entry, _Mapping]]] = ...) -> None: ...

class Append(_message.Message):
    __slots__ = ["entry", "decides"]
    ENTRY_FIELD_NUMBER: _ClassVar[int]
    DECIDES_FIELD_NUMBER: _ClassVar[int]
    entry: Entry
    decides: int
    def __init__(self, entry: _Optional[_Union[Entry, _Mapping]] = ..., decides: _Optional[int] = ...) -> None: ...

class Mapped(_message.Message):
    __slots__ = ["bytes", "held_segments", "held_bytes", "held_ms"]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    HELD_SEGMENTS_FIELD_NUMBER: _ClassVar[int]
    HELD_BYTES_FIELD_NUMBER: _ClassVar[int]
    HELD_MS_FIELD_NUMBER: _ClassVar[int]
    bytes: int
    held_segments: int
    held_bytes: int
    held_ms: int
    def __init__(self, bytes: _Optional[int] = ..., held_segments: _Optional[int] = ..., held_bytes: _Optional[int] = ..., held_ms: _Optional[int] = ...) -> None: ...

class Committed(_message.Message):
    __slots__ = ["admission", "rollout"]
    ADMISSION_FIELD_NUMBER: _ClassVar[int]
    ROLLOUT_FIELD_NUMBER: _ClassVar[int]
    admission: int
    rollout: int
    def __init__(self, admission: _Optional[int] = ..., rollout: _Optional[int] = ...) -> None: ...

class GetState(_message.Message):
    __slots__ = ["rollout"]
    ROLLOUT_FIELD_NUMBER: _ClassVar[int]
    rollout: int
    def __init__(self, rollout: _Optional[int] = ...) -> None: ...

class StateBytes(_message.Message):
    __slots__ = ["state"]
    STATE_FIELD_NUMBER: _ClassVar[int]
    state: bytes
    def __init__(self, state: _Optional[bytes] = ...) -> None: ...

class Saved(_message.Message):
    __slots__ = ["rollout"]
    ROLLOUT_FIELD_NUMBER: _ClassVar[int]
    rollout: int
    def __init__(self, rollout: _Optional[int] = ...) -> None: ...

class Rewind(_message.Message):
    __slots__ = ["rollout"]
    ROLLOUT_FIELD_NUMBER: _ClassVar[int]
    rollout: int
    def __init__(self, rollout: _Optional[int] = ...) -> None: ...

class Rewound(_message.Message):
    __slots__ = ["rollout", "groups", "version"]
    ROLLOUT_FIELD_NUMBER: _ClassVar[int]
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    rollout: int
    groups: int
    version: int
    def __init__(self, rollout: _Optional[int] = ..., groups: _Optional[int] = ..., version: _Optional[int] = ...) -> None: ...

class GetStats(_message.Message):
    __slots__ = ["ready", "step"]
    READY_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    ready: bool
    step: bool
    def __init__(self, ready: bool = ..., step: bool = ...) -> None: ...

class Count(_message.Message):
    __slots__ = ["groups", "samples", "tokens"]
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    SAMPLES_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    groups: int
    samples: int
    tokens: int
    def __init__(self, groups: _Optional[int] = ..., samples: _Optional[int] = ..., tokens: _Optional[int] = ...) -> None: ...

class Books(_message.Message):
    __slots__ = ["reserved", "acknowledged", "discarded", "failed", "live", "live_groups"]
    class DiscardedEntry(_message.Message):
        __slots__ = ["key", "value"]
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: Count
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[Count, _Mapping]] = ...) -> None: ...
    class LiveGroupsEntry(_message.Message):
        __slots__ = ["key", "value"]
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    RESERVED_FIELD_NUMBER: _ClassVar[int]
    ACKNOWLEDGED_FIELD_NUMBER: _ClassVar[int]
    DISCARDED_FIELD_NUMBER: _ClassVar[int]
    FAILED_FIELD_NUMBER: _ClassVar[int]
    LIVE_FIELD_NUMBER: _ClassVar[int]
    LIVE_GROUPS_FIELD_NUMBER: _ClassVar[int]
    reserved: Count
    acknowledged: Count
    discarded: _containers.MessageMap[str, Count]
    failed: Count
    live: Count
    live_groups: _containers.ScalarMap[str, int]
    def __init__(self, reserved: _Optional[_Union[Count, _Mapping]] = ..., acknowledged: _Optional[_Union[Count, _Mapping]] = ..., discarded: _Optional[_Mapping[str, Count]] = ..., failed: _Optional[_Union[Count, _Mapping]] = ..., live: _Optional[_Union[Count, _Mapping]] = ..., live_groups: _Optional[_Mapping[str, int]] = ...) -> None: ...

class Stats(_message.Message):
    __slots__ = ["books", "next_rollout", "announced_version", "timeline", "term", "executing", "executing_limit", "retained", "retained_limit", "completed", "completed_limit", "bytes", "bytes_limit", "holds", "workers", "trainers", "requeued", "stale_outcomes", "evicted", "staleness_mean", "staleness_max", "rewinds", "resident_bytes", "ownership", "members", "unconfirmed", "recovering", "cursor", "replay", "waiting_for_bytes", "overdrawn", "stuck", "resting", "interrupted", "kept", "rescued", "orphans", "waits_for", "sampled_tokens", "trained_tokens", "stale_requeues", "step"]
    BOOKS_FIELD_NUMBER: _ClassVar[int]
    NEXT_ROLLOUT_FIELD_NUMBER: _ClassVar[int]
    ANNOUNCED_VERSION_FIELD_NUMBER: _ClassVar[int]
    TIMELINE_FIELD_NUMBER: _ClassVar[int]
    TERM_FIELD_NUMBER: _ClassVar[int]
    EXECUTING_FIELD_NUMBER: _ClassVar[int]
    EXECUTING_LIMIT_FIELD_NUMBER: _ClassVar[int]
    RETAINED_FIELD_NUMBER: _ClassVar[int]
    RETAINED_LIMIT_FIELD_NUMBER: _ClassVar[int]
    COMPLETED_FIELD_NUMBER: _ClassVar[int]
    COMPLETED_LIMIT_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    BYTES_LIMIT_FIELD_NUMBER: _ClassVar[int]
    HOLDS_FIELD_NUMBER: _ClassVar[int]
    WORKERS_FIELD_NUMBER: _ClassVar[int]
    TRAINERS_FIELD_NUMBER: _ClassVar[int]
    REQUEUED_FIELD_NUMBER: _ClassVar[int]
    STALE_OUTCOMES_FIELD_NUMBER: _ClassVar[int]
    EVICTED_FIELD_NUMBER: _ClassVar[int]
    STALENESS_MEAN_FIELD_NUMBER: _ClassVar[int]
    STALENESS_MAX_FIELD_NUMBER: _ClassVar[int]
    REWINDS_FIELD_NUMBER: _ClassVar[int]
    RESIDENT_BYTES_FIELD_NUMBER: _ClassVar[int]
    OWNERSHIP_FIELD_NUMBER: _ClassVar[int]
    MEMBERS_FIELD_NUMBER: _ClassVar[int]
    UNCONFIRMED_FIELD_NUMBER: _ClassVar[int]
    RECOVERING_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    REPLAY_FIELD_NUMBER: _ClassVar[int]
    WAITING_FOR_BYTES_FIELD_NUMBER: _ClassVar[int]
    OVERDRAWN_FIELD_NUMBER: _ClassVar[int]
    STUCK_FIELD_NUMBER: _ClassVar[int]
    RESTING_FIELD_NUMBER: _ClassVar[int]
    INTERRUPTED_FIELD_NUMBER: _ClassVar[int]
    KEPT_FIELD_NUMBER: _ClassVar[int]
    RESCUED_FIELD_NUMBER: _ClassVar[int]
    ORPHANS_FIELD_NUMBER: _ClassVar[int]
    WAITS_FOR_FIELD_NUMBER: _ClassVar[int]
    SAMPLED_TOKENS_FIELD_NUMBER: _ClassVar[int]
    TRAINED_TOKENS_FIELD_NUMBER: _ClassVar[int]
    STALE_REQUEUES_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    books: Books
    next_rollout: int
    announced_version: int
    timeline: Timeline
    term: Term
    executing: int
    executing_limit: int
    retained: int
    retained_limit: int
    completed: int
    completed_limit: int
    bytes: int
    bytes_limit: int
    holds: int
    workers: int
    trainers: int
    requeued: int
    stale_outcomes: int
    evicted: int
    staleness_mean: float
    staleness_max: int
    rewinds: int
    resident_bytes: int
    ownership: str
    members: _containers.RepeatedCompositeFieldContainer[MemberStats]
    unconfirmed: int
    recovering: bool
    cursor: int
    replay: int
    waiting_for_bytes: int
    overdrawn: int
    stuck: int
    resting: int
    interrupted: int
    kept: int
    rescued: int
    orphans: int
    waits_for: str
    sampled_tokens: _containers.RepeatedScalarFieldContainer[int]
    trained_tokens: _containers.RepeatedScalarFieldContainer[int]
    stale_requeues: _containers.RepeatedScalarFieldContainer[int]
    step: StepStats
    def __init__(self, books: _Optional[_Union[Books, _Mapping]] = ..., next_rollout: _Optional[int] = ..., announced_version: _Optional[int] = ..., timeline: _Optional[_Union[Timeline, _Mapping]] = ..., term: _Optional[_Union[Term, _Mapping]] = ..., executing: _Optional[int] = ..., executing_limit: _Optional[int] = ..., retained: _Optional[int] = ..., retained_limit: _Optional[int] = ..., completed: _Optional[int] = ..., completed_limit: _Optional[int] = ..., bytes: _Optional[int] = ..., bytes_limit: _Optional[int] = ..., holds: _Optional[int] = ..., workers: _Optional[int] = ..., trainers: _Optional[int] = ..., requeued: _Optional[int] = ..., stale_outcomes: _Optional[int] = ..., evicted: _Optional[int] = ..., staleness_mean: _Optional[float] = ..., staleness_max: _Optional[int] = ..., rewinds: _Optional[int] = ..., resident_bytes: _Optional[int] = ..., ownership: _Optional[str] = ..., members: _Optional[_Iterable[_Union[MemberStats, _Mapping]]] = ..., unconfirmed: _Optional[int] = ..., recovering: bool = ..., cursor: _Optional[int] = ..., replay: _Optional[int] = ..., waiting_for_bytes: _Optional[int] = ..., overdrawn: _Optional[int] = ..., stuck: _Optional[int] = ..., resting: _Optional[int] = ..., interrupted: _Optional[int] = ..., kept: _Optional[int] = ..., rescued: _Optional[int] = ..., orphans: _Optional[int] = ..., waits_for: _Optional[str] = ..., sampled_tokens: _Optional[_Iterable[int]] = ..., trained_tokens: _Optional[_Iterable[int]] = ..., stale_requeues: _Optional[_Iterable[int]] = ..., step: _Optional[_Union[StepStats, _Mapping]] = ...) -> None: ...

class StepStats(_message.Message):
    __slots__ = ["consumed", "consumed_staleness_mean", "consumed_staleness_max", "evicted_full", "evicted_stale", "requeued", "buffered", "buffered_staleness_mean", "buffered_staleness_max", "evictions"]
    CONSUMED_FIELD_NUMBER: _ClassVar[int]
    CONSUMED_STALENESS_MEAN_FIELD_NUMBER: _ClassVar[int]
    CONSUMED_STALENESS_MAX_FIELD_NUMBER: _ClassVar[int]
    EVICTED_FULL_FIELD_NUMBER: _ClassVar[int]
    EVICTED_STALE_FIELD_NUMBER: _ClassVar[int]
    REQUEUED_FIELD_NUMBER: _ClassVar[int]
    BUFFERED_FIELD_NUMBER: _ClassVar[int]
    BUFFERED_STALENESS_MEAN_FIELD_NUMBER: _ClassVar[int]
    BUFFERED_STALENESS_MAX_FIELD_NUMBER: _ClassVar[int]
    EVICTIONS_FIELD_NUMBER: _ClassVar[int]
    consumed: int
    consumed_staleness_mean: float
    consumed_staleness_max: int
    evicted_full: int
    evicted_stale: int
    requeued: int
    buffered: int
    buffered_staleness_mean: float
    buffered_staleness_max: int
    evictions: _containers.RepeatedCompositeFieldContainer[Eviction]
    def __init__(self, consumed: _Optional[int] = ..., consumed_staleness_mean: _Optional[float] = ..., consumed_staleness_max: _Optional[int] = ..., evicted_full: _Optional[int] = ..., evicted_stale: _Optional[int] = ..., requeued: _Optional[int] = ..., buffered: _Optional[int] = ..., buffered_staleness_mean: _Optional[float] = ..., buffered_staleness_max: _Optional[int] = ..., evictions: _Optional[_Iterable[_Union[Eviction, _Mapping]]] = ...) -> None: ...

class Eviction(_message.Message):
    __slots__ = ["receipt", "reason", "min_version", "max_version", "became", "kept"]
    RECEIPT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    MIN_VERSION_FIELD_NUMBER: _ClassVar[int]
    MAX_VERSION_FIELD_NUMBER: _ClassVar[int]
    BECAME_FIELD_NUMBER: _ClassVar[int]
    KEPT_FIELD_NUMBER: _ClassVar[int]
    receipt: Receipt
    reason: str
    min_version: int
    max_version: int
    became: str
    kept: Receipt
    def __init__(self, receipt: _Optional[_Union[Receipt, _Mapping]] = ..., reason: _Optional[str] = ..., min_version: _Optional[int] = ..., max_version: _Optional[int] = ..., became: _Optional[str] = ..., kept: _Optional[_Union[Receipt, _Mapping]] = ...) -> None: ...

class MemberStats(_message.Message):
    __slots__ = ["name", "role", "session", "executing", "slots", "confirmed_version", "confirmed", "stuck", "orphans", "pid", "mapped_bytes", "held_segments", "held_bytes", "held_seconds", "engine"]
    NAME_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    EXECUTING_FIELD_NUMBER: _ClassVar[int]
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    CONFIRMED_VERSION_FIELD_NUMBER: _ClassVar[int]
    CONFIRMED_FIELD_NUMBER: _ClassVar[int]
    STUCK_FIELD_NUMBER: _ClassVar[int]
    ORPHANS_FIELD_NUMBER: _ClassVar[int]
    PID_FIELD_NUMBER: _ClassVar[int]
    MAPPED_BYTES_FIELD_NUMBER: _ClassVar[int]
    HELD_SEGMENTS_FIELD_NUMBER: _ClassVar[int]
    HELD_BYTES_FIELD_NUMBER: _ClassVar[int]
    HELD_SECONDS_FIELD_NUMBER: _ClassVar[int]
    ENGINE_FIELD_NUMBER: _ClassVar[int]
    name: str
    role: str
    session: int
    executing: int
    slots: int
    confirmed_version: int
    confirmed: bool
    stuck: int
    orphans: int
    pid: int
    mapped_bytes: int
    held_segments: int
    held_bytes: int
    held_seconds: float
    engine: bool
    def __init__(self, name: _Optional[str] = ..., role: _Optional[str] = ..., session: _Optional[int] = ..., executing: _Optional[int] = ..., slots: _Optional[int] = ..., confirmed_version: _Optional[int] = ..., confirmed: bool = ..., stuck: _Optional[int] = ..., orphans: _Optional[int] = ..., pid: _Optional[int] = ..., mapped_bytes: _Optional[int] = ..., held_segments: _Optional[int] = ..., held_bytes: _Optional[int] = ..., held_seconds: _Optional[float] = ..., engine: bool = ...) -> None: ...

class GetMetrics(_message.Message):
    __slots__ = []
    def __init__(self) -> None: ...

class Metrics(_message.Message):
    __slots__ = ["text"]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    text: str
    def __init__(self, text: _Optional[str] = ...) -> None: ...

class Close(_message.Message):
    __slots__ = ["force"]
    FORCE_FIELD_NUMBER: _ClassVar[int]
    force: bool
    def __init__(self, force: bool = ...) -> None: ...

class Closed(_message.Message):
    __slots__ = ["stats", "state"]
    STATS_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    stats: Stats
    state: bytes
    def __init__(self, stats: _Optional[_Union[Stats, _Mapping]] = ..., state: _Optional[bytes] = ...) -> None: ...

class Hold(_message.Message):
    __slots__ = ["reason"]
    REASON_FIELD_NUMBER: _ClassVar[int]
    reason: str
    def __init__(self, reason: _Optional[str] = ...) -> None: ...

class HoldGranted(_message.Message):
    __slots__ = ["hold"]
    HOLD_FIELD_NUMBER: _ClassVar[int]
    hold: int
    def __init__(self, hold: _Optional[int] = ...) -> None: ...

class AwaitFrontier(_message.Message):
    __slots__ = ["hold"]
    HOLD_FIELD_NUMBER: _ClassVar[int]
    hold: int
    def __init__(self, hold: _Optional[int] = ...) -> None: ...

class ReleaseHold(_message.Message):
    __slots__ = ["hold"]
    HOLD_FIELD_NUMBER: _ClassVar[int]
    hold: int
    def __init__(self, hold: _Optional[int] = ...) -> None: ...

class BeginUpdate(_message.Message):
    __slots__ = ["version", "mode", "rebroadcast", "digest"]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    REBROADCAST_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    version: int
    mode: str
    rebroadcast: bool
    digest: str
    def __init__(self, version: _Optional[int] = ..., mode: _Optional[str] = ..., rebroadcast: bool = ..., digest: _Optional[str] = ...) -> None: ...

class EngineState(_message.Message):
    __slots__ = ["session", "name", "handle", "confirmed_version", "digest", "confirmed"]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    HANDLE_FIELD_NUMBER: _ClassVar[int]
    CONFIRMED_VERSION_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    CONFIRMED_FIELD_NUMBER: _ClassVar[int]
    session: int
    name: str
    handle: bytes
    confirmed_version: int
    digest: str
    confirmed: bool
    def __init__(self, session: _Optional[int] = ..., name: _Optional[str] = ..., handle: _Optional[bytes] = ..., confirmed_version: _Optional[int] = ..., digest: _Optional[str] = ..., confirmed: bool = ...) -> None: ...

class UpdateState(_message.Message):
    __slots__ = ["hold", "version", "last_version", "engines", "revoked", "digest", "rollout", "ended"]
    HOLD_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    LAST_VERSION_FIELD_NUMBER: _ClassVar[int]
    ENGINES_FIELD_NUMBER: _ClassVar[int]
    REVOKED_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    ROLLOUT_FIELD_NUMBER: _ClassVar[int]
    ENDED_FIELD_NUMBER: _ClassVar[int]
    hold: int
    version: int
    last_version: int
    engines: _containers.RepeatedCompositeFieldContainer[EngineState]
    revoked: _containers.RepeatedScalarFieldContainer[int]
    digest: str
    rollout: int
    ended: bool
    def __init__(self, hold: _Optional[int] = ..., version: _Optional[int] = ..., last_version: _Optional[int] = ..., engines: _Optional[_Iterable[_Union[EngineState, _Mapping]]] = ..., revoked: _Optional[_Iterable[int]] = ..., digest: _Optional[str] = ..., rollout: _Optional[int] = ..., ended: bool = ...) -> None: ...

class GetUpdate(_message.Message):
    __slots__ = ["hold"]
    HOLD_FIELD_NUMBER: _ClassVar[int]
    hold: int
    def __init__(self, hold: _Optional[int] = ...) -> None: ...

class RecordUpdate(_message.Message):
    __slots__ = ["hold"]
    HOLD_FIELD_NUMBER: _ClassVar[int]
    hold: int
    def __init__(self, hold: _Optional[int] = ...) -> None: ...

class UndoUpdate(_message.Message):
    __slots__ = ["hold"]
    HOLD_FIELD_NUMBER: _ClassVar[int]
    hold: int
    def __init__(self, hold: _Optional[int] = ...) -> None: ...
