package arrowio

import (
	"errors"
	"fmt"
)

var (
	// ErrWritable: somebody still holds a writable mapping of the memory, so it cannot be sealed.
	ErrWritable = errors.New("arrowio: the memory is still mapped writable")
	// ErrUnsealed: the memory lacks a seal, so its bytes could still change under a reader.
	ErrUnsealed = errors.New("arrowio: the memory is not sealed")
	// ErrNotMemory: the file descriptor is not a memfd that can carry seals.
	ErrNotMemory = errors.New("arrowio: the file descriptor is not a sealable memfd")
	// ErrSparse: pages of the memory were never written; reading them would allocate, or end in SIGBUS.
	ErrSparse = errors.New("arrowio: the memory has holes")
	// ErrClosed: the segment has been closed.
	ErrClosed = errors.New("arrowio: the segment is closed")
)

// DamagedError says that bytes are not a well-formed Arrow IPC stream.
type DamagedError struct {
	Offset int64  // byte position in the stream of the part that is wrong
	Part   string // what was being read, such as "record batch", "column 3 (tokens)"
	Detail string // what is wrong with it, with the numbers
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("outrider: Arrow stream damaged at byte %d: %s: %s; write it again, or give what holds one", e.Offset, e.Part, e.Detail)
}

// UnsupportedError says that a stream is, as far as it was read, well formed, but uses a feature
// that this decoder or encoder leaves out, or needs more than its bounds allow.
type UnsupportedError struct {
	Feature string // name of the feature, such as "compression", "union", "delta dictionary"
	Detail  string // where or how much, may be empty
}

func (e *UnsupportedError) Error() string {
	if e.Detail == "" {
		return fmt.Sprintf("outrider: Arrow feature %q is not supported; write the stream without it", e.Feature)
	}
	return fmt.Sprintf("outrider: Arrow feature %q is not supported: %s; write the stream without it", e.Feature, e.Detail)
}

// DataError says that a well-formed batch breaks a schema rule.
type DataError struct {
	Row      int64  // row in the segment, -1 when the whole column is meant
	Column   string // name of the column
	Expected string
	Found    string
}

func (e *DataError) Error() string {
	if e.Row < 0 {
		return fmt.Sprintf("outrider: column %q: expected %s, found %s; mend the column before publishing it", e.Column, e.Expected, e.Found)
	}
	return fmt.Sprintf("outrider: row %d, column %q: expected %s, found %s; mend the row before publishing it", e.Row, e.Column, e.Expected, e.Found)
}
