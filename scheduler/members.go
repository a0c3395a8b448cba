package scheduler

import (
	"fmt"
	"slices"
	"time"

	"outrider/leases"
)

// member is one attached session.
type member struct {
	session leases.Session
	name    string
	pid     int64
	host    *host
	process string
	worker  *WorkerRole
	trainer *TrainerRole
	uses    *pool // of a worker whose weights live elsewhere
	serves  *pool // of an engine that is no worker
	stage   *stageRole

	// Worker.
	charged  int64 // samples of its executions that are not proven over
	stuck    int64 // those of them that it did not end when it was told to
	holding  list[leases.Group]
	keeper   *member // has been told to it as the one that keeps what it finishes; nil: nobody is there
	draining bool
	drained  bool          // said so
	since    time.Duration // when it attached
	asked    bool          // it has had slots, or offered a group: it asked for work
	offers   bool          // it has offered a group
	confirms int           // how often it confirmed a version
	begun    bool          // it has asked and may work with its weights
	late     bool          // it had not begun by the start deadline, and was reported
	// saidStuck is set once it was reported for being mostly stuck, until it is not any more.
	saidStuck bool
	credited  uint64 // Scheduler.creditSeq at its last credit
	// inventory waits for the base of a later life.
	inventory []Held
	// confirmed is the version that it confirmed last, in the timeline confirmedIn; zero when it never did.
	confirmed   int64
	confirmedIn leases.Timeline
	digest      []byte
	// suspect is set from the moment that weights were sent to it until it confirms again.
	suspect bool
	// quiet is Scheduler.losses when the engine last said that nothing runs there for workers that are gone.
	quiet uint64

	// Trainer.
	stateAt int64
	// unsaid is set when the run goes back below stateAt, until the rank's own word (Restored): its weights may still hold what
	// replays.
	unsaid bool
	// decided is set once its state_at has been weighed in a complete cohort.
	decided bool
	// brought is set once its sidecar was given base and log: it stands by them from then on, so it must be decided
	// first, unless it brought them itself.
	brought bool
	// baseIndex is the last entry that its base includes. It may be above that of the run's base, never goes back.
	baseIndex uint64
	// appended is the last entry that its log is known to have.
	appended uint64
	mapped   Mapped
	mappedAt time.Duration // when mapped was true
	saidHeld bool          // it was reported for what it holds, until it holds nothing
}

// free is how many more samples the worker could run; negative when slots were taken away.
func (m *member) free() int64 { return int64(m.worker.Slots) - m.charged }

// engine reports whether it holds serving weights, which it must confirm.
func (m *member) engine() bool { return m.serves != nil || m.worker != nil && m.worker.Engine }

// host is one machine's share of the byte bound.
type host struct {
	name      string
	members   int
	memory    int64     // bytes that its processes may use, by the least of their own limits; 0 when nobody says
	written   int64     // bytes
	promised  int64     // sum of what the executions here are promised, in bytes
	overdraws int       // executions that write beyond the bound
	largest   int64     // bytes of the largest group seen here
	credits   []*credit // by arrival
}

// wroteFor counts the data of an outcome, if it has any.
func (h *host) wroteFor(o *leases.Outcome) {
	if o.Handle != 0 {
		h.written += sizeOf(o.Bytes)
		h.largest = max(h.largest, sizeOf(o.Bytes))
	}
}

// sizeOf is a size that somebody told, as far as it can be one: data with another is refused, and let go like any other.
func sizeOf(bytes int64) int64 { return min(max(bytes, 0), leases.MostBytes) }

// BytesReleased says that n bytes of data were freed on a host: once for each handle, when its Release has come.
func (s *Scheduler) BytesReleased(name string, n int64) {
	if h := s.hosts[name]; h != nil && s.dead == nil {
		h.written = max(0, h.written-sizeOf(n))
		s.dropHost(h)
		s.pump()
	}
}

// dropHost forgets a host that has neither members nor data.
func (s *Scheduler) dropHost(h *host) {
	if h.members == 0 && h.written == 0 {
		delete(s.hosts, h.name)
	}
}

