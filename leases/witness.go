package leases

import (
	"fmt"
	"slices"
)

// NextIndex is the index of the next log entry.
func (l *Ledger) NextIndex() uint64 { return l.nextIndex }

// Contained returns the last rollout, none above upTo, that the weights of a trainer contain whose sidecar kept this base and log:
// the last commit in them that counts here. One that is still being replicated, or that was declared void, was never answered, so
// no weights contain it. Errors: ErrState (damaged; or the run has gone on without that trainer: it holds a commit that was undone
// since, or that nobody here knows).
func (l *Ledger) Contained(base []byte, log []Entry, upTo int64) (int64, error) {
	t, err := Restore(Params{Source: l.source, GroupSize: l.groupSize, Unowned: l.unowned}, l.term, base, log)
	if err != nil {
		return 0, err
	}
	void := map[uint64]bool{}
	for _, e := range l.log {
		if rec, err := decodeEntry(e); err == nil && rec.kind == recordVoid {
			void[rec.void] = true
		}
	}
	for _, r := range slices.Backward(t.effective) {
		if r.kind != recordCommit || r.rollout > upTo || void[r.index] {
			continue
		}
		if lease := l.open[r.admission]; lease != nil && lease.state == LeaseCommitting && lease.entry == r.index {
			continue
		}
		if l.inForce(r.rollout, r.index, true) {
			return r.rollout, nil
		}
		return 0, l.goneOn(r.rollout)
	}
	c := t.base
	if c.rollout > upTo {
		return upTo, nil // a checkpoint from before this log began
	}
	if c.rollout >= 0 && !l.inForce(c.rollout, c.index, false) {
		return 0, l.goneOn(c.rollout)
	}
	return c.rollout, nil
}

// Holds says whether the state that a checkpoint carries is one of this run as it went: its rollout was committed in that
// state's timeline. One that was undone, or that another life of the job has gone beyond, is not, whatever its number.
// Errors: ErrState (also damaged).
func (l *Ledger) Holds(state []byte) error {
	c, err := decodeState(state)
	if err != nil {
		return err
	}
	if c.rollout < max(l.base.rollout, 0) || c.rollout > l.last {
		return nil // weighed by its number alone
	}
	here, err := l.at(c.rollout)
	if err != nil {
		return err
	}
	if c.timeline != here.timeline {
		return fmt.Errorf("%w: the state is of rollout %d in timeline %s, which was undone: here that rollout is of timeline %s; load a checkpoint of this run from before they parted", ErrState, c.rollout, c.timeline, here.timeline)
	}
	return nil
}

// inForce reports whether a commit that was seen at an index (or in a base up to it) is in force here.
func (l *Ledger) inForce(rollout int64, index uint64, exact bool) bool {
	for _, r := range l.effective {
		if r.kind == recordCommit && r.rollout == rollout {
			return r.index == index || !exact && r.index < index
		}
	}
	return rollout <= l.base.rollout && (!exact || index <= l.base.index)
}

func (l *Ledger) goneOn(rollout int64) error {
	return fmt.Errorf("%w: the weights contain rollout %d as it was before the run went on without them (it is at rollout %d in timeline %s); restart the trainer from a checkpoint", ErrState, rollout, l.last, l.timeline)
}
