package bridge

import (
	"errors"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"outrider/bridge/wire"
)

// Kind is the name of an error on the wire. The Python shim has an exception class for each (python/outrider/errors.py).
type Kind string

// The error table: what may be said on the wire, its gRPC code, and when.
const (
	Config        Kind = "config"         // an argument cannot work; nothing started
	Start         Kind = "start"          // a sidecar did not come up
	Refused       Kind = "refused"        // the request does not fit the state of its object
	Stale         Kind = "stale"          // the receipt, admission or hold belongs to the past
	NotAdmitted   Kind = "not_admitted"   // ranks are missing
	CohortChanged Kind = "cohort_changed" // the ranks are not those that were published to
	Conflict      Kind = "conflict"       // somebody else has it
	Revoked       Kind = "revoked"        // data of the lease was lost; take again
	UpdateFailed  Kind = "update_failed"  // no engine holds the version
	Source        Kind = "source"         // the supply of prompts is broken
	Failed        Kind = "failed"         // too many groups failed: the run has ended
	State         Kind = "state"          // state bytes cannot be used
	Data          Kind = "data"           // rows that break the schema rules
	Unsupported   Kind = "unsupported"    // Arrow that this reader does not do
	Damaged       Kind = "damaged"        // bytes that are no Arrow stream
	Closed        Kind = "closed"         // the run or the member has ended
	EndOfRun      Kind = "end_of_run"     // the source is used up
	OwnerLost     Kind = "owner_lost"     // the owner cannot be reached
	NoWorkers     Kind = "no_workers"     // nobody is there to run what is waited for
	Internal      Kind = "internal"       // a defect of Outrider
)

// Codes maps each kind to the code that a gRPC status carries for it.
var Codes = map[Kind]codes.Code{
	Config:        codes.InvalidArgument,
	Start:         codes.Unavailable,
	Refused:       codes.FailedPrecondition,
	Stale:         codes.Aborted,
	NotAdmitted:   codes.FailedPrecondition,
	CohortChanged: codes.Aborted,
	Conflict:      codes.AlreadyExists,
	Revoked:       codes.Aborted,
	UpdateFailed:  codes.FailedPrecondition,
	Source:        codes.FailedPrecondition,
	Failed:        codes.FailedPrecondition,
	State:         codes.InvalidArgument,
	Data:          codes.InvalidArgument,
	Unsupported:   codes.Unimplemented,
	Damaged:       codes.DataLoss,
	Closed:        codes.Unavailable,
	EndOfRun:      codes.OutOfRange,
	OwnerLost:     codes.Unavailable,
	NoWorkers:     codes.DeadlineExceeded,
	Internal:      codes.Internal,
}

// Error is an error with its name on the wire.
type Error struct {
	Kind    Kind
	Message string
}

func (e *Error) Error() string { return e.Message }

// NewError pairs a kind with a message that names the object, the value, the limit and the way out.
func NewError(kind Kind, message string) *Error { return &Error{Kind: kind, Message: message} }

// ToWire names an error; what has no kind is a defect and says so.
func ToWire(err error) *wire.Error {
	if err == nil {
		return nil
	}
	var named *Error
	if errors.As(err, &named) {
		return &wire.Error{Kind: string(named.Kind), Message: err.Error()}
	}
	return &wire.Error{Kind: string(Internal), Message: err.Error()}
}

// FromWire is the inverse of ToWire.
func FromWire(e *wire.Error) error {
	if e == nil {
		return nil
	}
	return &Error{Kind: Kind(e.GetKind()), Message: e.GetMessage()}
}

// ToStatus gives the gRPC status of an error that ends a stream.
func ToStatus(err error) error {
	e := ToWire(err)
	if e == nil {
		return nil
	}
	code, ok := Codes[Kind(e.GetKind())]
	if !ok {
		code = codes.Internal
	}
	return status.Error(code, e.GetKind()+": "+e.GetMessage())
}
