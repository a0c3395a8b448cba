package leases

import (
	"fmt"
	"sort"
)

// LeaseState is where a lease is in its life.
type LeaseState uint8

// States of a lease.
const (
	LeaseOpen LeaseState = iota + 1
	LeasePublished
	LeaseCommitting
	LeaseCommitted
	LeaseRolledBack
)

func (s LeaseState) String() string {
	return [...]string{"NONE", "OPEN", "PUBLISHED", "COMMITTING", "COMMITTED", "ROLLED_BACK"}[min(s, LeaseRolledBack)]
}

// LeaseStatus answers a status question and a Commit or Rollback.
type LeaseStatus struct {
	Admission uint64
	Rollout   int64
	State     LeaseState
	// Reason is why it was rolled back.
	Reason string
}

// Lease is the ownership of one batch by one session, until commit or rollback.
type Lease struct {
	Admission uint64
	Rollout   int64
	Holder    Session
	// Groups are ordered by group. They are LEASED until the lease settles.
	Groups []*Group
	// Short marks a batch below its size.
	Short bool
	// Announced is the version that was announced when the lease was made.
	Announced int64

	state     LeaseState
	published int // how often: a publication to a changed cohort is another one
	pub       *Publication
	admitted  map[Rank]admissionReceipt
	entry     uint64 // index of the commit entry while COMMITTING
	timeline  Timeline
}

// State is where the lease is.
func (lease *Lease) State() LeaseState { return lease.state }

// Publication is nil until the lease is published.
func (lease *Lease) Publication() *Publication { return lease.pub }

// Status is the present status.
func (lease *Lease) Status() LeaseStatus {
	return LeaseStatus{Admission: lease.Admission, Rollout: lease.Rollout, State: lease.state}
}

// OpenLease makes one lease of COMPLETED groups for a rollout.
func (l *Ledger) OpenLease(rollout int64, holder Session, groups []*Group, short bool) *Lease {
	l.counter++
	lease := &Lease{
		Admission: unique(l.term, l.counter), Rollout: rollout, Holder: holder, Short: short,
		Announced: l.announced.version, state: LeaseOpen, timeline: l.timeline,
	}
	l.refill(lease, groups)
	l.open[lease.Admission] = lease
	return lease
}

// Refill adds COMPLETED groups to an OPEN lease in place of discarded ones.
func (l *Ledger) Refill(lease *Lease, groups []*Group, short bool) {
	lease.Short = short
	l.refill(lease, groups)
}

func (l *Ledger) refill(lease *Lease, groups []*Group) {
	for _, g := range groups {
		l.becomeLeased(g, lease)
	}
	lease.Groups = append(lease.Groups, groups...)
	sort.Slice(lease.Groups, func(i, j int) bool { return lease.Groups[i].id < lease.Groups[j].id })
}

// FindLease returns an unsettled lease, or says what became of it. A settled lease comes back as its status and
// a nil lease. Errors: ErrStale (of a former life), ErrUnknown.
func (l *Ledger) FindLease(admission uint64) (*Lease, LeaseStatus, error) {
	if lease := l.open[admission]; lease != nil {
		return lease, lease.Status(), nil
	}
	if s, ok := l.history.of[admission]; ok {
		return nil, s.status, nil
	}
	if admission>>uniqueBits < l.term.Number {
		return nil, LeaseStatus{}, fmt.Errorf("%w: admission %d belongs to a former life of the owner and no log has its commit; take the rollout again", ErrStale, admission)
	}
	return nil, LeaseStatus{}, fmt.Errorf("%w: admission %d was never given, or is older than the retained history of %d leases", ErrUnknown, admission, keepLeases)
}

// unsettled is FindLease for callers that need an open lease.
func (l *Ledger) unsettled(admission uint64) (*Lease, error) {
	lease, status, err := l.FindLease(admission)
	if err != nil || lease != nil {
		return lease, err
	}
	return nil, l.Settlement(status)
}

// Settlement is the error of a call that needs an unsettled lease and finds one with this status.
func (l *Ledger) Settlement(s LeaseStatus) error {
	if cause := l.history.of[s.Admission].cause; cause != nil {
		return cause
	}
	return fmt.Errorf("%w: admission %d of rollout %d is %s%s; take the rollout again", ErrStale, s.Admission, s.Rollout, s.State, because(s.Reason))
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return " (" + reason + ")"
}

// OpenLeases returns the unsettled leases by rollout.
func (l *Ledger) OpenLeases() []*Lease {
	out := make([]*Lease, 0, len(l.open))
	for _, lease := range l.open {
		out = append(out, lease)
	}
	sort.Slice(out, func(i, j int) bool {
		return out[i].Rollout < out[j].Rollout || out[i].Rollout == out[j].Rollout && out[i].Admission < out[j].Admission
	})
	return out
}

// Rollback returns every group of a lease to the source. It must not be COMMITTING. cause, when not nil, is what
// later calls on the admission are told.
func (l *Ledger) Rollback(lease *Lease, reason string, cause error) {
	if lease.state == LeaseCommitting {
		panic(fmt.Sprintf("leases: rollback of admission %d while it is COMMITTING", lease.Admission))
	}
	for _, g := range lease.Groups {
		l.outcomes.add(l.Receipt(g), g.print, Requeued)
		l.becomeRequeued(g, g.failures, 0)
	}
	l.close(lease, LeaseRolledBack, reason, cause)
}

func (l *Ledger) close(lease *Lease, to LeaseState, reason string, cause error) {
	lease.state, lease.Groups = to, nil
	delete(l.open, lease.Admission)
	l.history.settled(lease.Admission, LeaseStatus{Admission: lease.Admission, Rollout: lease.Rollout, State: to, Reason: reason}, cause)
}

// CheckLeased says whether DiscardLeased would accept.
func (l *Ledger) CheckLeased(lease *Lease, ids []int64) error {
	if lease.state != LeaseOpen {
		return fmt.Errorf("%w: admission %d is %s: groups can be discarded before it is published; roll it back instead", ErrConflict, lease.Admission, lease.state)
	}
	for _, id := range ids {
		if g := l.Find(id); g == nil || g.lease != lease {
			return fmt.Errorf("%w: group %d is not in admission %d of rollout %d", ErrStale, id, lease.Admission, lease.Rollout)
		}
	}
	return nil
}

// DiscardLeased settles groups of an OPEN lease as discarded under its rollout: all or none.
// Errors: ErrConflict (published), ErrStale (a group that is not in the lease).
func (l *Ledger) DiscardLeased(lease *Lease, ids []int64, reason string) error {
	if err := l.CheckLeased(lease, ids); err != nil {
		return err
	}
	gone := map[int64]bool{}
	for _, id := range ids {
		gone[id] = true
	}
	kept := lease.Groups[:0]
	for _, g := range lease.Groups {
		if !gone[g.id] {
			kept = append(kept, g)
			continue
		}
		l.outcomes.add(l.Receipt(g), g.print, Discarded)
		l.discard(g, reason, lease.Rollout)
	}
	lease.Groups = kept
	return nil
}
