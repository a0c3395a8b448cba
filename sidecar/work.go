package sidecar

import (
	"errors"

	"google.golang.org/protobuf/proto"

	"outrider/arrowio"
	"outrider/bridge"
	"outrider/bridge/wire"
)

// work is what a worker's sidecar keeps so that a new owner can adopt it: running executions and terminal receipts with their data.
type work struct {
	held      map[uint64]*wire.Held // by execution
	finished  map[uint64]*finished  // by execution
	number    uint64                // of the last segment
	groupSize uint32                // of the run
	ready     bool                  // the shim has the table
	early     []*wire.Frame         // grants that came before
	draining  bool                  // it asked for no more work: every life of the owner is told
	handover  handover
	given     map[uint64]*arrowio.Columns // by execution: rows that a stage adds columns to
}

func newWork() *work {
	return &work{held: map[uint64]*wire.Held{}, finished: map[uint64]*finished{}, given: map[uint64]*arrowio.Columns{}}
}

func (w *work) fillJoin(join *wire.Join) {
	join.Inventory = &wire.Inventory{}
	for _, execution := range sortedKeys(w.held) {
		join.Inventory.Held = append(join.Inventory.Held, proto.CloneOf(w.held[execution]))
	}
	if w.draining {
		join.GetWorker().Slots = 0 // the word that follows must not come after a grant
	}
}

// granted takes note of assignments and passes them on. A receipt that is here already was granted again after a reconnection.
func (m *member) granted(grant *wire.Grant) {
	receipts, err := toReceipts(grant.GetReceipts())
	promises, pushed := grant.GetPromises(), grant.GetPushed()
	if err != nil || len(promises) > 0 && len(promises) != len(receipts) || len(grant.GetRows()) != len(receipts) || len(grant.GetVersions()) != len(receipts) || len(pushed) != len(receipts) && len(pushed) != 0 {
		m.p.log.Error("grant of uneven lists dropped", "error", err)
		return
	}
	packed := &wire.Receipts{Timeline: grant.GetReceipts().GetTimeline(), Worker: grant.GetReceipts().GetWorker()}
	fresh := &wire.Grant{Receipts: packed}
	for i := range receipts {
		receipt := &receipts[i]
		if m.work.held[receipt.GetExecution()] != nil {
			continue
		}
		m.work.held[receipt.GetExecution()] = &wire.Held{Receipt: receipt, Version: grant.GetVersions()[i]}
		packed.Groups = append(packed.Groups, receipt.GetGroup())
		packed.Attempts = append(packed.Attempts, receipt.GetAttempt())
		packed.Executions = append(packed.Executions, receipt.GetExecution())
		fresh.Rows = append(fresh.Rows, grant.GetRows()[i])
		fresh.Versions = append(fresh.Versions, grant.GetVersions()[i])
		if len(promises) > 0 {
			fresh.Promises = append(fresh.Promises, promises[i])
		}
		if len(pushed) > 0 {
			fresh.Pushed = append(fresh.Pushed, pushed[i])
		}
	}
	if len(fresh.GetRows()) == 0 {
		return
	}
	frame := &wire.Frame{Member: m.id, Body: &wire.Frame_Grant{Grant: fresh}}
	if !m.work.ready {
		m.work.early = append(m.work.early, frame)
		return
	}
	m.p.shim.put(frame)
}

