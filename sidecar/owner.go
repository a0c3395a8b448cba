package sidecar

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"outrider/arrowio"
	"outrider/bridge"
	"outrider/bridge/wire"
	"outrider/leases"
	"outrider/scheduler"
)

// owner runs the scheduler of one run. Its loop is the one goroutine that feeds events in and carries effects out; all fields below
// loop belong to it.
type owner struct {
	log     hclog.Logger
	run     *wire.Run
	table   *wire.Joined // the fields that tell workers where the table of prompts is
	server  *bridge.OwnerServer
	address string
	cancel  context.CancelFunc
	started time.Time

	supply       supply
	loop         *loop
	scheduler    *scheduler.Scheduler
	source       leases.Source
	attached     map[leases.Session]*attached
	tickets      map[scheduler.Ticket]func(value any, err error)
	lastTicket   scheduler.Ticket
	takes        map[takeKey]scheduler.Ticket
	data         map[leases.Handle]*groupData
	reports      map[reportKey]leases.Handle // of data
	bySegment    map[segmentKey][]leases.Handle
	lastHandle   leases.Handle
	publications map[uint64]*publication
	readies      []func()    // wait until the base is known
	delayed      []func()    // questions that wait for a commit's rank: speaksOfCommits
	reported     []func()    // answers to reports, sent after what the reports set going: a trainer may wait for that
	over         atomic.Bool // the run has ended; read by the Process's loop
}

// attached is one member's session at the owner.
type attached struct {
	session leases.Session
	join    *wire.Join
	out     *outbox
}

type takeKey struct {
	session leases.Session
	rollout int64
}

// executionKey names an execution for ever: two lives of the owner that never met may give one number to two workers.
type executionKey struct{ execution, worker uint64 }

// reportKey names what was reported of an execution. What is said of another group's execution is not that group's data, and is refused
// without it.
type reportKey struct {
	executionKey
	group   int64
	attempt uint32
}

func reportOf(r *wire.Receipt) reportKey {
	return reportKey{executionOf(r), r.GetGroup(), r.GetAttempt()}
}

// groupData is where a group's rows are and what is in them, for the lease that will name them.
type groupData struct {
	report  reportKey
	locator *wire.Locator
	summary *wire.Summary
	host    string
	keepers []leases.Session // that have it as well
	words   int              // of keepers, without an answer yet
	claimed bool             // by a report, an inventory, or a keeper's word that the scheduler took
}

// own makes this process the owner of a run.
func (p *Process) own(frame *wire.Frame, table *arrowio.Segment) error {
	own := frame.GetOwn()
	if p.owner != nil {
		table.Close()
		return bridge.NewError(bridge.Conflict, fmt.Sprintf("outrider: this process owns run %q already; own %q in another actor", p.owner.run.GetName(), own.GetRun().GetName()))
	}
	o, err := p.newOwner(own, table)
	if err != nil {
		table.Close()
		return err
	}
	p.owner = o
	p.answer(frame, &wire.Frame{Body: &wire.Frame_Owned{Owned: &wire.Owned{Address: o.address}}}, nil)
	return nil
}

