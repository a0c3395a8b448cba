package sidecar

import (
	"fmt"
	"slices"

	"outrider/bridge"
	"outrider/bridge/wire"
	"outrider/leases"
	"outrider/scheduler"
)

// event handles one frame of a member in the owner's loop: it becomes one call of the scheduler, the answer goes back.
func (o *owner) event(a *attached, frame *wire.Frame) {
	if o.attached[a.session] != a {
		return
	}
	if frame.GetAnswer() { // of an Append or a SetBase
		if frame.GetError() == nil {
			o.scheduler.Appended(a.session, frame.GetId())
		}
		return
	}
	if speaksOfCommits(frame) && o.delay(func() { o.event(a, frame) }) {
		return
	}
	reply := func(body *wire.Frame, err error) {
		if body == nil {
			body = &wire.Frame{Body: &wire.Frame_Done{Done: &wire.Done{}}}
		}
		if err != nil {
			body = &wire.Frame{Error: bridge.ToWire(fromCore(err))}
		}
		body.Id, body.Answer = frame.GetId(), true
		a.out.put(body)
	}
	s := o.scheduler
	switch body := frame.GetBody().(type) {
	case *wire.Frame_SampleDone:
		reply(nil, o.sampleDone(body.SampleDone))
	case *wire.Frame_Report:
		answer := o.report(a, body.Report)
		o.reported = append(o.reported, func() { reply(answer, nil) })
	case *wire.Frame_Kept:
		o.kept(a, body.Kept, reply)
	case *wire.Frame_Credit:
		o.credit(body.Credit, reply)
	case *wire.Frame_Confirm:
		timeline, err := s.Confirm(a.session, body.Confirm.GetVersion(), []byte(body.Confirm.GetDigest()))
		reply(&wire.Frame{Body: &wire.Frame_Confirmed{Confirmed: &wire.Confirmed{Timeline: fromTimeline(timeline)}}}, err)
	case *wire.Frame_SetSlots:
		reply(nil, s.SetSlots(a.session, int(body.SetSlots.GetSlots())))
	case *wire.Frame_CancelGroups:
		asked, err := s.CancelGroups(body.CancelGroups.GetGroups(), body.CancelGroups.GetReason())
		reply(&wire.Frame{Body: &wire.Frame_GroupsCancelled{GroupsCancelled: &wire.GroupsCancelled{Asked: int64(asked)}}}, err)
	case *wire.Frame_Quiet:
		samples, err := s.Quiet(a.session)
		reply(&wire.Frame{Body: &wire.Frame_Quieted{Quieted: &wire.Quieted{Samples: samples}}}, err)
	case *wire.Frame_Drain:
		reply(nil, s.Drain(a.session))
	case *wire.Frame_Push:
		o.pushes(a, body.Push, reply)
	case *wire.Frame_Offer:
		o.offer(a, body.Offer, reply)
	case *wire.Frame_EndStream:
		s.EndStream(o.ticket(func(_ any, err error) { reply(nil, err) }), a.session)
	case *wire.Frame_Take:
		o.take(a, body.Take, reply)
	case *wire.Frame_CancelTake:
		if ticket, ok := o.takes[takeKey{a.session, body.CancelTake.GetRollout()}]; ok {
			s.CancelTake(ticket)
		}
		reply(nil, nil)
	case *wire.Frame_DiscardGroups:
		s.DiscardGroups(o.ticket(answering(reply, o.leased)), body.DiscardGroups.GetAdmission(), body.DiscardGroups.GetGroups(), body.DiscardGroups.GetReason(), body.DiscardGroups.GetShorter())
	case *wire.Frame_Publish:
		reply(o.publish(body.Publish))
	case *wire.Frame_Admit:
		reply(nil, o.admit(a, body.Admit))
	case *wire.Frame_AddColumns:
		o.reachable(a, body.AddColumns.GetAddress())
		reply(nil, s.AddColumns(addRequest(a, body.AddColumns)))
	case *wire.Frame_GetColumn:
		reply(o.added(a, body.GetColumn))
	case *wire.Frame_Restored:
		unsaid, err := s.Restored(a.session, body.Restored.GetRollout(), []byte(body.Restored.GetDigest()))
		reply(&wire.Frame{Body: &wire.Frame_Restored{Restored: &wire.Restored{Rollout: body.Restored.GetRollout(), Unsaid: unsaid}}}, err)
	case *wire.Frame_Mapped:
		o.mapped(a, body.Mapped)
	case *wire.Frame_Commit:
		o.commit(a, body.Commit, reply)
	case *wire.Frame_Rollback:
		status, err := s.Rollback(body.Rollback.GetAdmission(), body.Rollback.GetReason())
		reply(fromStatus(status), err)
	case *wire.Frame_LeaseStatus:
		status, err := s.LeaseStatus(body.LeaseStatus.GetAdmission())
		reply(fromStatus(status), err)
	case *wire.Frame_Hold:
		hold, err := s.Hold(a.session, frame.GetId(), body.Hold.GetReason())
		reply(&wire.Frame{Body: &wire.Frame_HoldGranted{HoldGranted: &wire.HoldGranted{Hold: uint64(hold)}}}, err)
	case *wire.Frame_AwaitFrontier:
		s.Frontier(o.ticket(func(_ any, err error) { reply(nil, err) }), scheduler.HoldID(body.AwaitFrontier.GetHold()))
	case *wire.Frame_ReleaseHold:
		if body.ReleaseHold.GetHold() == 0 {
			reply(nil, s.Withdraw(a.session))
			return
		}
		reply(nil, s.Release(scheduler.HoldID(body.ReleaseHold.GetHold())))
	case *wire.Frame_BeginUpdate:
		o.beginUpdate(a, body.BeginUpdate, reply)
	case *wire.Frame_GetUpdate:
		report, err := s.UpdateStatus(scheduler.HoldID(body.GetUpdate.GetHold()))
		reply(o.updateReport(report, body.GetUpdate.GetHold()), err)
	case *wire.Frame_RecordUpdate:
		s.Record(o.ticket(func(value any, err error) {
			report, _ := value.(scheduler.UpdateReport)
			reply(o.updateReport(report, body.RecordUpdate.GetHold()), err)
		}), scheduler.HoldID(body.RecordUpdate.GetHold()))
	case *wire.Frame_UndoUpdate:
		s.Undo(o.ticket(answering(reply, o.updating)), scheduler.HoldID(body.UndoUpdate.GetHold()))
	case *wire.Frame_GetState:
		state, err := s.State(body.GetState.GetRollout())
		reply(&wire.Frame{Body: &wire.Frame_StateBytes{StateBytes: &wire.StateBytes{State: state}}}, err)
	case *wire.Frame_Saved:
		reply(nil, s.Saved(body.Saved.GetRollout()))
	case *wire.Frame_Rewind:
		s.Rewind(o.ticket(func(value any, err error) {
			report, _ := value.(scheduler.RewindReport)
			reply(&wire.Frame{Body: &wire.Frame_Rewound{Rewound: &wire.Rewound{Rollout: report.Rollout, Groups: report.Replay, Version: report.Version}}}, err)
		}), body.Rewind.GetRollout())
	case *wire.Frame_GetStats:
		answer := func() {
			stats := o.stats()
			if body.GetStats.GetStep() {
				stats.Step = fromStep(s.Step())
			}
			reply(&wire.Frame{Body: &wire.Frame_Stats_{Stats_: stats}}, nil)
		}
		if body.GetStats.GetReady() && s.Stats().Timeline.Number == 0 {
			o.readies = append(o.readies, answer)
			return
		}
		answer()
	case *wire.Frame_GetMetrics:
		text, err := o.metrics()
		reply(&wire.Frame{Body: &wire.Frame_Metrics_{Metrics_: &wire.Metrics{Text: text}}}, err)
	case *wire.Frame_Close:
		s.Close(o.ticket(func(value any, err error) {
			report, _ := value.(scheduler.CloseReport)
			stats := o.stats()
			if err == nil {
				stats.Books = fromBooks(report.Books, s.Stats())
			}
			reply(&wire.Frame{Body: &wire.Frame_Closed{Closed: &wire.Closed{Stats: stats, State: report.State}}}, err)
		}), body.Close.GetForce())
	default:
		reply(nil, fmt.Errorf("%w: an owner does not take %T", leases.ErrRefused, body))
	}
}

