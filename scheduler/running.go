package scheduler

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"outrider/leases"
)

// running is one execution that is charged to its worker until it is proven over: by its terminal report or by
// the loss of the worker. Its group may have gone elsewhere before.
type running struct {
	receipt leases.Receipt
	// group is nil when the receipt is void.
	group *leases.Group
	m     *member
	// charged is how many samples still count against the worker's slots and the executing bound.
	charged int64
	// adopted marks one that a former life, or a former attachment of its worker, began: no bound kept it out.
	adopted bool
	// offered marks one whose worker has the data already: its answer is the grant.
	offered bool
	// promised is what it may write without asking, in bytes; NoPromise where there is no bound.
	promised int64
	// overdraws marks one that was given credit beyond its host's bound.
	overdraws bool
	// seq orders executions by when they started here; frontiers compare it.
	seq     uint64
	started leases.Links[running]
	begun   time.Duration // when it began here
	// since is when it began, or was cancelled for its deadline; clock the list in which it waits for the time after that.
	since     time.Duration
	clock     *list[running]
	clocked   leases.Links[running]
	cancelled bool // its worker was told to end it
	overdue   bool // because it was past its deadline
	// stuck is set when its worker did not, in time: nothing waits for it any more.
	stuck bool
	// lost is Scheduler.losses when its worker was lost and its engine may run it still; else 0.
	lost uint64
}

// executionID tells executions apart. The number alone does not: two lives of the owner of which neither knew the other's
// term may have given the same one, but no worker gets work of both.
type executionID struct {
	number uint64
	worker leases.Session
}

func identify(r leases.Receipt) executionID { return executionID{r.Execution, r.Worker} }

// runningSet holds all executions, oldest first.
type runningSet struct {
	list[running]
	byID    map[executionID]*running
	seq     uint64
	samples int64 // sum of charged
	stuck   int64 // sum of charged of those that are stuck
	live    int   // those whose group is not nil
}

func (set *runningSet) find(r leases.Receipt) *running { return set.byID[identify(r)] }

func (s *Scheduler) begin(m *member, g *leases.Group, r leases.Receipt) *running {
	set := &s.running
	set.seq++
	e := &running{receipt: r, group: g, m: m, charged: int64(s.cfg.GroupSize), promised: s.promise(m.host), seq: set.seq, begun: s.clock, since: s.clock}
	set.push(e)
	set.byID[identify(r)] = e
	if s.cfg.Times.ExecutionDeadline != Never {
		e.wait(&s.deadlines)
	}
	set.samples += e.charged
	m.charged += e.charged
	m.host.promised += e.counted()
	if g != nil {
		set.live++
		if s.cfg.Policy.Order == Windowed {
			s.window.push(s, g)
		}
	}
	return e
}

// counted is what its host counts as promised to it.
func (e *running) counted() int64 { return max(0, e.promised) }

// end takes an execution off its worker's account.
func (s *Scheduler) end(e *running) {
	set := &s.running
	s.uncharge(e, 0)
	e.unclock()
	set.remove(e)
	delete(set.byID, identify(e.receipt))
	s.unpromise(e)
	if e.group != nil {
		set.live--
	}
}

// ungroup takes the group from an execution that stays on its worker's account.
func (s *Scheduler) ungroup(e *running) {
	e.group = nil
	s.running.live--
	s.endCredit(e)
}

// unpromise gives back the bytes that an execution may not write any more.
func (s *Scheduler) unpromise(e *running) {
	e.m.host.promised -= e.counted()
	e.promised = 0
	if e.overdraws {
		e.overdraws = false
		e.m.host.overdraws--
	}
	s.endCredit(e)
}

// uncharge leaves charged samples on the account.
func (s *Scheduler) uncharge(e *running, charged int64) {
	if e.stuck {
		s.running.stuck -= e.charged - charged
		e.m.unstick(e.charged - charged)
	}
	if e.lost > 0 {
		e.m.uses.orphans -= e.charged - charged
	}
	s.running.samples -= e.charged - charged
	e.m.charged -= e.charged - charged
	e.charged = charged
}

