package sidecar

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"outrider/arrowio"
	"outrider/bridge"
	"outrider/bridge/wire"
)

// made is a report's data, sealed and summed up by the reader.
type made struct {
	segments []*arrowio.Segment
	errors   []error // of each segment
	groups   [][]arrowio.GroupSummary
	apart    []bool            // of each segment: a rule is broken in it, so that each group is looked at by itself
	ids      []*wire.SegmentId // given in the loop

	columns   [][]*wire.Column // of each segment: those that are a user's own
	checksums []uint32         // of each segment, in runs with checksums
	rules     arrowio.SchemaRules
}

// sealReport seals every descriptor of a report and checks what is in it, with the checksums that came along. Where that breaks a rule the
// groups of the segment are checked one by one (locate), for they may be of different callers; columns that a stage adds are checked with
// the rows that they belong to.
func sealReport(fds []int, report *wire.Report) *made {
	all := &made{
		segments:  make([]*arrowio.Segment, len(fds)),
		errors:    make([]error, len(fds)),
		groups:    make([][]arrowio.GroupSummary, len(fds)),
		apart:     make([]bool, len(fds)),
		ids:       make([]*wire.SegmentId, len(fds)),
		columns:   make([][]*wire.Column, len(fds)),
		checksums: report.GetChecksums(),
		rules:     arrowio.DefaultRules(),
	}
	all.rules.Masked = report.GetMasked()
	for i, fd := range fds {
		segment, err := arrowio.Seal(fd)
		if err == nil {
			all.segments[i] = segment
			if !report.GetColumns() {
				names, types := all.rules.Others(segment.Schema())
				for k, name := range names {
					all.columns[i] = append(all.columns[i], &wire.Column{Name: name, Type: types[k]})
				}
			}
			if i < len(all.checksums) {
				err = checkSum(fmt.Sprintf("segment %d of a report", i), segment, all.checksums[i])
			}
			if err == nil && !report.GetColumns() {
				all.groups[i], err = arrowio.Summarize(segment, all.rules)
				var broken *arrowio.DataError
				if errors.As(err, &broken) {
					all.apart[i], err = true, nil
				}
			}
		}
		all.errors[i] = named(err)
	}
	return all
}

func (d *made) close() {
	for _, segment := range d.segments {
		if segment != nil {
			segment.Close()
		}
	}
}

// told is a report on its way to the owner.
type told struct {
	outcomes []*wire.Outcome
	places   []int   // of outcomes, in the shim's report
	refused  []error // by place: what this sidecar did not take
}

// report ends executions: the data stays here, the owner gets terminal receipts. A success whose data is refused is answered with
// the reason and reported to the owner as a failure of that execution.
func (m *member) report(frame *wire.Frame, data *made) {
	for i := range data.segments {
		m.work.number++
		data.ids[i] = &wire.SegmentId{Holder: m.session, Number: m.work.number}
		if data.segments[i] != nil {
			nameMemory(data.ids[i], data.segments[i].Fd())
		}
		if i < len(data.checksums) {
			data.ids[i].Checksum = &data.checksums[i]
		}
	}
	outcomes, refused, err := data.outcomes(frame.GetReport(), m.work.given)
	if err != nil {
		data.close()
		m.p.answer(frame, nil, err)
		return
	}
	// What is told is a part of the outcomes, in order.
	report := &told{outcomes: outcomes[:0], places: make([]int, 0, len(outcomes)), refused: refused}
	uses := make(map[uint64]int, len(data.segments))
	for place, outcome := range outcomes {
		execution, number := outcome.GetReceipt().GetExecution(), outcome.GetLocator().GetSegment().GetNumber()
		if outcome.GetLocator() != nil {
			if m.work.finished[execution] != nil {
				refused[place] = bridge.NewError(bridge.Conflict, fmt.Sprintf("outrider: group %d execution %d was reported already; report each execution once", outcome.GetReceipt().GetGroup(), execution))
				continue
			}
			m.work.finished[execution] = &finished{segment: number}
			uses[number]++
		}
		m.work.takeBack(execution)
		if held := m.work.held[execution]; held != nil {
			outcome.Receipt.Timeline = held.GetReceipt().GetTimeline() // it may have been carried over
			held.Outcome = outcome
		}
		report.outcomes, report.places = append(report.outcomes, outcome), append(report.places, place)
	}
	for i, segment := range data.segments {
		switch number := data.ids[i].GetNumber(); {
		case segment == nil:
		case uses[number] == 0:
			segment.Close()
		default:
			m.p.segments.hold(m.session, number, segment, uses[number])
		}
	}
	m.ask(&wire.Frame{Body: &wire.Frame_Report{Report: &wire.Report{Outcomes: report.outcomes}}}, func(answer *wire.Frame) {
		m.reported(frame, answer, report)
	})
}