// delay keeps a question until no commit is half done; false: none is.
func (o *owner) delay(question func()) bool {
	if !o.scheduler.Deciding() {
		return false
	}
	o.delayed = append(o.delayed, question)
	return true
}

// speaksOfCommits are the questions whose answers depend on what is committed, or that change it: they wait while a rank may know
// of a commit that the scheduler has not been told of (scheduler.Deciding).
func speaksOfCommits(frame *wire.Frame) bool {
	switch frame.GetBody().(type) {
	case *wire.Frame_GetState, *wire.Frame_Saved, *wire.Frame_Rewind, *wire.Frame_BeginUpdate, *wire.Frame_UndoUpdate, *wire.Frame_Restored,
		*wire.Frame_Rollback, *wire.Frame_LeaseStatus, *wire.Frame_GetStats, *wire.Frame_GetMetrics, *wire.Frame_Close:
		return true
	default:
		return false
	}
}

type reply = func(body *wire.Frame, err error)

// answering is the answer to a waiting call whose value, when it has one, frame says on the wire.
func answering[V any](reply reply, frame func(V) (*wire.Frame, error)) func(value any, err error) {
	return func(value any, err error) {
		if err != nil {
			reply(nil, err)
			return
		}
		reply(frame(value.(V)))
	}
}

