package leases

import "fmt"

// Rewound says what a rewind undid.
type Rewound struct {
	// Entry goes to every trainer's log.
	Entry Entry
	// Replay counts the settled groups that go back to the source.
	Replay int64
	// RolledBack are the admissions that were open.
	RolledBack []uint64
	// Carried counts the live groups that go on.
	Carried int64
}

// CanRewind says whether the run could go back to rollout. Errors: ErrState, ErrRefused.
func (l *Ledger) CanRewind(rollout int64) error {
	switch {
	case l.unowned:
		return fmt.Errorf("%w: ownership=\"none\" keeps no account to go back by", ErrRefused)
	case rollout > l.last:
		return fmt.Errorf("%w: cannot rewind to rollout %d: the last committed one is %d", ErrState, rollout, l.last)
	case rollout < l.base.rollout:
		return fmt.Errorf("%w: cannot rewind to rollout %d: saved(%d) let go of what came before; start from that checkpoint's own state bytes instead", ErrState, rollout, l.base.rollout)
	}
	return nil
}

// VersionAt is the version that the weights of a rollout are announced as, and the timeline in which that was recorded.
// Errors: as CanRewind.
func (l *Ledger) VersionAt(rollout int64) (version int64, in Timeline, err error) {
	if err := l.CanRewind(rollout); err != nil {
		return 0, Timeline{}, err
	}
	c, err := l.at(rollout)
	if err != nil {
		return 0, Timeline{}, err
	}
	return c.announced.version, c.announced.timeline, nil
}

// Rewind goes back to rollout: every later acknowledgement, discard and failure is undone, later versions are void, and
// the timeline rises. Groups that carry keeps go on where they are, under receipts of the new timeline; it must keep
// none that later weights made. Every other live group goes back to the source. No lease may be COMMITTING.
// Errors: as CanRewind.
func (l *Ledger) Rewind(rollout int64, carry func(*Group) bool) (Rewound, error) {
	if err := l.CanRewind(rollout); err != nil {
		return Rewound{}, err
	}
	var out Rewound
	for _, lease := range l.OpenLeases() {
		out.RolledBack = append(out.RolledBack, lease.Admission)
		l.Rollback(lease, fmt.Sprintf("the run rewound to rollout %d", rollout), nil)
	}
	for _, g := range l.Groups() {
		switch {
		case g.state.Leaves():
		case g.state != Reserved && carry != nil && carry(g):
			out.Carried++
		default:
			l.becomeRequeued(g, g.failures, g.losses)
		}
	}
	before := l.settled.len()
	l.timeline = Timeline{Number: l.timeline.Number + 1, Origin: l.term}
	out.Entry = l.write(&record{kind: recordRewind, rollout: rollout})
	l.forgetAfter(rollout)
	l.pending = nil
	if err := l.rebuild(); err != nil {
		panic(fmt.Sprintf("leases: entries that held before do not hold after a rewind: %v", err))
	}
	for r := range l.given {
		if r > rollout {
			delete(l.given, r)
		}
	}
	out.Replay = before - l.settled.len()
	return out, nil
}