// reported passes the owner's word on each outcome to the shim and frees what was not accepted.
func (m *member) reported(frame, answer *wire.Frame, report *told) {
	if answer.GetError() != nil {
		m.p.relay(frame, answer)
		return
	}
	places := answer.GetReported().GetPlaces()
	stale := make(map[int]bool, len(places))
	for i, e := range answer.GetReported().GetErrors() {
		if i >= len(places) || int(places[i]) >= len(report.outcomes) {
			m.p.log.Error("the owner's word on a report names no outcome of it", "error", e.GetMessage())
			continue
		}
		at := int(places[i])
		stale[at] = true
		m.forget(report.outcomes[at].GetReceipt().GetExecution())
		if place := report.places[at]; report.refused[place] == nil {
			report.refused[place] = bridge.FromWire(e)
		}
	}
	for at, outcome := range report.outcomes {
		execution := outcome.GetReceipt().GetExecution()
		if outcome.GetLocator() == nil && !stale[at] {
			delete(m.work.held, execution)
		}
		if f := m.work.finished[execution]; f != nil && !f.taken {
			f.taken = true
			if m.work.handover.to != nil {
				m.work.handover.due = append(m.work.handover.due, execution)
			}
		}
	}
	body := &wire.Reported{}
	for place, err := range report.refused {
		if err != nil {
			body.Errors, body.Places = append(body.Errors, bridge.ToWire(err)), append(body.Places, uint32(place))
		}
	}
	m.p.answer(frame, &wire.Frame{Body: &wire.Frame_Reported{Reported: body}}, nil)
	m.handOverSoon()
	m.p.endIfIdle()
}

// outcomes spells a report out: the successes, each with where its rows are and what is in them, then the rest. A success that is
// refused, with the reason, becomes a failure. Lists of unequal lengths refuse the whole report.
func (d *made) outcomes(report *wire.Report, given map[uint64]*arrowio.Columns) ([]*wire.Outcome, []error, error) {
	if n := len(d.checksums); n != 0 && n != len(d.segments) {
		return nil, nil, bridge.NewError(bridge.Data, fmt.Sprintf("outrider: a report of %d segments has %d checksums; give one for each, or none", len(d.segments), n))
	}
	var all []*wire.Outcome
	var refused []error
	for _, successes := range report.GetSuccesses() {
		receipts, err := toReceipts(successes.GetReceipts())
		if err != nil {
			return nil, nil, err
		}
		segments, first, rows := successes.GetSegments(), successes.GetFirstRows(), successes.GetRows()
		prints := successes.GetPrints()
		if n := len(receipts); len(segments) != n || len(first) != n || len(rows) != n || len(prints) != n && len(prints) != 0 {
			return nil, nil, bridge.NewError(bridge.Data, fmt.Sprintf("outrider: a report of %d successes has %d segments, %d first rows %d numbers of rows and %d digests of prompts; give one of each for each", n, len(segments), len(first), len(rows), len(prints)))
		}
		// One allocation each, however many groups the report has.
		outcomes, locators, summaries := make([]wire.Outcome, len(receipts)), make([]wire.Locator, len(receipts)), make([]wire.Summary, len(receipts))
		all, refused = slices.Grow(all, len(receipts)+len(report.GetOutcomes())), slices.Grow(refused, len(receipts)+len(report.GetOutcomes()))
		for i := range receipts {
			outcome, at := &outcomes[i], &locators[i]
			outcome.Receipt, at.FirstRow, at.Rows = &receipts[i], first[i], rows[i]
			var err error
			if report.GetColumns() {
				err = d.add(at, &summaries[i], int(segments[i]), receipts[i].GetGroup(), given[receipts[i].GetExecution()])
			} else {
				err = d.locate(at, &summaries[i], int(segments[i]), receipts[i].GetGroup())
			}
			if err == nil {
				outcome.Kind, outcome.Locator, outcome.Summary, outcome.Columns = "success", at, &summaries[i], d.columns[segments[i]]
				if len(prints) > 0 {
					outcome.Print = prints[i]
				}
			} else {
				outcome.Kind, outcome.Reason = "failure", err.Error()
			}
			all, refused = append(all, outcome), append(refused, err)
		}
	}
	for _, outcome := range report.GetOutcomes() {
		var err error
		if outcome.GetKind() == "success" {
			err = bridge.NewError(bridge.Data, fmt.Sprintf("outrider: group %d: a success goes into the successes of a report, with its rows", outcome.GetReceipt().GetGroup()))
			outcome = &wire.Outcome{Receipt: outcome.GetReceipt(), Kind: "failure", Reason: err.Error()}
		}
		all, refused = append(all, outcome), append(refused, err)
	}
	return all, refused, nil
}