// ticket makes a name for a waiting call; then is called with its one answer.
func (o *owner) ticket(then func(value any, err error)) scheduler.Ticket {
	o.lastTicket++
	o.tickets[o.lastTicket] = then
	return o.lastTicket
}

func (o *owner) answered(e scheduler.Answer) {
	if then := o.tickets[e.Ticket]; then != nil {
		delete(o.tickets, e.Ticket)
		then(e.Value, e.Err)
	}
}

func sortedTickets(tickets map[scheduler.Ticket]func(any, error)) []scheduler.Ticket {
	all := make([]scheduler.Ticket, 0, len(tickets))
	for ticket := range tickets {
		all = append(all, ticket)
	}
	slices.Sort(all)
	return all
}

// sampleDone counts every report; the first refusal is the answer.
func (o *owner) sampleDone(done *wire.SampleDone) error {
	var first error
	for _, count := range done.GetCounts() {
		if err := o.scheduler.SampleDone(toReceipt(count.GetReceipt()), int(count.GetSamples())); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// answerReports answers the reports of this round.
func (o *owner) answerReports() {
	answers := o.reported
	o.reported = nil
	for _, answer := range answers {
		answer()
	}
}

// credit asks for leave to write; a list that cannot be read is refused.
func (o *owner) credit(credit *wire.Credit, reply reply) {
	packed, err := toReceipts(credit.GetReceipts())
	if err != nil {
		reply(nil, err)
		return
	}
	receipts := make([]leases.Receipt, len(packed))
	for i := range packed {
		receipts[i] = toReceipt(&packed[i])
	}
	o.scheduler.Credit(o.ticket(func(_ any, err error) { reply(nil, err) }), receipts, credit.GetBytes())
}

func (o *owner) report(a *attached, report *wire.Report) *wire.Frame {
	body := &wire.Reported{}
	host := a.join.GetEndpoint().GetHost()
	for i, outcome := range report.GetOutcomes() {
		if err := o.scheduler.Terminal(toReceipt(outcome.GetReceipt()), o.outcome(host, outcome.GetReceipt(), outcome)); err != nil {
			body.Errors, body.Places = append(body.Errors, bridge.ToWire(fromCore(err))), append(body.Places, uint32(i))
		}
	}
	return &wire.Frame{Body: &wire.Frame_Reported{Reported: body}}
}