// carried takes note of the receipts by which executions go from here on. The shim never learns them: it names executions, and
// what it reports goes out under the receipts that are kept here. Frames that may be on their way out are replaced, not changed.
func (m *member) carried(carried *wire.Carried) {
	timeline := carried.GetReceipts().GetTimeline()
	if worker := carried.GetReceipts().GetWorker(); worker != m.session {
		for _, execution := range carried.GetReceipts().GetExecutions() {
			if k := m.keeps[executionKey{execution, worker}]; k != nil {
				k.held = inTimeline(k.held, timeline)
			}
		}
		return
	}
	if m.work == nil {
		return
	}
	named := map[uint64]bool{}
	for _, execution := range carried.GetReceipts().GetExecutions() {
		named[execution] = true
		if held := m.work.held[execution]; held != nil {
			m.work.held[execution] = inTimeline(held, timeline)
		}
	}
	for _, q := range m.questions {
		if report := q.frame.GetReport(); report != nil {
			q.frame = proto.CloneOf(q.frame)
			for _, outcome := range q.frame.GetReport().GetOutcomes() {
				if named[outcome.GetReceipt().GetExecution()] {
					outcome.Receipt.Timeline = timeline
				}
			}
		}
		if done := q.frame.GetSampleDone(); done != nil {
			q.frame = proto.CloneOf(q.frame)
			for _, count := range q.frame.GetSampleDone().GetCounts() {
				if named[count.GetReceipt().GetExecution()] {
					count.Receipt.Timeline = timeline
				}
			}
		}
	}
}

// inTimeline is the same with receipts of another timeline.
func inTimeline(held *wire.Held, timeline *wire.Timeline) *wire.Held {
	held = proto.CloneOf(held)
	held.Receipt.Timeline = timeline
	if held.GetOutcome() != nil {
		held.Outcome.Receipt.Timeline = timeline
	}
	return held
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
		totals.Counts = append(totals.Counts, &wire.SampleCount{Receipt: held.GetReceipt(), Samples: held.GetDone()})
	}
	m.ask(&wire.Frame{Body: &wire.Frame_SampleDone{SampleDone: totals}}, func(answer *wire.Frame) { m.p.relay(frame, answer) })
}

// release forgets what the owner does not need any more: what was made here, or what is kept here for another worker.
func (m *member) release(release *wire.Release) {
	for _, execution := range release.GetExecutions() {
		if worker := release.GetWorker(); worker != 0 {
			m.unkeep(executionKey{execution, worker})
		} else if m.work != nil {
			m.forget(execution)
		}
	}
}

func (m *member) forget(execution uint64) {
	delete(m.work.held, execution)
	m.work.takeBack(execution)
	if f := m.work.finished[execution]; f != nil {
		delete(m.work.finished, execution)
		m.p.segments.release(m.session, f.segment)
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
		if answer.GetError() == nil {
			switch version, timeline := confirm.GetVersion(), answer.GetConfirmed().GetTimeline(); {
			case m.join.GetWorker() != nil:
				m.join.Worker.ConfirmedVersion, m.join.Worker.ConfirmedTimeline = version, timeline
			case m.join.GetEngine() != nil:
				m.join.Engine.ConfirmedVersion, m.join.Engine.ConfirmedTimeline = version, timeline
			}
		}
		m.p.relay(frame, answer)
	})
}

// setSlots tells the owner how much this worker runs at once, and remembers it for the owner's next life.
func (m *member) setSlots(frame *wire.Frame, set *wire.SetSlots) {
	if worker := m.join.GetWorker(); worker != nil {
		worker.Slots = set.GetSlots()
	}
	m.ask(&wire.Frame{Body: &wire.Frame_SetSlots{SetSlots: set}}, func(answer *wire.Frame) { m.p.relay(frame, answer) })
}

// drain asks for no new work, of this life of the owner and of those that follow; answer may be nil.
func (m *member) drain(answer func(*wire.Frame)) {
	if answer == nil {
		answer = func(*wire.Frame) {}
	}
	if m.work != nil {
		m.work.draining = true
	}
	m.ask(&wire.Frame{Body: &wire.Frame_Drain{Drain: &wire.Drain{}}}, answer)
}

// idle reports whether nothing runs here, nor has to be handed over.
func (m *member) idle() bool {
	if m.work == nil {
		return true
	}
	if h := m.work.handover; h.busy || h.to != nil && len(h.due) > 0 {
		return false
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
	var kind *bridge.Error
	var damaged *arrowio.DamagedError
	var unsupported *arrowio.UnsupportedError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &kind):
		return err
	case errors.As(err, &damaged):
		return bridge.NewError(bridge.Damaged, err.Error())
	case errors.As(err, &unsupported):
		return bridge.NewError(bridge.Unsupported, err.Error())
	default:
		return bridge.NewError(bridge.Data, err.Error())
	}
}