func (p *Process) newOwner(own *wire.Own, table *arrowio.Segment) (*owner, error) {
	var random [8]byte
	if _, err := rand.Read(random[:]); err != nil {
		return nil, err
	}
	session := binary.LittleEndian.Uint64(random[:]) | 1
	config, err := schedulerConfig(own, table, session)
	if err != nil {
		return nil, err
	}
	decides, err := scheduler.New(config)
	if err != nil {
		return nil, fromCore(err)
	}
	access, err := bridge.NewAccess(own.GetRun())
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(own.GetIp(), "0"))
	if err != nil {
		return nil, fmt.Errorf("outrider: listen on %s for run %q: %w", own.GetIp(), own.GetRun().GetName(), err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	o := ownerOf(p.log.Named("owner").With("run", own.GetRun().GetName()), own.GetRun(), p, decides, config.Source)
	o.cancel = cancel
	o.server = bridge.NewOwnerServer(access, o.accept)
	if o.address, err = o.server.ServeLocal(listener.Addr().String()); err != nil {
		listener.Close()
		cancel()
		return nil, err
	}
	p.segments.admitToken(access.Token)
	p.segments.hold(session, 0, table, 1)
	o.table = &wire.Joined{
		Source:       own.GetConfig().GetSource().GetKind(),
		Checksums:    own.GetConfig().GetChecksums(),
		Table:        &wire.Endpoint{Session: session, Host: p.host, Socket: p.listener.Name(), Address: p.flights.address(own.GetIp(), access)},
		TableSegment: &wire.SegmentId{Holder: session},
	}
	decides.Advance(0)
	go func() {
		if err := o.server.Serve(listener); err != nil {
			o.log.Error("owner's endpoint failed", "error", err)
		}
	}()
	go o.loop.run(ctx, o.settle)
	o.log.Info("owner started", "address", o.address, "rows", config.Source.Len, "recover", own.GetRecover())
	return o, nil
}

// ownerOf is an owner that nobody reaches and whose loop does not run.
func ownerOf(log hclog.Logger, run *wire.Run, supply supply, decides *scheduler.Scheduler, source leases.Source) *owner {
	return &owner{
		log: log, run: run, started: time.Now(), supply: supply, loop: newLoop(), scheduler: decides, source: source,
		attached: map[leases.Session]*attached{}, tickets: map[scheduler.Ticket]func(any, error){}, takes: map[takeKey]scheduler.Ticket{},
		data: map[leases.Handle]*groupData{}, reports: map[reportKey]leases.Handle{}, bySegment: map[segmentKey][]leases.Handle{}, publications: map[uint64]*publication{},
	}
}

func (o *owner) stop() {
	o.server.Stop()
	o.cancel()
}

// settle follows every batch of events: time first moves here, so that what members said counts before what a timer would do.
func (o *owner) settle() time.Duration {
	o.scheduler.Advance(time.Since(o.started))
	o.carryOutAll()
	for len(o.delayed) > 0 && !o.scheduler.Deciding() {
		delayed := o.delayed
		o.delayed = nil
		for _, question := range delayed {
			question() // which may begin something, and then the rest waits again
		}
		o.carryOutAll()
	}
	o.answerReports()
	at, ok := o.scheduler.NextTimer()
	if !ok {
		return 0
	}
	return max(at-time.Since(o.started), time.Millisecond)
}

// post queues one event. It happens at the time that the loop takes it, not at the time that it last looked at the clock.
func (o *owner) post(event func()) bool {
	return o.loop.post(func() {
		o.scheduler.Tick(time.Since(o.started))
		event()
	})
}

// carryOutAll carries effects out until there are none: carrying one out may make others.
func (o *owner) carryOutAll() {
	for effects := o.scheduler.Effects(); len(effects) > 0; effects = o.scheduler.Effects() {
		o.carryOut(effects)
	}
}

// accept serves one member's stream.
func (o *owner) accept(_ context.Context, stream bridge.Session) error {
	frame, err := stream.Recv()
	if err != nil {
		return nil
	}
	join := frame.GetJoin()
	if join.GetSession() == 0 || join.GetEndpoint() == nil {
		return bridge.NewError(bridge.Refused, "outrider: a session begins with Join, a session number and an endpoint")
	}
	a := &attached{session: leases.Session(join.GetSession()), join: join}
	broken := make(chan struct{})
	a.out = sessionOutbox(stream, func(error) { close(broken) })
	if !o.post(func() { o.attach(a, frame.GetId()) }) {
		a.out.close()
		return bridge.NewError(bridge.OwnerLost, "outrider: the owner is leaving")
	}
	for {
		frame, err := stream.Recv()
		if err != nil {
			o.post(func() { o.detach(a, "connection lost") })
			break
		}
		if frame.GetLeave() != nil {
			o.post(func() { o.detach(a, left) })
			break
		}
		o.post(func() { o.event(a, frame) })
	}
	a.out.flushed()
	return nil
}

// left is the reason of a session that has ended of its own will.
const left = "left"

func (o *owner) attach(a *attached, id uint64) {
	join := a.join
	welcome, err := o.scheduler.Attach(o.member(join))
	answer := &wire.Frame{Id: id, Answer: true}
	if err != nil {
		answer.Error = bridge.ToWire(fromCore(err))
		o.log.Warn("member refused", "member", join.GetName(), "session", a.session, "error", err)
		a.out.put(answer)
		a.out.close()
		return
	}
	if old := o.attached[a.session]; old != nil {
		old.out.close()
	}
	o.attached[a.session] = a
	joined := &wire.Joined{
		Session: uint64(a.session), Term: fromTerm(welcome.Term), Timeline: fromTimeline(welcome.Timeline),
		NextRollout: welcome.NextRollout, AnnouncedVersion: welcome.Announced, GroupSize: uint32(welcome.GroupSize), BatchGroups: uint32(welcome.BatchGroups),
		Ownership: "leases", Source: o.table.GetSource(), Table: o.table.GetTable(), TableSegment: o.table.GetTableSegment(), Ready: welcome.Timeline.Number != 0,
		HeldWarning: fromSpan(welcome.HeldWarning), Checksums: o.table.GetChecksums(),
	}
	if welcome.Unowned {
		joined.Ownership = "none"
	}
	for _, receipt := range welcome.Void {
		joined.Void = append(joined.Void, fromReceipt(receipt))
	}
	answer.Body = &wire.Frame_Joined{Joined: joined}
	a.out.put(answer)
	o.log.Info("member joined", "member", join.GetName(), "session", a.session, "role", roleOf(join), "host", join.GetEndpoint().GetHost())
}

// member translates a Join, with what a worker still holds.
func (o *owner) member(join *wire.Join) scheduler.Member {
	m := scheduler.Member{
		Session: leases.Session(join.GetSession()), Host: join.GetEndpoint().GetHost(), Process: join.GetEndpoint().GetSocket(), Name: join.GetName(), Pid: join.GetPid(),
		Memory: int64(join.GetEndpoint().GetMemory()), KnownTerm: toTerm(join.GetKnownTerm()), LookedUp: join.GetLookedUp(),
	}
	switch worker, trainer, engine := join.GetWorker(), join.GetTrainer(), join.GetEngine(); {
	case worker != nil:
		m.Worker = &scheduler.WorkerRole{
			Slots: int(worker.GetSlots()), Stage: worker.GetStage(), Engine: worker.GetEngine(), Uses: worker.GetUses(), Confirmed: worker.GetConfirmedVersion(), Timeline: toTimeline(worker.GetConfirmedTimeline()),
		}
		for _, held := range join.GetInventory().GetHeld() {
			entry := scheduler.Held{Receipt: toReceipt(held.GetReceipt()), Version: held.GetVersion(), Done: int(held.GetDone())}
			if held.GetOutcome() != nil {
				outcome := o.outcome(m.Host, held.GetReceipt(), held.GetOutcome())
				entry.Outcome = &outcome
			}
			m.Worker.Inventory = append(m.Worker.Inventory, entry)
		}
	case trainer != nil:
		m.Trainer = &scheduler.TrainerRole{
			Role: trainer.GetRole(), Rank: int(trainer.GetRank()), WorldSize: int(trainer.GetWorldSize()), Generation: int64(trainer.GetGeneration()),
			StateAt: trainer.GetStateAt(), Base: trainer.GetBase(), Copied: trainer.GetCopied(), State: trainer.GetState(), Unsaid: trainer.GetUnsaid(),
		}
		for _, entry := range trainer.GetLog() {
			m.Trainer.Log = append(m.Trainer.Log, scheduler.Entry{Index: entry.GetIndex(), Bytes: entry.GetData()})
		}
	case engine != nil:
		m.Engine = &scheduler.EngineRole{Name: engine.GetName(), Confirmed: engine.GetConfirmedVersion(), Timeline: toTimeline(engine.GetConfirmedTimeline())}
	default:
		m.Client = true
	}
	return m
}

func roleOf(join *wire.Join) string {
	switch {
	case join.GetWorker().GetStage() != "":
		return "stage " + join.GetWorker().GetStage()
	case join.GetWorker() != nil:
		return "worker"
	case join.GetTrainer() != nil:
		return join.GetTrainer().GetRole()
	case join.GetEngine() != nil:
		return "engine"
	default:
		return "client"
	}
}

// outcome translates the terminal outcome of an execution, from a report or an inventory.
func (o *owner) outcome(host string, receipt *wire.Receipt, outcome *wire.Outcome) leases.Outcome {
	out := o.outcomeOf(host, receipt, outcome)
	if out.Handle != 0 {
		o.data[out.Handle].claimed = true
	}
	return out
}

// outcomeOf translates a terminal outcome and keeps where its data is under one handle, however often somebody says it.
func (o *owner) outcomeOf(host string, receipt *wire.Receipt, outcome *wire.Outcome) leases.Outcome {
	if outcome.GetKind() != "success" {
		return toOutcome(outcome, 0)
	}
	report := reportOf(receipt)
	handle, known := o.reports[report]
	if !known {
		o.lastHandle++
		handle = o.lastHandle
		o.reports[report] = handle
		o.bySegment[keyOf(outcome.GetLocator().GetSegment())] = append(o.bySegment[keyOf(outcome.GetLocator().GetSegment())], handle)
		o.data[handle] = &groupData{report: report, locator: outcome.GetLocator(), summary: outcome.GetSummary(), host: host}
	}
	out := toOutcome(outcome, handle)
	// A segment is never used again, so its name and rows identify the content.
	locator := outcome.GetLocator()
	for i, word := range []uint64{locator.GetSegment().GetHolder(), locator.GetSegment().GetNumber(), uint64(locator.GetFirstRow()), uint64(locator.GetRows())} {
		binary.LittleEndian.PutUint64(out.Digest[8*i:], word)
	}
	return out
}

func (o *owner) detach(a *attached, reason string) {
	a.out.close()
	if o.attached[a.session] != a {
		return // it has attached again since
	}
	delete(o.attached, a.session)
	o.log.Info("member gone", "member", a.join.GetName(), "session", a.session, "reason", reason)
	if reason == left {
		o.scheduler.Leave(a.session)
	} else {
		o.scheduler.Detach(a.session, reason)
	}
}

func keyOf(id *wire.SegmentId) segmentKey {
	return segmentKey{id.GetHolder(), id.GetNumber()}
}
