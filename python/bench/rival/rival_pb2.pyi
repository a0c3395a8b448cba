from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Receipt(_message.Message):
    __slots__ = ["timeline", "group", "attempt", "execution", "worker"]
    TIMELINE_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    EXECUTION_FIELD_NUMBER: _ClassVar[int]
    WORKER_FIELD_NUMBER: _ClassVar[int]
    timeline: int
    group: int
    attempt: int
    execution: int
    worker: int
    def __init__(self, timeline: _Optional[int] = ..., group: _Optional[int] = ..., attempt: _Optional[int] = ..., execution: _Optional[int] = ..., worker: _Optional[int] = ...) -> None: ...

class ReserveRequest(_message.Message):
    __slots__ = ["most"]
    MOST_FIELD_NUMBER: _ClassVar[int]
    most: int
    def __init__(self, most: _Optional[int] = ...) -> None: ...

class Reserved(_message.Message):
    __slots__ = ["receipts"]
    RECEIPTS_FIELD_NUMBER: _ClassVar[int]
    receipts: _containers.RepeatedCompositeFieldContainer[Receipt]
    def __init__(self, receipts: _Optional[_Iterable[_Union[Receipt, _Mapping]]] = ...) -> None: ...

class Result(_message.Message):
    __slots__ = ["receipt", "rows"]
    RECEIPT_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    receipt: Receipt
    rows: bytes
    def __init__(self, receipt: _Optional[_Union[Receipt, _Mapping]] = ..., rows: _Optional[bytes] = ...) -> None: ...

class CompleteRequest(_message.Message):
    __slots__ = ["results"]
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[Result]
    def __init__(self, results: _Optional[_Iterable[_Union[Result, _Mapping]]] = ...) -> None: ...

class Completed(_message.Message):
    __slots__ = ["errors"]
    ERRORS_FIELD_NUMBER: _ClassVar[int]
    errors: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, errors: _Optional[_Iterable[str]] = ...) -> None: ...

class TakeRequest(_message.Message):
    __slots__ = ["rollout"]
    ROLLOUT_FIELD_NUMBER: _ClassVar[int]
    rollout: int
    def __init__(self, rollout: _Optional[int] = ...) -> None: ...

class Taken(_message.Message):
    __slots__ = ["admission", "groups"]
    ADMISSION_FIELD_NUMBER: _ClassVar[int]
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    admission: int
    groups: _containers.RepeatedCompositeFieldContainer[Result]
    def __init__(self, admission: _Optional[int] = ..., groups: _Optional[_Iterable[_Union[Result, _Mapping]]] = ...) -> None: ...

class CommitRequest(_message.Message):
    __slots__ = ["admission"]
    ADMISSION_FIELD_NUMBER: _ClassVar[int]
    admission: int
    def __init__(self, admission: _Optional[int] = ...) -> None: ...

class Committed(_message.Message):
    __slots__ = []
    def __init__(self) -> None: ...
