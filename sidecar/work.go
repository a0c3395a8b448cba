package sidecar

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"outrider/arrowio"
	"outrider/bridge"
	"outrider/bridge/wire"
)

// work is what a worker's sidecar keeps so that a new owner can adopt it: running executions and terminal receipts with their data.
type work struct {
	held     map[uint64]*wire.Held // by execution
	segments map[uint64]uint64     // execution to the number of the segment with its rows
	number   uint64                // of the last segment
	ready    bool                  // the shim has the table
	early    []*wire.Frame         // grants that came before
}

func newWork() *work { return &work{held: map[uint64]*wire.Held{}, segments: map[uint64]uint64{}} }

func (w *work) fillJoin(join *wire.Join) {
	join.Inventory = &wire.Inventory{}
	for _, execution := range sortedKeys(w.held) {
		join.Inventory.Held = append(join.Inventory.Held, proto.CloneOf(w.held[execution]))
	}
}

// granted takes note of assignments and passes them on. A receipt that is here already was granted again after a reconnection.
func (m *member) granted(grant *wire.Grant) {
	fresh := &wire.Grant{}
	for _, assignment := range grant.GetAssignments() {
		execution := assignment.GetReceipt().GetExecution()
		if m.work.held[execution] != nil {
			continue
		}
		m.work.held[execution] = &wire.Held{Receipt: assignment.GetReceipt(), Version: assignment.GetVersion()}
		fresh.Assignments = append(fresh.Assignments, assignment)
	}
	if len(fresh.GetAssignments()) == 0 {
		return
	}
	frame := &wire.Frame{Member: m.id, Body: &wire.Frame_Grant{Grant: fresh}}
	if !m.work.ready {
		m.work.early = append(m.work.early, frame)
		return
	}
	m.p.shim.put(frame)
}

// sampleDone turns the shim's increments into totals, which may be said twice.
func (m *member) sampleDone(frame *wire.Frame, done *wire.SampleDone) {
	totals := &wire.SampleDone{}
	for _, count := range done.GetCounts() {
		held := m.work.held[count.GetReceipt().GetExecution()]
		if held == nil || held.GetOutcome() != nil {
			continue // its group has ended, or went elsewhere
		}
		held.Done += count.GetSamples()
		totals.Counts = append(totals.Counts, &wire.SampleCount{Receipt: count.GetReceipt(), Samples: held.GetDone()})
	}
	m.ask(&wire.Frame{Body: &wire.Frame_SampleDone{SampleDone: totals}}, func(answer *wire.Frame) { m.p.relay(frame, answer) })
}

// made is a report's data, sealed and summed up by the reader.
type made struct {
	segments []*arrowio.Segment
	errors   []error // of each segment
	groups   [][]arrowio.GroupSummary
}

// sealReport seals every descriptor of a report and checks what is in it.
func sealReport(fds []int) *made {
	all := &made{
		segments: make([]*arrowio.Segment, len(fds)),
		errors:   make([]error, len(fds)),
		groups:   make([][]arrowio.GroupSummary, len(fds)),
	}
	for i, fd := range fds {
		segment, err := arrowio.Seal(fd)
		if err == nil {
			all.segments[i] = segment
			all.groups[i], err = arrowio.Summarize(segment, arrowio.DefaultRules())
		}
		all.errors[i] = named(err)
	}
	return all
}

// report ends executions: the data stays here, the owner gets terminal receipts. An outcome whose data is refused is answered with
// the reason and reported to the owner as a failure of that execution.
func (m *member) report(frame *wire.Frame, data *made) {
	numbers := make([]uint64, len(data.segments))
	uses := make([]int, len(data.segments))
	for i := range data.segments {
		m.work.number++
		numbers[i] = m.work.number
	}
	outcomes := frame.GetReport().GetOutcomes()
	refused := make([]error, len(outcomes))
	told := make([]*wire.Outcome, 0, len(outcomes))
	places := make([]int, 0, len(outcomes)) // of told, in outcomes
	for i, outcome := range outcomes {
		if outcome.GetKind() == "success" {
			err := data.locate(outcome, m.session, numbers)
			if err == nil && m.work.held[outcome.GetReceipt().GetExecution()].GetOutcome() != nil {
				err = bridge.NewError(bridge.Conflict, fmt.Sprintf("outrider: group %d execution %d was reported already; report each execution once", outcome.GetReceipt().GetGroup(), outcome.GetReceipt().GetExecution()))
				refused[i] = err
				continue
			}
			if err != nil {
				refused[i] = err
				outcome = &wire.Outcome{Receipt: outcome.GetReceipt(), Kind: "failure", Reason: err.Error()}
			} else {
				uses[outcome.GetSegment()]++
			}
		}
		execution := outcome.GetReceipt().GetExecution()
		if held := m.work.held[execution]; held != nil {
			held.Outcome = outcome
		}
		if outcome.GetLocator() != nil {
			m.work.segments[execution] = outcome.GetLocator().GetSegment().GetNumber()
		}
		told, places = append(told, outcome), append(places, i)
	}
	for i, segment := range data.segments {
		switch {
		case segment == nil:
		case uses[i] == 0:
			segment.Close()
		default:
			m.p.segments.hold(m.session, numbers[i], segment, uses[i])
		}
	}
	m.ask(&wire.Frame{Body: &wire.Frame_Report{Report: &wire.Report{Outcomes: told}}}, func(answer *wire.Frame) {
		m.reported(frame, answer, told, places, refused)
	})
}

