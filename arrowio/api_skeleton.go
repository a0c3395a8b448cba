package arrowio

import (
	"errors"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"
)

var errNotYet = errors.New("arrowio: not there yet")

// Bounds limits what a decoder bears of a stream. The zero value takes the defaults.
type Bounds struct {
	Depth  int   // levels of nested types
	Fields int   // fields of all levels together
	Rows   int64 // rows of all batches together
}

// Stream is a decoded Arrow IPC stream. Its records alias the bytes that were decoded.
type Stream struct{}

// Decode reads an Arrow IPC stream in place. The stream retains data; Release lets go of it.
// Errors: *DamagedError, *UnsupportedError.
func Decode(data *memory.Buffer, lim Bounds) (*Stream, error) { return nil, errNotYet }

// Segment is one sealed memfd that holds one Arrow IPC stream, mapped read-only. Safe for concurrent use.
type Segment struct{}

// Seal takes ownership of fd (closed on error), seals the memory against any change, maps it read-only,
// decodes and validates it. Errors: ErrWritable, ErrNotMemory, ErrSparse, *DamagedError, *UnsupportedError.
func Seal(fd int) (*Segment, error) { return nil, errNotYet }

// Open takes ownership of fd (closed on error), which must carry all four seals, else ErrUnsealed.
func Open(fd int) (*Segment, error) { return nil, errNotYet }

// NewSegment encodes records, all of the given schema, into a fresh sealed memfd.
// The records stay the caller's; the segment holds a copy of their bytes.
func NewSegment(schema *arrow.Schema, records []arrow.Record) (*Segment, error) { return nil, errNotYet }

// Fd returns the segment's file descriptor, which stays the segment's own; -1 once closed.
func (s *Segment) Fd() int { return -1 }

// Size returns the bytes of the segment.
func (s *Segment) Size() int64 { return 0 }

// Rows returns the rows of all batches together.
func (s *Segment) Rows() int64 { return 0 }

// Schema returns the schema.
func (s *Segment) Schema() *arrow.Schema { return nil }

// Records returns the batches, borrowed: whoever keeps one beyond Close retains it.
func (s *Segment) Records() []arrow.Record { return nil }

// SchemaFingerprint returns a SHA-256 of names, types, nullability and domains of the columns.
func (s *Segment) SchemaFingerprint() [32]byte { return [32]byte{} }

// ContentDigest returns the SHA-256 of the stream's bytes, computed on demand. Error: ErrClosed.
func (s *Segment) ContentDigest() ([32]byte, error) { return [32]byte{}, errNotYet }

// Close lets go of fd and records; the memory is unmapped with the last record released. Idempotent.
func (s *Segment) Close() error { return nil }

// SchemaRules says which columns a segment must have, of which types, and which lists share a length.
type SchemaRules struct{}

// DefaultRules returns the rules of the default columns.
func DefaultRules() SchemaRules { return SchemaRules{} }

// GroupSummary is what scheduler and ledger need to know of one group's rows, without its tokens.
type GroupSummary struct {
	Group          int64     // value of the group column
	FirstRow       int       // first row in the segment
	Rows           int       // rows from there
	Slots          []int32   // parent slot of each row
	Lengths        []int32   // tokens of each row, prompt and response; zeros without a tokens column
	Rewards        []float64 // reward of each row, nil without a reward column
	Aborted        int       // rows with status aborted
	Failed         int       // rows with status failed
	Tokens         int64     // sum of Lengths
	ResponseTokens int64     // sum of response_length
	HasVersions    bool      // whether any row reports weight versions; else the three below are 0
	MinVersion     int64     // oldest weight version any token used
	MaxVersion     int64     // newest weight version any token used
	SumVersions    int64     // sum over the rows of each row's oldest version
}

// Summarize checks a segment against rules and returns one summary per contiguous run of equal group values.
// Error: *DataError, naming row, column, expected and found.
func Summarize(s *Segment, rule SchemaRules) ([]GroupSummary, error) { return nil, errNotYet }

// Encoding is an encoded stream of known size whose pieces alias the memory of the records.
type Encoding struct{}

// Encode lays out records as an Arrow IPC stream without copying their columns.
// Error: *UnsupportedError.
func Encode(schema *arrow.Schema, recs []arrow.Record) (*Encoding, error) { return nil, errNotYet }

// Size returns the exact bytes of the stream.
func (e *Encoding) Size() int64 { return 0 }

// WriteTo writes the stream to fd from position 0 by pwritev.
func (e *Encoding) WriteTo(fd int) error { return errNotYet }

// Release lets go of the records.
func (e *Encoding) Release() {}

// Verdict is the answer of Verify, one JSON object.
type Verdict struct {
	File    string            `json:"file"`
	Verdict string            `json:"verdict"` // read, damaged, unsupported
	Rows    int64             `json:"rows"`
	Columns map[string]string `json:"columns"` // name to digest; null unless read
	Error   string            `json:"error,omitempty"`
}

// Verify reads a file as an Arrow IPC stream and digests its columns.
func Verify(path string) Verdict { return Verdict{} }
