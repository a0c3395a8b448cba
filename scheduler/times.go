package scheduler

import (
	"fmt"
	"time"
)

// Never switches a time limit off.
const Never time.Duration = -1

// Times are the limits that only the clock can reach. 0 means the default, Never means none.
type Times struct {
	// ExecutionDeadline is how long one execution of a group, and so each of its samples, may run before its worker is
	// told to cancel it; 0 means 1 h.
	ExecutionDeadline time.Duration
	// CancelGrace is how long a worker that was told so may take to end it before the execution is void, its group goes
	// elsewhere, and its samples count as stuck; 0 means 30 s.
	CancelGrace time.Duration
	// OrphanTTL is how long what a lost worker ran counts against the engine that it used, unless that says quiet; 0 means
	// 10 min.
	OrphanTTL time.Duration
	// StartDeadline is how long a worker may be attached without having asked for work or, an engine, without weights
	// that it may work with, before it is reported and not counted on; 0 means 5 min.
	StartDeadline time.Duration
	// JoinTimeout is how long a waiting take waits while no worker is there that can work; 0 means 10 min.
	JoinTimeout time.Duration
	// StallWarning is how long no group may have been finished, while some run or a take waits, before that is reported;
	// 0 means 30 s. Further warnings come ever slower.
	StallWarning time.Duration
	// HeldWarning is how long a rank's process may have a segment mapped before that is reported, once until it has let
	// go; 0 means 10 min.
	HeldWarning time.Duration
}

const (
	defaultExecutionDeadline = time.Hour
	defaultCancelGrace       = 30 * time.Second
	defaultOrphanTTL         = 10 * time.Minute
	defaultStartDeadline     = 5 * time.Minute
	defaultJoinTimeout       = 10 * time.Minute
	defaultStallWarning      = 30 * time.Second
	defaultHeldWarning       = 10 * time.Minute
)

// complete fills in what was left out and lists what cannot work.
func (t *Times) complete() []string {
	var problems []string
	for _, of := range []struct {
		name      string
		value     *time.Duration
		otherwise time.Duration
		needed    bool
	}{
		{"execution_deadline", &t.ExecutionDeadline, defaultExecutionDeadline, false},
		{"cancel_grace", &t.CancelGrace, defaultCancelGrace, true},
		{"orphan_ttl", &t.OrphanTTL, defaultOrphanTTL, true},
		{"start_deadline", &t.StartDeadline, defaultStartDeadline, false},
		{"join_timeout", &t.JoinTimeout, defaultJoinTimeout, false},
		{"stall_warning", &t.StallWarning, defaultStallWarning, false},
		{"held_warning", &t.HeldWarning, defaultHeldWarning, false},
	} {
		switch {
		case *of.value == 0:
			*of.value = of.otherwise
		case of.needed && *of.value < 0:
			problems = append(problems, fmt.Sprintf("%s=%s; it must be more than 0 s", of.name, *of.value))
		case *of.value < Never:
			problems = append(problems, fmt.Sprintf("%s=%s is negative; give more than 0 s, or none", of.name, *of.value))
		}
	}
	return problems
}

// Tick tells the time of the events that follow without firing what is due: what was said before a limit was noticed
// counts. Executions begin at this time.
func (s *Scheduler) Tick(now time.Duration) { s.clock = max(s.clock, now) }

// Advance tells the time (monotonic, from any origin) and fires what is due. The first call must come before any event.
func (s *Scheduler) Advance(now time.Duration) {
	if !s.ticking {
		s.ticking, s.started = true, now
	}
	s.Tick(now)
	s.now = s.clock
	if s.dead != nil {
		return
	}
	s.closeWindow()
	s.expire()
	s.wake()
	s.pump()
	s.watch()
}

// NextTimer says when Advance is needed next; false when nothing is due.
func (s *Scheduler) NextTimer() (time.Duration, bool) {
	if s.dead != nil {
		return 0, false
	}
	if s.closing != nil {
		return s.closing.deadline, s.now < s.closing.deadline
	}
	next, armed := time.Duration(0), false
	at := func(t time.Duration) {
		if !armed || t < next {
			next, armed = t, true
		}
	}
	if s.ledger != nil && !s.granting {
		at(s.started + s.cfg.JoinWindow)
	}
	if e := s.deadlines.first; e != nil {
		at(e.since + s.cfg.Times.ExecutionDeadline)
	}
	if e := s.graces.first; e != nil {
		at(e.since + s.cfg.Times.CancelGrace)
	}
	if e := s.orphans.first; e != nil {
		at(e.since + s.cfg.Times.OrphanTTL)
	}
	if t, ok := s.rests.next(); ok {
		at(t)
	}
	s.nextWatch(at)
	s.nextPull(at)
	return next, armed
}
