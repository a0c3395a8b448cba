package arrowio

import (
	"errors"

	"github.com/apache/arrow/go/v15/arrow"
)

var errNotYet = errors.New("arrowio: not there yet")

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

const DomainKey = "outrider.domain"
