package leases

import (
	"fmt"
	"slices"
	"sort"
)

// StartCommit makes a lease COMMITTING and returns the entry that every admitted rank's log must have before
// FinishCommit. What was discarded or failed since the commit before goes with it.
// Errors: ErrStale, ErrUnknown, ErrNotAdmitted, ErrConflict (another order of rollouts, or COMMITTING already).
func (l *Ledger) StartCommit(admission uint64) (*Lease, Entry, error) {
	lease, err := l.unsettled(admission)
	if err != nil {
		return nil, Entry{}, err
	}
	if lease.state == LeaseCommitting {
		return nil, Entry{}, fmt.Errorf("%w: admission %d is COMMITTING already", ErrConflict, admission)
	}
	if lease.state != LeasePublished {
		return nil, Entry{}, fmt.Errorf("%w: admission %d of rollout %d is not published: no rank has admitted it", ErrNotAdmitted, admission, lease.Rollout)
	}
	if rank, missing := lease.Missing(); missing {
		return nil, Entry{}, fmt.Errorf("%w: %s has not admitted admission %d of rollout %d", ErrNotAdmitted, rank, admission, lease.Rollout)
	}
	if lease.Rollout <= l.last {
		return nil, Entry{}, fmt.Errorf("%w: rollout %d cannot be committed after rollout %d; roll it back", ErrConflict, lease.Rollout, l.last)
	}
	for _, other := range l.OpenLeases() {
		if other.Rollout < lease.Rollout {
			return nil, Entry{}, fmt.Errorf("%w: rollout %d cannot be committed before rollout %d (admission %d, %s); commit or roll that back first", ErrConflict, lease.Rollout, other.Rollout, other.Admission, other.state)
		}
	}
	rec := &record{kind: recordCommit, rollout: lease.Rollout, admission: admission, cursor: l.cursor}
	for _, g := range lease.Groups {
		rec.groups = append(rec.groups, g.id)
		rec.tally.add(g.Tally())
	}
	rec.others = l.carry(lease.Rollout, l.nextIndex)
	entry := l.write(rec)
	lease.state, lease.entry = LeaseCommitting, entry.Index
	return lease, entry, nil
}

// carry collects what was settled without training up to rollout, and marks it as carried by entry.
func (l *Ledger) carry(rollout int64, entry uint64) []settled {
	var out []settled
	for i := range l.pending {
		p := &l.pending[i]
		if p.rollout > rollout || p.entry != 0 {
			continue
		}
		p.entry = entry
		j := 0
		for j < len(out) && (out[j].failed != p.failed || out[j].reason != p.reason) {
			j++
		}
		if j == len(out) {
			out = append(out, settled{failed: p.failed, reason: p.reason})
		}
		out[j].groups = append(out[j].groups, p.group)
		out[j].tally.add(p.tally)
	}
	sort.Slice(out, func(i, j int) bool {
		return out[i].failed != out[j].failed && out[j].failed || out[i].reason < out[j].reason
	})
	for i := range out {
		g := out[i].groups
		slices.Sort(g)
	}
	return out
}

// FinishCommit acknowledges a COMMITTING lease. The caller has taken what it needs of the groups.
func (l *Ledger) FinishCommit(lease *Lease) {
	l.mustCommitting(lease)
	rec, err := decodeEntry(l.entry(lease.entry))
	if err != nil {
		panic(fmt.Sprintf("leases: commit entry %d does not decode: %v", lease.entry, err))
	}
	l.effective = append(l.effective, rec)
	kept := l.pending[:0]
	for _, p := range l.pending {
		if p.entry != lease.entry {
			kept = append(kept, p)
		}
	}
	l.pending = kept
	for _, g := range lease.Groups {
		l.outcomes.add(l.Receipt(g), g.print, Acknowledged)
		l.becomeAcknowledged(g)
	}
	l.last = lease.Rollout
	l.unsent += int64(len(rec.groups))
	l.close(lease, LeaseCommitted, "", nil)
}

// VoidCommit rolls a COMMITTING lease back when no log of the cohort has its entry, and returns the entry that
// says so to whoever may have it.
func (l *Ledger) VoidCommit(lease *Lease, reason string) Entry {
	l.mustCommitting(lease)
	for i := range l.pending {
		if l.pending[i].entry == lease.entry {
			l.pending[i].entry = 0
		}
	}
	entry := l.write(&record{kind: recordVoid, void: lease.entry})
	lease.state = LeasePublished
	l.Rollback(lease, reason, nil)
	return entry
}

func (l *Ledger) entry(index uint64) Entry {
	return l.log[index-l.log[0].Index]
}

func (l *Ledger) mustCommitting(lease *Lease) {
	if lease.state != LeaseCommitting {
		panic(fmt.Sprintf("leases: admission %d is %s, not COMMITTING", lease.Admission, lease.state))
	}
}

// TakeFinal settles COMPLETED groups of an unowned run as trained the moment they are taken.
func (l *Ledger) TakeFinal(rollout int64, groups []*Group) (admission uint64) {
	for _, g := range groups {
		l.becomeAcknowledged(g)
	}
	l.counter++
	l.last = max(l.last, rollout)
	return unique(l.term, l.counter)
}

// LastRollout is the last committed rollout, -1 for none.
func (l *Ledger) LastRollout() int64 { return l.last }

// SkipTo makes rollout the last one of an unowned run whose trainer says that it has it.
func (l *Ledger) SkipTo(rollout int64) { l.last = max(l.last, rollout) }
