package scheduler

import (
	"fmt"
	"time"

	"outrider/leases"
)

// stallSlowest is how much slower than the first the warnings of a stalled run become.
const stallSlowest = 32

// liveness is what the run knows of its own progress. It is looked at whenever the time is told.
type liveness struct {
	// absent says that no worker can work, and absentSince from when on.
	absent      bool
	absentSince time.Duration
	// arrival was the count of finished groups when it was last seen to rise, at quietSince, or when there last was
	// nothing to do; the next warning is due at warnAt, the one after that after pause more.
	watching      bool
	arrival       uint64
	quietSince    time.Duration
	warnAt, pause time.Duration
}

// watch looks for a run that does not go on, and says so: workers that never begin, takes that nobody will fill, work
// that never ends.
func (s *Scheduler) watch() {
	if s.dead != nil || s.closing != nil || s.ledger == nil || !s.granting {
		s.live.absent, s.live.watching = false, false
		return
	}
	s.watchStarts()
	s.watchWorkers()
	s.watchProgress()
}

// hasBegun reports whether a worker has asked for work and, when it is an engine, holds weights that it may work with.
func (s *Scheduler) hasBegun(m *member) bool {
	return m.asked && (m.confirms > 0 || s.current(m))
}

// watchStarts reports each worker once that has not begun in time.
func (s *Scheduler) watchStarts() {
	limit := s.cfg.Times.StartDeadline
	for _, m := range s.workers {
		switch {
		case m.begun:
		case s.hasBegun(m):
			m.begun, m.late = true, false
		case !m.late && limit != Never && s.now >= m.since+limit:
			m.late = true
			what := "it has confirmed no weights: send them to it by rebroadcast or the next update, and let it confirm"
			if !m.asked {
				what = "it asks for no work: let it serve, or take groups"
			}
			s.log(Warn, "worker is attached and has not begun: "+what, "worker", m.session, "name", m.name, "host", m.host.name, "start_deadline", limit)
		}
	}
}

// canWork reports whether work of this worker is to be expected. One that has set its slots to 0 for a while counts.
func (m *member) canWork() bool { return !m.draining && !m.late && !m.mostlyStuck() }

// watchWorkers fails the waiting takes when nobody has been there to fill them for too long.
func (s *Scheduler) watchWorkers() {
	v, limit := &s.live, s.cfg.Times.JoinTimeout
	for _, m := range s.workers {
		if m.canWork() {
			v.absent = false
			return
		}
	}
	if s.running.live > 0 {
		v.absent = false // a worker that drains ends what it has
		return
	}
	if !v.absent {
		v.absent, v.absentSince = true, s.now
	}
	if limit == Never || s.now < v.absentSince+limit {
		return
	}
	if u := s.update; u != nil && s.lacksEngine(u) {
		s.endHold(u.hold, fmt.Errorf("%w: version %d can be sent to nobody: no engine is attached since %s, longer than join_timeout=%s; start engines, then send it again",
			leases.ErrNoWorkers, u.version, s.now-v.absentSince, limit))
	}
	if len(s.takes) == 0 {
		return
	}
	who := "no worker is attached"
	if n := len(s.workers); n > 0 {
		who = fmt.Sprintf("of %d attached workers none can work (the log names why)", n)
	}
	for _, t := range s.takes {
		t.fail(s, fmt.Errorf("%w: rollout %d has %s; no worker alive since %s, longer than join_timeout=%s: %s; start workers, then take it again",
			leases.ErrNoWorkers, t.rollout, s.has(t), s.now-v.absentSince, limit, who))
	}
	s.log(Warn, "waiting takes have failed: no worker", "takes", len(s.takes), "buffered", s.buffer.n, "for", s.now-v.absentSince)
	s.takes = nil
}

// watchProgress warns when something is to be done and no group has been finished for long: once, then ever slower.
func (s *Scheduler) watchProgress() {
	v, first := &s.live, s.cfg.Times.StallWarning
	if s.running.live == 0 && len(s.takes) == 0 {
		v.watching = false
		return
	}
	if !v.watching || v.arrival != s.arrival {
		v.watching, v.arrival, v.quietSince, v.pause = true, s.arrival, s.now, first
		v.warnAt = s.now + first
	}
	if first == Never || s.now < v.warnAt {
		return
	}
	v.pause = min(2*v.pause, stallSlowest*first)
	v.warnAt = s.now + v.pause
	kv := []any{
		"for", (s.now - v.quietSince).Round(time.Millisecond), "reserved", s.ledger.Count(leases.Reserved), "executing", s.ledger.Count(leases.Executing),
		"terminal", s.ledger.Count(leases.Terminal), "completed", s.ledger.Count(leases.Completed), "leased", s.ledger.Count(leases.Leased),
		"resting", s.ledger.Resting(), "stuck_samples", s.running.stuck, "workers", len(s.workers), "waiting_takes", len(s.takes), "holds", len(s.holds),
	}
	for e := range s.running.all() {
		if e.group != nil {
			kv = append(kv, "oldest_execution", e.receipt.Execution, "group", e.receipt.Group, "worker", e.m.session, "name", e.m.name, "age", (s.now - e.begun).Round(time.Millisecond))
			break
		}
	}
	if id, st := s.firstAtStage(); st != nil {
		kv = append(kv, "stage", s.cfg.Stages[st.stage], "stage_has", id, "member", st.m.session, "member_name", st.m.name)
	}
	if lack := s.waitsFor(); lack != "" {
		kv = append(kv, "waits_for", lack)
	}
	s.log(Warn, "no group has been completed", kv...)
}

// nextWatch tells what of all this is due, by at.
func (s *Scheduler) nextWatch(at func(time.Duration)) {
	if s.ledger == nil || !s.granting {
		return
	}
	t, v := &s.cfg.Times, &s.live
	for _, m := range s.workers {
		if !m.begun && !m.late && t.StartDeadline != Never {
			at(m.since + t.StartDeadline)
		}
	}
	if v.absent && (len(s.takes) > 0 || s.update != nil && s.lacksEngine(s.update)) && t.JoinTimeout != Never {
		at(v.absentSince + t.JoinTimeout)
	}
	if v.watching && t.StallWarning != Never {
		at(v.warnAt)
	}
}
