package sidecar

import (
	"errors"
	"fmt"
	"slices"

	"outrider/bridge"
	"outrider/bridge/wire"
	"outrider/leases"
	"outrider/scheduler"
)

// batches gathers what goes to one session in one round, so that many groups cost one frame.
type batches struct {
	order    []leases.Session
	grants   map[leases.Session][]*wire.Grant   // one for each timeline
	releases map[leases.Session][]*wire.Release // one for each worker
}

// carryOut carries the scheduler's effects out, in order. Grants and releases of one round are sent together after the rest: nothing
// in a round depends on them having arrived.
func (o *owner) carryOut(effects []scheduler.Effect) {
	round := batches{grants: map[leases.Session][]*wire.Grant{}, releases: map[leases.Session][]*wire.Release{}}
	for _, effect := range effects {
		switch e := effect.(type) {
		case scheduler.Grant:
			round.grant(e)
		case scheduler.Release:
			o.release(&round, e)
		case scheduler.KeepBy:
			o.keepBy(e)
		case scheduler.StageGrant:
			o.stageGranted(e)
		case scheduler.Carried:
			o.push(e.Session, carried(e.Receipts))
		case scheduler.Cancel:
			o.push(e.Session, &wire.Frame{Body: &wire.Frame_Cancel{Cancel: &wire.Cancel{Receipts: []*wire.Receipt{fromReceipt(e.Receipt)}}}})
		case scheduler.Append:
			// The entry's index is the question's id, so the answer says which entry is there.
			frame := &wire.Frame{Id: e.Entry.Index, Body: &wire.Frame_Append{Append: &wire.Append{Entry: &wire.Entry{Index: e.Entry.Index, Data: e.Entry.Bytes}, Decides: e.Decides}}}
			o.pushAll(e.Sessions, frame)
		case scheduler.LetGo:
			o.pushEverybody(&wire.Frame{Body: &wire.Frame_LetGo{LetGo: &wire.LetGo{Gone: fromPushIDs(e.IDs)}}})
		case scheduler.Pull:
			o.pull(e)
		case scheduler.GiveBack:
			o.giveBack(e)
		case scheduler.SetBase:
			base := &wire.SetBase{Index: e.Index, Base: e.State}
			for _, entry := range e.Log {
				base.Log = append(base.Log, &wire.Entry{Index: entry.Index, Data: entry.Bytes})
			}
			o.pushAll(e.Sessions, &wire.Frame{Id: e.Last(), Body: &wire.Frame_SetBase{SetBase: base}})
		case scheduler.Answer:
			o.answered(e)
		case scheduler.NewTerm:
			o.pushEverybody(&wire.Frame{Body: &wire.Frame_NewTerm{NewTerm: &wire.NewTerm{Term: fromTerm(e.Term)}}})
		case scheduler.NewTimeline:
			o.pushEverybody(&wire.Frame{Body: &wire.Frame_NewTimeline{NewTimeline: &wire.NewTimeline{Timeline: fromTimeline(e.Timeline), Version: e.Version, LastRollout: e.LastRollout}}})
			o.becomeReady()
		case scheduler.Committed:
			o.pushAll(e.Sessions, &wire.Frame{Body: &wire.Frame_Committed{Committed: &wire.Committed{Admission: e.Admission, Rollout: e.Rollout}}})
			delete(o.publications, e.Admission)
		case scheduler.Revoked:
			delete(o.publications, e.Admission)
		case scheduler.Expel:
			o.expel(e)
		case scheduler.Log:
			o.say(e)
		case scheduler.Ended:
			o.answerReports() // before the End, behind which nothing is heard
			if e.Answers {
				o.endWorkers(e.Err)
				continue
			}
			o.end(e.Err)
		case scheduler.Announced, scheduler.Drained:
			// Members learn versions by their assignments, and leave when they have nothing left.
		}
	}
	for _, session := range round.order {
		for _, grant := range round.grants[session] {
			o.push(session, &wire.Frame{Body: &wire.Frame_Grant{Grant: grant}})
		}
		for _, release := range round.releases[session] {
			o.push(session, &wire.Frame{Body: &wire.Frame_Release{Release: release}})
		}
	}
}

// carried packs receipts of one timeline and one worker.
func carried(receipts []leases.Receipt) *wire.Frame {
	packed := &wire.Receipts{Timeline: fromTimeline(receipts[0].Timeline), Worker: uint64(receipts[0].Worker)}
	for _, r := range receipts {
		packed.Groups = append(packed.Groups, r.Group)
		packed.Attempts = append(packed.Attempts, r.Attempt)
		packed.Executions = append(packed.Executions, r.Execution)
	}
	return &wire.Frame{Body: &wire.Frame_Carried{Carried: &wire.Carried{Receipts: packed}}}
}

func (b *batches) see(session leases.Session) {
	if len(b.grants[session]) == 0 && len(b.releases[session]) == 0 {
		b.order = append(b.order, session)
	}
}

func (b *batches) grant(e scheduler.Grant) {
	b.see(e.Session)
	receipt := e.Assignment.Receipt
	grants := b.grants[e.Session]
	// One grant has promises for all of its executions, or for none.
	unlike := func(grant *wire.Grant) bool {
		return (len(grant.GetPromises()) > 0) != (e.Assignment.Promise != scheduler.NoPromise)
	}
	if len(grants) == 0 || unlike(grants[len(grants)-1]) || toTimeline(grants[len(grants)-1].GetReceipts().GetTimeline()) != receipt.Timeline {
		grants = append(grants, newGrant(receipt))
		b.grants[e.Session] = grants
	}
	assign(grants[len(grants)-1], e.Assignment)
}