// void takes the group from an execution that goes on: its receipt means nothing any more.
func (s *Scheduler) void(e *running) {
	if e.group != nil {
		e.cancelled = true
		s.ungroup(e)
		s.emit(Cancel{Session: e.m.session, Receipt: e.receipt})
	}
}

// SampleDone says that done of the execution's slots have ended so far (a total, so a repeated message is harmless).
// Errors: ErrStale, ErrRefused (more than the group size).
func (s *Scheduler) SampleDone(r leases.Receipt, done int) error {
	if err := s.closedErr(); err != nil {
		return err
	}
	if done < 0 || done > s.cfg.GroupSize {
		return fmt.Errorf("%w: %s: %d samples are reported done, the group has %d", leases.ErrRefused, r, done, s.cfg.GroupSize)
	}
	if s.ledger == nil {
		if h := s.pendingHeld(r); h != nil {
			h.Done = max(h.Done, done)
			return nil
		}
	}
	r = s.present(r)
	e := s.running.find(r)
	if e == nil || e.receipt != r {
		return fmt.Errorf("%w: %s is not running", leases.ErrStale, r)
	}
	s.sampleDone(e, done)
	s.pump()
	return nil
}

func (s *Scheduler) sampleDone(e *running, done int) {
	if left := int64(s.cfg.GroupSize - done); s.cfg.Policy.Submission == BySample && left < e.charged {
		s.uncharge(e, left)
	}
}

// Terminal ends an execution. The same report again is answered as the first was. After an error other than
// ErrRefused the worker need not report again: a Release tells it to free the data.
// Errors: ErrStale, ErrConflict, ErrData (counted as a failure of that execution), ErrRefused (nothing has changed).
func (s *Scheduler) Terminal(r leases.Receipt, o leases.Outcome) error {
	if err := s.closedErr(); err != nil {
		return err
	}
	if s.ledger == nil {
		if h := s.pendingHeld(r); h != nil {
			kept := o // o itself stays off the heap
			h.Outcome = &kept
			return nil
		}
		if s.members[r.Worker] != nil {
			s.release(r, o.Handle)
			return fmt.Errorf("%w: %s is not in the inventory that its worker brought", leases.ErrStale, r)
		}
		return fmt.Errorf("%w: %s: the owner has not learned its base; report it by the inventory", leases.ErrNotReady, r)
	}
	var err error
	if m := s.members[r.Worker]; m != nil && m.stage != nil {
		err = s.endStage(m, r, o)
	} else {
		err = s.terminal(s.present(r), o)
	}
	s.pump()
	return err
}

// voidUnder reports whether a receipt is of this execution, whose group has gone elsewhere, by the name of an earlier timeline:
// its worker may not have heard of any later one. Its end is the end all the same.
func (e *running) voidUnder(r leases.Receipt) bool {
	r.Timeline = e.receipt.Timeline
	return e.group == nil && e.receipt == r
}

func (s *Scheduler) terminal(r leases.Receipt, o leases.Outcome) error {
	e := s.running.find(r)
	if e != nil && e.receipt != r && !e.voidUnder(r) {
		e = nil
	}
	if s.closing != nil && e != nil && e.group != nil && o.Kind != leases.Discard {
		o.Kind = leases.Retry
	}
	fin, err := s.ledger.Finish(r, &o, s.rules(e, r))
	if refused(err) {
		return err
	}
	if g := s.ledger.Find(r.Group); fin.State == 0 && o.Handle != 0 && (g != nil && g.Handle() == o.Handle || s.tookFinal(o.Handle)) {
		// A report from before a rewind that carried the group over, and from before this life: its data is what counts here. So is
		// that of a group that was taken for good, until it is read.
		return nil
	}
	if fin.Repeated {
		if fin.State >= leases.Acknowledged {
			s.wrote(r.Worker, o)
			s.release(r, o.Handle)
		}
		return nil
	}
	if e != nil {
		s.end(e)
		defer s.checkDrained(e.m) // not before the group that it may hold from here on is counted
		e.m.host.wroteFor(&o)
	} else {
		s.wrote(r.Worker, o) // until the Release that follows
	}
	if fin.State == 0 {
		s.stats.StaleOutcomes++
		s.log(Info, "outcome refused as stale", "group", r.Group, "worker", r.Worker, "kind", o.Kind)
		s.ledger.LetGo(r, &o)
		s.release(r, o.Handle)
		return err
	}
	switch fin.State {
	case leases.Terminal:
		s.enter(fin.Group)
		s.stats.SampledTokens.add(fin.Group.Tokens())
		s.holdFor(e.m, fin.Group)
	case leases.Requeued:
		s.stats.Requeued++
		if e != nil && e.overdue && o.Kind == leases.Retry {
			s.rest(r.Group, s.ledger.CountLoss(r.Group))
		}
		s.release(r, o.Handle)
	case leases.Failed:
		s.failed(r, o, err)
		s.release(r, o.Handle)
	default:
		s.release(r, o.Handle)
	}
	if err != nil {
		s.log(Warn, "data refused", "group", r.Group, "worker", r.Worker, "error", err)
	}
	return err
}

