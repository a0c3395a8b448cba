package leases

import (
	"fmt"
	"slices"
)

// AdmitRequest is one rank's word that it holds exactly its shards.
type AdmitRequest struct {
	Admission uint64
	// Digest is the Publication's.
	Digest     [32]byte
	Role       string
	Rank       int
	Generation int64
	Session    Session
	// Shards are the indices of the shards that it holds, each once, in the order in which it reads them; nil: all of them.
	Shards []int
}

// admissionReceipt is what one rank has admitted.
type admissionReceipt struct {
	by     Session
	shards []int // ascending
}

// Admit records one rank's admission; the same again changes nothing. The last rank of a role is refused when the role would
// not read every shard, and each as often as the others: what it trains would not be what is acknowledged.
// Errors: ErrStale, ErrUnknown, ErrRefused (not published, other digest, foreign rank, shards that do not add up),
// ErrCohortChanged (the rank was admitted by another session, or for another generation).
func (l *Ledger) Admit(a AdmitRequest) error {
	lease, err := l.unsettled(a.Admission)
	if err != nil {
		return err
	}
	rank := Rank{a.Role, a.Rank}
	if lease.pub == nil {
		return fmt.Errorf("%w: admission %d is not published; publish it first", ErrRefused, a.Admission)
	}
	if a.Digest != lease.pub.Digest {
		return fmt.Errorf("%w: %s admits digest %x, the publication of admission %d is %x", ErrRefused, rank, a.Digest[:6], a.Admission, lease.pub.Digest[:6])
	}
	if a.Generation != lease.pub.Request.Generation {
		return fmt.Errorf("%w: %s is of generation %d, admission %d is published to generation %d", ErrCohortChanged, rank, a.Generation, a.Admission, lease.pub.Request.Generation)
	}
	size := lease.pub.Request.worldSize(a.Role)
	if a.Rank < 0 || a.Rank >= size {
		return fmt.Errorf("%w: %s is not required by the publication of admission %d", ErrRefused, rank, a.Admission)
	}
	shards, err := lease.shards(rank, a.Shards)
	if err != nil {
		return err
	}
	switch was, ok := lease.admitted[rank]; {
	case ok && was.by != a.Session:
		return fmt.Errorf("%w: %s was admitted by session %s", ErrCohortChanged, rank, was.by)
	case ok && !slices.Equal(was.shards, shards):
		return fmt.Errorf("%w: %s has admitted shards %v of admission %d, not %v; an admission does not change: roll the lease back", ErrRefused, rank, was.shards, a.Admission, shards)
	case ok:
		return nil
	}
	if err := lease.evenly(rank, shards, size); err != nil {
		return err
	}
	lease.admitted[rank] = admissionReceipt{a.Session, shards}
	return nil
}

// worldSize is how many ranks of a role must admit, 0 when none must.
func (r PublishRequest) worldSize(role string) int {
	for _, required := range r.Roles {
		if required.Role == role {
			return required.WorldSize
		}
	}
	return 0
}

// shards are those that a rank names, in ascending order.
func (lease *Lease) shards(rank Rank, named []int) ([]int, error) {
	have := len(lease.pub.Request.Shards)
	shards := slices.Sorted(slices.Values(named))
	if named == nil {
		for i := range have {
			shards = append(shards, i)
		}
	}
	if len(shards) == 0 || shards[0] < 0 || shards[len(shards)-1] >= have || len(slices.Compact(slices.Clone(shards))) != len(shards) {
		return nil, fmt.Errorf("%w: %s admits shards %v of admission %d, which has shards 0 to %d; name at least one, each once", ErrRefused, rank, named, lease.Admission, have-1)
	}
	return shards, nil
}

// evenly refuses the last admission of a role whose ranks do not read every shard equally often. How often is the job's
// own: tensor-parallel ranks read the same shard.
func (lease *Lease) evenly(last Rank, shards []int, worldSize int) error {
	readers := make([]int, len(lease.pub.Request.Shards))
	for _, shard := range shards {
		readers[shard]++
	}
	here := 1
	for rank, a := range lease.admitted {
		if rank.Role == last.Role {
			here++
			for _, shard := range a.shards {
				readers[shard]++
			}
		}
	}
	if here < worldSize {
		return nil
	}
	if n := readers[0]; n == 0 || slices.ContainsFunc(readers, func(other int) bool { return other != n }) {
		return fmt.Errorf("%w: with %s on shards %v the ranks of role %q would read the shards of admission %d %v times, and must read each equally often; publish as many shards as the role has data-parallel ranks",
			ErrRefused, last, shards, last.Role, lease.Admission, readers)
	}
	return nil
}

// Missing returns the first required rank that has not admitted.
func (lease *Lease) Missing() (Rank, bool) {
	for rank := range lease.pub.Request.ranks {
		if _, ok := lease.admitted[rank]; !ok {
			return rank, true
		}
	}
	return Rank{}, false
}

// ranks yields the required ranks, by role and rank as required.
func (r PublishRequest) ranks(yield func(Rank) bool) {
	for _, role := range r.Roles {
		for i := range role.WorldSize {
			if !yield(Rank{role.Role, i}) {
				return
			}
		}
	}
}

// AdmittedBy returns the session that admitted for a rank; false when nobody has.
func (lease *Lease) AdmittedBy(r Rank) (Session, bool) {
	a, ok := lease.admitted[r]
	return a.by, ok
}

// Holds reports whether a session has admitted all of these shards for a rank.
func (lease *Lease) Holds(r Rank, by Session, shards []int) bool {
	a, ok := lease.admitted[r]
	return ok && a.by == by && !slices.ContainsFunc(shards, func(shard int) bool { return !slices.Contains(a.shards, shard) })
}

// Admitted returns the sessions that have admitted, by role and rank as required.
func (lease *Lease) Admitted() []Session {
	if lease.pub == nil {
		return nil
	}
	var out []Session
	for rank := range lease.pub.Request.ranks {
		if a, ok := lease.admitted[rank]; ok {
			out = append(out, a.by)
		}
	}
	return out
}
