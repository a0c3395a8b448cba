package arrowio

import (
	"fmt"
	"math"

	"github.com/apache/arrow/go/v15/arrow"
)

// GroupSummary is what scheduler and ledger need to know of one group's rows, without its tokens.
type GroupSummary struct {
	Group          int64     // value of the group column
	FirstRow       int       // first row in the segment
	Rows           int       // rows from there
	Slots          []int32   // parent slot of each row
	Lengths        []int32   // tokens of each row, prompt and response; zeros without a tokens column
	Rewards        []float64 // reward of each row, nil without a reward column
	Aborted        int       // rows with status aborted
	Failed         []int32   // slots of the rows with status failed
	Tokens         int64     // sum of Lengths
	ResponseTokens int64     // sum of response_length
	HasVersions    bool      // whether any row reports the weight version of a token; else the three below are 0
	MinVersion     int64     // oldest weight version any token used
	MaxVersion     int64     // newest weight version any token used
	SumVersions    int64     // sum over the rows of each row's oldest version, at most the largest int64
}

// Summarize checks a segment against rules and returns one summary for each run of rows of equal group, in order. It
// copies out a few numbers a row and keeps nothing of the segment. O(rows + version runs), and one look at each byte of loss_mask
// unless the rules say that it is Masked.
//
// Refused, with row, column, what was expected and what was found, as a *DataError: a missing, doubled or wrongly typed
// column; a null; lists of one domain with different lengths in one row; a response_length below 0 or above the row's
// tokens; lists of domain response of another length than response_length; a response_length without a list of domain
// token; a slot below 0; a status that is not known; an empty response without
// a status; a loss_mask of other values than 0 and 1; version runs below 0, or whose
// lengths do not add up to response_length.
// After Close the segment is gone: ErrClosed.
func Summarize(s *Segment, rule SchemaRules) ([]GroupSummary, error) {
	root := s.hold()
	if root == nil {
		return nil, fmt.Errorf("%w: summarize before Close", ErrClosed)
	}
	defer root.Release()
	return SummarizeRecords(s.Schema(), s.Records(), rule)
}

// SummarizeRecords is Summarize for records that are in no segment. They must be of the schema.
func SummarizeRecords(schema *arrow.Schema, records []arrow.Record, rule SchemaRules) ([]GroupSummary, error) {
	domains, err := rule.check(schema)
	if err != nil {
		return nil, err
	}
	var groups []GroupSummary
	first := 0
	for _, r := range records {
		rows, err := rowsOf(schema, r, domains, first)
		if err != nil {
			return nil, err
		}
		if rule.Masked {
			rows.masked = nil
		}
		for i := range int(r.NumRows()) {
			if n := len(groups); n == 0 || groups[n-1].Group != rows.group[i] {
				groups = append(groups, GroupSummary{Group: rows.group[i], FirstRow: first + i})
			}
			if err := rows.addTo(&groups[len(groups)-1], i); err != nil {
				return nil, err
			}
		}
		first += int(r.NumRows())
	}
	return groups, nil
}

// addTo checks row i and adds it to its group.
func (r *rows) addTo(g *GroupSummary, i int) error {
	if r.slot[i] < 0 {
		return r.refuse(i, "slot", "0 or more", r.slot[i])
	}
	tokens, err := r.lengths(i)
	if err != nil {
		return err
	}
	response := int32(0)
	if r.response != nil {
		response = r.response[i]
	}
	if response < 0 || r.hasTokens && response > tokens {
		return r.refuse(i, "response_length", fmt.Sprintf("0 to %d, the row's tokens", tokens), response)
	}
	if err := r.addStatus(g, i, response); err != nil {
		return err
	}
	if err := r.checkMask(i); err != nil {
		return err
	}
	if err := r.addVersions(g, i, response); err != nil {
		return err
	}
	g.Rows++
	g.Slots = append(g.Slots, r.slot[i])
	g.Lengths = append(g.Lengths, tokens)
	if r.reward != nil {
		g.Rewards = append(g.Rewards, r.reward[i])
	}
	g.Tokens += int64(tokens)
	g.ResponseTokens += int64(response)
	return nil
}

// addStatus checks the status of row i and counts what is not to be trained. A response without a token says itself what it is: it
// may be an answer, or all that is left of an error.
func (r *rows) addStatus(g *GroupSummary, i int, response int32) error {
	if r.status == nil {
		if r.response != nil && response == 0 {
			return r.refuse(i, "status", "a status, because response_length is 0 (an empty answer is 0, completed)", "no such column")
		}
		return nil
	}
	switch r.status[i] {
	case StatusCompleted, StatusTruncated:
	case StatusAborted:
		g.Aborted++
	case StatusFailed:
		g.Failed = append(g.Failed, r.slot[i])
	default:
		return r.refuse(i, "status", "0 to 3", r.status[i])
	}
	return nil
}

// addVersions checks the version runs of row i and adds them to its group. Runs of length 0 say nothing.
func (r *rows) addVersions(g *GroupSummary, i int, response int32) error {
	if r.runs == nil {
		return nil
	}
	sum, oldest, reported := int64(0), int64(math.MaxInt64), false
	for k := r.runs[i]; k < r.runs[i+1]; k++ {
		version, length := r.version[k], r.runLength[k]
		if version < 0 || length < 0 {
			return r.refuse(i, "versions", "runs of a version and a length of 0 or more", fmt.Sprintf("version %d, length %d", version, length))
		}
		if sum += int64(length); length == 0 {
			continue
		}
		if !g.HasVersions {
			g.HasVersions, g.MinVersion, g.MaxVersion = true, version, version
		}
		g.MinVersion, g.MaxVersion = min(g.MinVersion, version), max(g.MaxVersion, version)
		oldest, reported = min(oldest, version), true
	}
	if sum != int64(response) {
		return r.refuse(i, "versions", fmt.Sprintf("lengths that add up to response_length, %d", response), sum)
	}
	if reported {
		if g.SumVersions > math.MaxInt64-oldest {
			oldest = math.MaxInt64 - g.SumVersions
		}
		g.SumVersions += oldest
	}
	return nil
}