// rules are what a report is held against: while weights are sent, data may name their version.
func (s *Scheduler) rules(e *running, r leases.Receipt) leases.Rules {
	announced := s.ledger.Version()
	out := leases.Rules{MaxAttempts: s.cfg.Policy.MaxAttempts, Newest: announced, Sent: s.sent}
	if s.update != nil {
		out.Newest = max(announced, s.update.version)
	}
	if m := s.members[r.Worker]; m != nil {
		out.Sent = max(out.Sent, m.confirmedBy())
	}
	if e != nil && e.adopted {
		out.Sent = math.MaxInt64 // what a former life sent
	}
	return out
}

// voidUnannounced returns finished groups to the source whose weights were sent and will not be announced.
func (s *Scheduler) voidUnannounced() {
	announced := s.ledger.Version()
	for _, id := range slices.Sorted(maps.Keys(s.stages.of)) {
		if g := s.stages.of[id].group; s.unfinished(g) != nil {
			s.voidIfNewer(g, announced)
		}
	}
	for _, l := range []*list[leases.Group]{&s.waiting, &s.buffer.list} {
		for g := range l.all() {
			s.voidIfNewer(g, announced)
		}
	}
}

func (s *Scheduler) voidIfNewer(g *leases.Group, announced int64) {
	if _, newest, _ := g.Versions(); newest > announced {
		s.log(Info, "its weights were not announced", "group", g.ID(), "newest_version", newest, "announced", announced)
		s.takeOut(g)
		s.requeue(g)
	}
}

// failed reports a group that has used up its data attempts.
func (s *Scheduler) failed(r leases.Receipt, o leases.Outcome, wrong error) {
	why := o.Reason
	if wrong != nil {
		why = wrong.Error()
	}
	s.countFailed(r.Group, why)
}

// countFailed reports a group that has settled as failed, and ends the run when that is one too many.
func (s *Scheduler) countFailed(group int64, why string) {
	if s.firstFailure == "" {
		s.firstFailure = why
	}
	n := s.ledger.Books().Failed.Groups
	s.log(Warn, "group failed", "group", group, "attempts", s.cfg.Policy.MaxAttempts, "failed", n, "max_failed", s.cfg.Policy.MaxFailed, "error", why)
	if n >= s.cfg.Policy.MaxFailed {
		s.fail(fmt.Errorf("%w: %d groups have used up their %d attempts, max_failed=%d; the first failed with: %s", leases.ErrFailed, n, s.cfg.Policy.MaxAttempts, s.cfg.Policy.MaxFailed, s.firstFailure))
	}
}

// release tells that the data of a receipt is not needed: every handle that was counted by wrote gets one Release.
func (s *Scheduler) release(r leases.Receipt, h leases.Handle) {
	s.emit(Release{Holder: r.Worker, Receipt: r, Handle: h})
}

// wrote counts an outcome's data on its worker's host, until BytesReleased.
func (s *Scheduler) wrote(worker leases.Session, o leases.Outcome) {
	if m := s.members[worker]; m != nil {
		m.host.wroteFor(&o)
	}
}

// releaseGroup lets go of all data of a group that is about to end, or to be generated again.
func (s *Scheduler) releaseGroup(g *leases.Group) {
	s.releaseStages(g)
	s.release(s.ledger.Receipt(g), g.Handle())
}