// Attach joins a member, or joins it again after a cut: attaching twice is harmless.
// Errors: ErrReplaced (this owner ends), ErrState (weights that no ledger can prove), ErrConflict (ranks disagree),
// ErrCohortChanged (a lower generation), ErrRefused, ErrClosed, ErrConfig.
func (s *Scheduler) Attach(in Member) (Welcome, error) {
	if s.dead != nil && (s.closed == nil || in.works()) {
		return Welcome{}, s.dead
	}
	if err := s.compareTerms(in); err != nil {
		return Welcome{}, err
	}
	if s.closing != nil && s.members[in.Session] == nil && in.works() {
		return Welcome{}, s.closing.why("closing")
	}
	if err := in.check(); err != nil {
		return Welcome{}, err
	}
	m := s.join(in)
	var void []leases.Receipt
	if in.Trainer != nil {
		if err := s.attachTrainer(m, in.Trainer); err != nil {
			s.leave(m, "refused")
			s.pump()
			return Welcome{}, err
		}
	}
	if in.Engine != nil {
		s.attachEngine(m, in.Engine)
	}
	switch {
	case in.Worker == nil:
	case in.Worker.Stage == "":
		void = s.attachWorker(m, in.Worker)
	default:
		var err error
		if void, err = s.attachStage(m, in.Worker); err != nil {
			s.leave(m, "refused")
			return Welcome{}, err
		}
	}
	s.log(Info, "attached", "session", m.session, "name", m.name, "host", m.host.name, "worker", in.Worker != nil, "trainer", in.Trainer != nil)
	w := s.welcome()
	w.Void = void
	if in.Worker != nil {
		m.keeper = nil // it may not have heard
	}
	s.chooseKeepers(m.host)
	s.pump()
	return w, nil
}

// works tells who does something in a run from who only asks, of which a run takes new ones until it has been closed.
func (in Member) works() bool { return in.Worker != nil || in.Engine != nil || in.Trainer != nil }

func (in Member) check() error {
	switch {
	case in.Session == 0:
		return fmt.Errorf("%w: session 0 is nobody; choose a random one", leases.ErrConfig)
	case in.Worker != nil && (in.Worker.Slots < 0 || in.Worker.Slots > mostFactor):
		return fmt.Errorf("%w: worker %s has slots=%d; give 0 for no work yet, or how many samples it runs at once, at most %d", leases.ErrConfig, in.Name, in.Worker.Slots, mostFactor)
	case in.Worker != nil && in.Worker.Engine && in.Worker.Uses != "":
		return fmt.Errorf("%w: worker %s holds its weights itself and uses engine %q; say one of the two", leases.ErrConfig, in.Name, in.Worker.Uses)
	case in.Engine != nil && (in.Engine.Name == "" || in.Worker != nil):
		return fmt.Errorf("%w: engine %s must have a name that workers use, and cannot be a worker itself", leases.ErrConfig, in.Name)
	case in.Trainer != nil && (in.Trainer.Role == "" || in.Trainer.WorldSize < 1 || in.Trainer.WorldSize > leases.MostRanks || in.Trainer.Rank < 0 || in.Trainer.Rank >= in.Trainer.WorldSize):
		return fmt.Errorf("%w: trainer %s is role=%q rank=%d of world_size=%d; ranks are 0 to world_size-1 of a named role, at most %d", leases.ErrConfig, in.Name, in.Trainer.Role, in.Trainer.Rank, in.Trainer.WorldSize, leases.MostRanks)
	case in.Trainer != nil && (in.Trainer.StateAt < -1 || in.Trainer.Generation < 0):
		return fmt.Errorf("%w: trainer %s has state_at=%d, generation=%d; state_at is at least -1, generation at least 0", leases.ErrConfig, in.Name, in.Trainer.StateAt, in.Trainer.Generation)
	}
	return nil
}

// compareTerms raises this owner's term above what a member knows, or finds that this owner was replaced.
func (s *Scheduler) compareTerms(in Member) error {
	known := in.KnownTerm
	switch {
	case known == (leases.Term{}) || known == s.term:
		return nil
	case in.LookedUp && known.Number >= s.term.Number:
		s.term = leases.Term{Number: known.Number + 1, Session: s.cfg.Owner}
		if s.ledger != nil {
			s.ledger.RaiseTerm(s.term)
		}
		s.log(Info, "term raised", "term", s.term, "known", known, "member", in.Session)
		s.emit(NewTerm{Term: s.term})
	case s.term.Less(known):
		err := fmt.Errorf("%w: member %s knows term %s, this owner has %s: it must end", leases.ErrReplaced, in.Session, known, s.term)
		s.die(err, nil)
		return err
	}
	return nil
}