// reported passes the owner's word on each outcome to the shim and frees what was not accepted.
func (m *member) reported(frame, answer *wire.Frame, told []*wire.Outcome, places []int, refused []error) {
	if answer.GetError() != nil {
		m.p.relay(frame, answer)
		return
	}
	body := &wire.Reported{Errors: make([]*wire.Error, len(refused))}
	for i, err := range refused {
		body.Errors[i] = bridge.ToWire(err)
		if err == nil {
			body.Errors[i] = &wire.Error{}
		}
	}
	for i, e := range answer.GetReported().GetErrors() {
		if e.GetKind() != "" {
			m.forget(told[i].GetReceipt().GetExecution())
			if body.GetErrors()[places[i]].GetKind() == "" {
				body.Errors[places[i]] = e
			}
		} else if told[i].GetLocator() == nil {
			delete(m.work.held, told[i].GetReceipt().GetExecution())
		}
	}
	m.p.answer(frame, &wire.Frame{Body: &wire.Frame_Reported{Reported: body}}, nil)
	m.p.endIfIdle()
}

// locate fills in where an outcome's rows are and what is in them.
func (d *made) locate(outcome *wire.Outcome, holder uint64, numbers []uint64) error {
	group := outcome.GetReceipt().GetGroup()
	index := int(outcome.GetSegment())
	if index >= len(d.segments) {
		return bridge.NewError(bridge.Data, fmt.Sprintf("outrider: group %d names segment %d, the report came with %d; attach one descriptor for each segment", group, index, len(d.segments)))
	}
	if err := d.errors[index]; err != nil {
		return err
	}
	segment := d.segments[index]
	first, rows := outcome.GetFirstRow(), outcome.GetRows()
	if first < 0 || rows < 1 || first > segment.Rows()-rows {
		return bridge.NewError(bridge.Data, fmt.Sprintf("outrider: group %d names rows %d to %d of a segment with %d", group, first, first+rows, segment.Rows()))
	}
	outcome.Locator = &wire.Locator{Segment: &wire.SegmentId{Holder: holder, Number: numbers[index]}, FirstRow: first, Rows: rows}
	outcome.Summary = summarize(d.groups[index], group, first, rows)
	outcome.Summary.Bytes = segment.Size() * rows / segment.Rows()
	return nil
}

// summarize joins the summaries of the runs of equal group values within [first, first+rows): one run, unless the worker mixed
// groups up, which the ledger then sees by the parents.
func summarize(runs []arrowio.GroupSummary, group, first, rows int64) *wire.Summary {
	sum := &wire.Summary{}
	foreign := false
	var parents []int64
	for i := range runs {
		run := &runs[i]
		from, to := max(first-int64(run.FirstRow), 0), min(first+rows-int64(run.FirstRow), int64(run.Rows))
		if from >= to {
			continue
		}
		foreign = foreign || run.Group != group
		for range to - from {
			parents = append(parents, run.Group)
		}
		sum.Slots = append(sum.Slots, run.Slots[from:to]...)
		sum.Lengths = append(sum.Lengths, run.Lengths[from:to]...)
		if run.Rewards != nil {
			sum.Rewards = append(sum.Rewards, run.Rewards[from:to]...)
		}
		sum.Aborted += uint32(run.Aborted)
		sum.Failed += uint32(run.Failed)
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
	return sum
}

// release forgets what the owner does not need any more.
func (m *member) release(release *wire.Release) {
	for _, execution := range release.GetExecutions() {
		m.forget(execution)
	}
}

func (m *member) forget(execution uint64) {
	delete(m.work.held, execution)
	if number, ok := m.work.segments[execution]; ok {
		delete(m.work.segments, execution)
		m.p.segments.release(m.session, number)
	}
}

// dropVoid forgets what a new owner does not adopt; the shim is told to stop what still runs.
func (m *member) dropVoid(receipts []*wire.Receipt) {
	for _, receipt := range receipts {
		if held := m.work.held[receipt.GetExecution()]; held != nil && held.GetOutcome() == nil {
			m.p.shim.put(&wire.Frame{Member: m.id, Body: &wire.Frame_Cancel{Cancel: &wire.Cancel{Receipts: []*wire.Receipt{receipt}}}})
		}
		m.forget(receipt.GetExecution())
	}
}

// confirm tells the owner which version this engine serves and remembers it for the owner's next life.
func (m *member) confirm(frame *wire.Frame, confirm *wire.Confirm) {
	m.ask(&wire.Frame{Body: &wire.Frame_Confirm{Confirm: confirm}}, func(answer *wire.Frame) {
		if answer.GetError() == nil && m.join.GetWorker() != nil {
			m.join.Worker.ConfirmedVersion = confirm.GetVersion()
			m.join.Worker.ConfirmedTimeline = answer.GetConfirmed().GetTimeline()
		}
		m.p.relay(frame, answer)
	})
}

// drain asks for no new work.
func (m *member) drain() {
	if m.work != nil {
		m.ask(&wire.Frame{Body: &wire.Frame_Drain{Drain: &wire.Drain{}}}, func(*wire.Frame) {})
	}
}

// idle reports whether nothing runs here.
func (m *member) idle() bool {
	if m.work == nil {
		return true
	}
	for _, held := range m.work.held {
		if held.GetOutcome() == nil {
			return false
		}
	}
	return true
}

// named gives the errors of arrowio their kind.
func named(err error) error {
	var damaged *arrowio.DamagedError
	var unsupported *arrowio.UnsupportedError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &damaged):
		return bridge.NewError(bridge.Damaged, err.Error())
	case errors.As(err, &unsupported):
		return bridge.NewError(bridge.Unsupported, err.Error())
	default:
		return bridge.NewError(bridge.Data, err.Error())
	}
}
