package scheduler

import (
	"fmt"
	"slices"

	"outrider/leases"
)

// replication is one log entry on its way to the trainers' sidecars. It is decided when every rank that must have it
// has it; then, and only then, what depends on it is answered.
type replication struct {
	entry Entry
	// lease is set for a commit: then the ranks that admitted must have the entry, and one that is lost meanwhile
	// leaves the commit in doubt until its rank attaches again. Else every rank attached at the start must.
	lease *leases.Lease
	// alone is set for a commit that the log of its only rank decides: with the entry there, the rank trains.
	alone   bool
	waiting map[leases.Rank]leases.Session
	has     int // ranks of a commit that have it
	lacks   int // ranks of a commit that came back without it
	tickets []Ticket
	done    func()
}

func (r *replication) fail(s *Scheduler, err error) {
	s.answerAll(r.tickets, nil, err)
}

// logged returns the ranks whose sidecars keep the run's log.
func (s *Scheduler) logged() []*member {
	return slices.DeleteFunc(s.cohort.members(), func(m *member) bool { return !m.brought })
}

// inALog reports whether another process than this one has an entry.
func (s *Scheduler) inALog(index uint64) bool {
	return slices.ContainsFunc(s.logged(), func(m *member) bool { return m.appended >= index })
}

func sessions(members []*member) []leases.Session {
	var out []leases.Session
	for _, m := range members {
		out = append(out, m.session)
	}
	return out
}

// settleGone gives up waiting for ranks that the complete cohort does not have.
func (s *Scheduler) settleGone() {
	for _, r := range s.replicating {
		for rank, session := range r.waiting {
			if m := s.cohort.ranks[rank]; m == nil || m.session != session {
				delete(r.waiting, rank)
				r.lacks++
			}
		}
	}
	s.settleReplications()
}

// replicate sends an entry to every trainer and waits for those that count.
func (s *Scheduler) replicate(r *replication) {
	var to []leases.Session
	r.waiting = map[leases.Rank]leases.Session{}
	for _, m := range s.logged() {
		to = append(to, m.session)
		if r.lease == nil || slices.Contains(r.lease.Admitted(), m.session) {
			r.waiting[m.rank()] = m.session
		}
	}
	s.replicating = append(s.replicating, r)
	if len(to) > 0 {
		e := Append{Sessions: to, Entry: r.entry}
		if r.alone {
			e.Decides = r.lease.Admission
		}
		s.emit(e)
	}
	s.settleReplications()
}

// Deciding reports whether an attached rank may be training on a batch whose commit is not finished here: its word is on
// its way. Questions that speak of commits are to be asked when that has come, so that nobody hears less than the rank
// that told him. It ends with the word or with the rank's session.
func (s *Scheduler) Deciding() bool {
	return slices.ContainsFunc(s.replicating, func(r *replication) bool {
		for _, by := range r.waiting {
			if s.members[by] == nil {
				return false
			}
		}
		return r.alone
	})
}

// doubted is the last rollout whose commit waits for this rank and may be in its weights, -1 for none: it alone decides that commit,
// or its log has the entry.
func (s *Scheduler) doubted(rank leases.Rank, role *TrainerRole) int64 {
	at := int64(-1)
	for _, r := range s.replicating {
		if _, waits := r.waiting[rank]; waits && (r.alone || sameEntry(role.Log, r.entry)) {
			at = max(at, r.lease.Rollout)
		}
	}
	return at
}

// Appended says that a trainer's log has the entry with this index, and all before it.
func (s *Scheduler) Appended(session leases.Session, index uint64) {
	if s.dead != nil {
		return
	}
	if m := s.members[session]; m != nil {
		m.appended = max(m.appended, index)
	}
	for _, r := range s.replicating {
		if r.entry.Index != index {
			continue
		}
		for rank, by := range r.waiting {
			if by == session {
				delete(r.waiting, rank)
				r.has++
				break
			}
		}
	}
	s.settleReplications()
	s.pump()
}

// settleReplications decides what can be decided, in the order of the log.
func (s *Scheduler) settleReplications() {
	for len(s.replicating) > 0 && len(s.replicating[0].waiting) == 0 {
		r := s.replicating[0]
		s.replicating = s.replicating[1:]
		if r.lease != nil && r.has == 0 {
			s.voidCommit(r, "its ranks were lost before any of them had the entry")
			continue
		}
		r.done()
	}
	s.bringLate()
}

// settleDoubts weighs what a rank that attaches says about a commit that waits for it.
func (s *Scheduler) settleDoubts(m *member) {
	for _, r := range slices.Clone(s.replicating) {
		by, waits := r.waiting[m.rank()]
		if !waits {
			continue
		}
		switch {
		case r.provenBy(m.trainer):
			delete(r.waiting, m.rank())
			r.has++
		case by != m.session:
			// Another process: what was admitted is not in its hands.
			delete(r.waiting, m.rank())
			r.lacks++
		}
	}
	s.settleReplications()
}

// provenBy reports whether a rank's log has the entry. Where that log was lost with its sidecar, weights can contain the rollout only
// because the log had it; and what is in a copy and not in the weights was never answered.
func (r *replication) provenBy(rank *TrainerRole) bool {
	has := sameEntry(rank.Log, r.entry)
	if r.lease == nil || rank.keeps() {
		return has
	}
	return rank.StateAt >= r.lease.Rollout && (has || r.alone)
}

// trainerLost frees what need not wait for a lost rank. A commit that it admitted stays in doubt: the rank may only be
// slow to come back, with the entry in its log.
func (s *Scheduler) trainerLost(m *member) {
	if m.trainer == nil {
		return
	}
	for _, r := range s.replicating {
		if r.lease == nil {
			delete(r.waiting, m.rank())
		}
	}
	s.settleReplications()
}

// failReplications gives up what waits for ranks that will not have it: a commit that a rank has stays committed.
func (s *Scheduler) failReplications(err error) {
	waiting := s.replicating
	s.replicating = nil
	for _, r := range waiting {
		if r.lease != nil && r.has == 0 {
			s.voidCommit(r, err.Error())
		} else {
			r.done()
		}
	}
	s.bringLate()
}

// voidCommit rolls a COMMITTING lease back: no log of the cohort has its entry.
func (s *Scheduler) voidCommit(r *replication, reason string) {
	lease := r.lease
	s.giveBack(lease)
	holders := append([]leases.Session{lease.Holder}, lease.Admitted()...)
	entry := s.ledger.VoidCommit(lease, reason)
	s.emit(Revoked{Sessions: holders, Admission: lease.Admission, Rollout: lease.Rollout})
	s.emit(Append{Sessions: sessions(s.logged()), Entry: entry})
	s.log(Warn, "commit void", "rollout", lease.Rollout, "admission", lease.Admission, "reason", reason)
	r.fail(s, fmt.Errorf("%w: admission %d of rollout %d was rolled back: %s; take the rollout again", leases.ErrStale, lease.Admission, lease.Rollout, reason))
}