// join files a session, or updates what it says of itself.
func (s *Scheduler) join(in Member) *member {
	m := s.members[in.Session]
	if m == nil {
		m = &member{session: in.Session, holding: list[leases.Group]{links: byHolder}}
		s.members[in.Session] = m
		s.order = append(s.order, m)
	}
	if m.host == nil || m.host.name != in.Host {
		h := s.hosts[in.Host]
		if h == nil {
			h = &host{name: in.Host}
			s.hosts[in.Host] = h
		}
		h.members++
		m.host = h
	}
	if in.Memory > 0 && (m.host.memory == 0 || in.Memory < m.host.memory) {
		m.host.memory = in.Memory
	}
	m.name, m.pid, m.process = in.Name, in.Pid, in.Process
	return m
}

func (s *Scheduler) welcome() Welcome {
	w := Welcome{Term: s.term, GroupSize: s.cfg.GroupSize, BatchGroups: s.cfg.BatchGroups, Unowned: s.cfg.Unowned, HeldWarning: s.cfg.Times.HeldWarning, Recovering: s.ledger == nil}
	if s.ledger != nil {
		w.Timeline, w.NextRollout = s.ledger.Timeline(), s.ledger.LastRollout()+1
		w.Announced = s.ledger.Version()
	}
	return w
}

// Detach says that a session is lost: what it ran or held alone is replayed, its leases before commit roll back,
// its holds are released. Unknown sessions are ignored.
func (s *Scheduler) Detach(session leases.Session, reason string) {
	m := s.members[session]
	if m == nil || s.dead != nil {
		return
	}
	s.log(Info, "detached", "session", session, "name", m.name, "reason", reason)
	s.leave(m, reason)
	s.pump()
}

// Leave is Detach for a session that ends of its own will: when the last rank of a role leaves so, nobody waits for that
// role any more.
func (s *Scheduler) Leave(session leases.Session) {
	m := s.members[session]
	if m == nil || s.dead != nil {
		return
	}
	if m.trainer != nil {
		role := m.trainer.Role
		last := true
		for rank, other := range s.cohort.ranks {
			last = last && (rank.Role != role || other == m)
		}
		if last && s.cohort.ranks[m.rank()] == m {
			delete(s.cohort.sizes, role)
		}
	}
	s.Detach(session, "left")
}

// leave takes a member out and settles what depended on it.
func (s *Scheduler) leave(m *member, reason string) {
	delete(s.members, m.session)
	same := func(o *member) bool { return o == m }
	s.order = slices.DeleteFunc(s.order, same)
	s.workers = slices.DeleteFunc(s.workers, same)
	s.loseWork(m)
	s.unpool(m)
	if m.worker != nil || m.serves != nil {
		s.relimit()
	}
	s.chooseKeepers(m.host)
	s.loseStage(m)
	s.dropAdded(m.session)
	if m.trainer != nil {
		s.cohort.remove(m)
	}
	s.loseConsumer(m, reason)
	m.host.members--
	s.dropHost(m.host)
	s.trainerLost(m)
}

// expel ends an attached member's session from this side.
func (s *Scheduler) expel(m *member, err error) {
	s.log(Warn, "expelled", "session", m.session, "name", m.name, "error", err)
	s.emit(Expel{Session: m.session, Err: err})
	s.leave(m, err.Error())
}

// loseConsumer ends a member's waiting takes, its leases before commit and its holds.
func (s *Scheduler) loseConsumer(m *member, reason string) {
	gone := fmt.Errorf("%w: session %s ended (%s)", leases.ErrLost, m.session, reason)
	s.failPushes(gone, func(p *pushing) bool { return p.session == m.session })
	s.takes = slices.DeleteFunc(s.takes, func(t *take) bool {
		if t.session == m.session {
			t.fail(s, gone)
			return true
		}
		return false
	})
	if s.ledger != nil {
		for _, lease := range s.ledger.OpenLeases() {
			if lease.Holder == m.session && lease.State() != leases.LeaseCommitting {
				s.rollback(lease, fmt.Sprintf("its holder %s ended: %s", m.session, reason), nil)
			}
		}
	}
	for rollout, f := range s.finals {
		if f.Holder == m.session {
			s.dropFinal(rollout)
		}
	}
	for _, h := range slices.Clone(s.holds) {
		if h.session == m.session {
			if s.update != nil && s.update.hold == h && s.heirless(s.update) {
				continue // it ends with the record
			}
			s.log(Info, "hold released: its session ended", "hold", h.id, "reason", h.reason)
			s.endHold(h, gone)
		}
	}
}