// locate fills in where a group's rows are and what is in them.
func (d *made) locate(at *wire.Locator, sum *wire.Summary, index int, group int64) error {
	segment, err := d.segment(at, index, group)
	if err != nil {
		return err
	}
	sum.Bytes = segment.Size() * at.GetRows() / segment.Rows()
	if !d.apart[index] {
		summarize(sum, d.groups[index], group, at.GetFirstRow(), at.GetRows())
		return nil
	}
	// Another's fault is not this group's.
	own, err := segment.Columns(at.GetFirstRow(), at.GetRows())
	if err != nil {
		return named(err)
	}
	defer own.Release()
	groups, err := own.Summarize(d.rules)
	if err != nil {
		return bridge.NewError(bridge.Data, fmt.Sprintf("outrider: group %d: %s", group, strings.TrimPrefix(err.Error(), "outrider: ")))
	}
	summarize(sum, groups, group, 0, at.GetRows())
	return nil
}

// segment is the one that a group's rows are in, named in at.
func (d *made) segment(at *wire.Locator, index int, group int64) (*arrowio.Segment, error) {
	if index >= len(d.segments) {
		return nil, bridge.NewError(bridge.Data, fmt.Sprintf("outrider: group %d names segment %d, the report came with %d; attach one descriptor for each segment", group, index, len(d.segments)))
	}
	if err := d.errors[index]; err != nil {
		return nil, err
	}
	segment := d.segments[index]
	first, rows := at.GetFirstRow(), at.GetRows()
	if first < 0 || rows < 1 || first > segment.Rows()-rows {
		return nil, bridge.NewError(bridge.Data, fmt.Sprintf("outrider: group %d names rows %d to %d of a segment with %d", group, first, first+rows, segment.Rows()))
	}
	at.Segment = d.ids[index]
	return segment, nil
}

// summarize joins the summaries of the runs of equal group values within [first, first+rows): one run, unless the worker mixed
// groups up, which the ledger then sees by the parents.
func summarize(sum *wire.Summary, runs []arrowio.GroupSummary, group, first, rows int64) {
	foreign := false
	var parents []int64
	begin, _ := slices.BinarySearchFunc(runs, first, func(run arrowio.GroupSummary, first int64) int {
		return int(int64(run.FirstRow+run.Rows) - first - 1) // the first run that ends behind it
	})
	for i := begin; i < len(runs) && int64(runs[i].FirstRow) < first+rows; i++ {
		run := &runs[i]
		from, to := max(first-int64(run.FirstRow), 0), min(first+rows-int64(run.FirstRow), int64(run.Rows))
		foreign = foreign || run.Group != group
		for range to - from {
			parents = append(parents, run.Group)
		}
		sum.Slots = extend(sum.GetSlots(), run.Slots[from:to])
		sum.Lengths = extend(sum.GetLengths(), run.Lengths[from:to])
		if run.Rewards != nil {
			sum.Rewards = extend(sum.GetRewards(), run.Rewards[from:to])
		}
		sum.Aborted += uint32(run.Aborted)
		sum.Failed = extend(sum.GetFailed(), run.Failed)
		sum.Tokens += run.Tokens
		sum.ResponseTokens += run.ResponseTokens
		if run.HasVersions {
			if !sum.GetHasVersions() || run.MinVersion < sum.GetMinVersion() {
				sum.MinVersion = run.MinVersion
			}
			if !sum.GetHasVersions() || run.MaxVersion > sum.GetMaxVersion() {
				sum.MaxVersion = run.MaxVersion
			}
			sum.HasVersions = true
			sum.SumVersions += run.SumVersions
		}
	}
	if foreign {
		sum.Parents = parents
	}
}

// extend is append that shares the first part instead of copying it; nobody writes into it later.
func extend[V any](all, more []V) []V {
	if len(all) == 0 {
		return slices.Clip(more)
	}
	return append(all, more...)
}