// newGrant is empty, for receipts of this one's timeline and worker.
func newGrant(of leases.Receipt) *wire.Grant {
	return &wire.Grant{Receipts: &wire.Receipts{Timeline: fromTimeline(of.Timeline), Worker: uint64(of.Worker)}}
}

// assign adds an execution to a grant.
func assign(grant *wire.Grant, a scheduler.Assignment) {
	packed := grant.GetReceipts()
	packed.Groups = append(packed.Groups, a.Receipt.Group)
	packed.Attempts = append(packed.Attempts, a.Receipt.Attempt)
	packed.Executions = append(packed.Executions, a.Receipt.Execution)
	grant.Rows = append(grant.Rows, a.Row)
	grant.Versions = append(grant.Versions, a.Version)
	if a.Promise != scheduler.NoPromise {
		grant.Promises = append(grant.Promises, a.Promise)
	}
	if a.Pushed != nil {
		grant.Pushed = append(grant.Pushed, a.Pushed)
	}
}

func (o *owner) release(b *batches, e scheduler.Release) {
	if data := o.data[e.Handle]; data != nil {
		o.forget(e.Handle, data)
		o.scheduler.BytesReleased(data.host, data.summary.GetBytes())
		for _, keeper := range data.keepers {
			b.release(keeper, uint64(e.Receipt.Worker), e.Receipt.Execution)
		}
	}
	b.release(e.Holder, 0, e.Receipt.Execution)
}

// release tells a session to let go of what it made, or with a worker of what it keeps for that.
func (b *batches) release(session leases.Session, worker, execution uint64) {
	b.see(session)
	at := slices.IndexFunc(b.releases[session], func(r *wire.Release) bool { return r.GetWorker() == worker })
	if at < 0 {
		at = len(b.releases[session])
		b.releases[session] = append(b.releases[session], &wire.Release{Worker: worker})
	}
	release := b.releases[session][at]
	release.Executions = append(release.Executions, execution)
}

func (o *owner) push(session leases.Session, frame *wire.Frame) {
	if a := o.attached[session]; a != nil {
		a.out.put(frame)
	}
}

func (o *owner) pushAll(sessions []leases.Session, frame *wire.Frame) {
	for _, session := range sessions {
		o.push(session, frame)
	}
}

func (o *owner) pushEverybody(frame *wire.Frame) {
	for _, a := range o.attached {
		a.out.put(frame)
	}
}

// expel ends a session that the scheduler has detached already.
func (o *owner) expel(e scheduler.Expel) {
	a := o.attached[e.Session]
	if a == nil {
		return
	}
	delete(o.attached, e.Session)
	o.log.Warn("member expelled", "member", a.join.GetName(), "session", a.session, "error", e.Err)
	a.out.put(&wire.Frame{Body: &wire.Frame_End{End: &wire.End{Error: bridge.ToWire(fromCore(e.Err))}}})
	a.out.close()
}

func (o *owner) say(e scheduler.Log) {
	switch e.Level {
	case scheduler.Warn:
		o.log.Warn(e.Msg, e.KV...)
	case scheduler.Error:
		o.log.Error(e.Msg, e.KV...)
	default:
		o.log.Info(e.Msg, e.KV...)
	}
}

// becomeReady answers who waited for the base.
func (o *owner) becomeReady() {
	waiting := o.readies
	o.readies = nil
	for _, ready := range waiting {
		ready()
	}
}

// endWorkers tells workers that nothing is left to do, or that the run has failed. The owner goes on answering: a rewind can bring
// work back, and who learns of the failure asks for the counts and closes the run.
func (o *owner) endWorkers(err error) {
	end := &wire.End{}
	if !errors.Is(err, leases.ErrEndOfRun) {
		end.Error = bridge.ToWire(fromCore(err))
	}
	o.log.Info("workers can leave", "error", err)
	for _, a := range o.attached {
		if a.join.GetWorker() != nil {
			a.out.put(&wire.Frame{Body: &wire.Frame_End{End: end}})
		}
	}
}

// end tells every member that the run is over. Streams stay open until the members close them.
func (o *owner) end(err error) {
	end := &wire.End{}
	if err != nil {
		end.Error = bridge.ToWire(fromCore(err))
		if errors.Is(err, leases.ErrReplaced) {
			end.Error.Kind = string(bridge.OwnerLost)
		}
	}
	o.over.Store(true)
	o.log.Info("run ended", "error", err)
	why := err
	if why == nil {
		why = fmt.Errorf("%w: the run is closed", leases.ErrClosed)
	}
	for _, ticket := range sortedTickets(o.tickets) { // what was asked in the same moment hears the same
		o.answered(scheduler.Answer{Ticket: ticket, Err: why})
	}
	o.becomeReady()
	if errors.Is(err, leases.ErrReplaced) {
		// Members look for the later life themselves once their streams end.
		for _, a := range o.attached {
			a.out.close()
		}
		o.server.Stop()
		return
	}
	o.pushEverybody(&wire.Frame{Body: &wire.Frame_End{End: end}})
}
