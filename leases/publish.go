package leases

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
)

// RowRange is some rows of one group's data.
type RowRange struct {
	Group    int64
	Handle   Handle
	FirstRow int32
	Rows     int32
}

// MostRanks is how many ranks a role may have: a commit looks at each.
const MostRanks = 1 << 16

// RoleSize is a required role: its ranks 0..WorldSize-1 must each admit.
type RoleSize struct {
	Role      string
	WorldSize int
}

// PublishRequest fixes who reads what of a lease.
type PublishRequest struct {
	// Shards have the ordered locators of each shard. Every sample of the lease must occur once and only once.
	Shards [][]RowRange
	// Roles are the required roles.
	Roles      []RoleSize
	Generation int64
	// Content is a digest over the data that the shards name, made by the caller.
	Content [32]byte
}

// Publication is the immutable identity of a published lease.
type Publication struct {
	Admission uint64
	Rollout   int64
	Timeline  Timeline
	Request   PublishRequest
	// Digest is the SHA-256 of everything above; an admission must repeat it.
	Digest [32]byte
}

// Rank is one trainer rank.
type Rank struct {
	Role string
	Rank int
}

func (r Rank) String() string { return fmt.Sprintf("%s[%d]", r.Role, r.Rank) }

// Publish fixes the publication of a lease. The same request again gives the same publication. again says that the
// cohort has changed since: the publication is made anew and its admissions are void.
// Errors: ErrStale, ErrUnknown, ErrRefused (shards that are not the lease), ErrConflict (published otherwise).
func (l *Ledger) Publish(admission uint64, req PublishRequest, again bool) (*Publication, error) {
	lease, err := l.unsettled(admission)
	if err != nil {
		return nil, err
	}
	if err := lease.covers(req); err != nil {
		return nil, err
	}
	pub := &Publication{Admission: admission, Rollout: lease.Rollout, Timeline: lease.timeline, Request: req}
	if lease.state != LeaseOpen {
		pub.Digest = pub.digest(lease.published)
		if pub.Digest == lease.pub.Digest && !again {
			return lease.pub, nil
		}
		if lease.state == LeaseCommitting || !again {
			return nil, fmt.Errorf("%w: admission %d of rollout %d is %s with other shards, roles or content; a publication cannot change", ErrConflict, admission, lease.Rollout, lease.state)
		}
	}
	lease.published++
	pub.Digest = pub.digest(lease.published)
	lease.state, lease.pub, lease.admitted = LeasePublished, pub, map[Rank]admissionReceipt{}
	return pub, nil
}

// covers checks that the shards name every sample of the lease once.
func (lease *Lease) covers(req PublishRequest) error {
	refuse := func(format string, args ...any) error {
		return fmt.Errorf("%w: admission %d: %s", ErrRefused, lease.Admission, fmt.Sprintf(format, args...))
	}
	seen := map[string]bool{}
	for _, r := range req.Roles {
		if r.Role == "" || r.WorldSize < 1 || r.WorldSize > MostRanks || seen[r.Role] {
			return refuse("role %q with world size %d is empty or repeated; name each role once with 1 to %d ranks", r.Role, r.WorldSize, MostRanks)
		}
		seen[r.Role] = true
	}
	if len(req.Roles) == 0 || len(req.Shards) == 0 {
		return refuse("%d roles and %d shards; at least one of each is needed", len(req.Roles), len(req.Shards))
	}
	rest := inOrder(req.Shards)
	for _, g := range lease.Groups {
		have := int32(0)
		for ; len(rest) > 0 && rest[0].Group == g.id; rest = rest[1:] {
			rr := rest[0]
			if rr.FirstRow != have || rr.Rows < 1 || rr.Rows > g.samples-have {
				return refuse("group %d: rows %d to %d do not follow row %d of %d; name every sample once", g.id, rr.FirstRow, rr.FirstRow+rr.Rows, have, g.samples)
			}
			if rr.Handle != g.handle {
				return refuse("group %d: handle %d is not where its data is (%d)", g.id, rr.Handle, g.handle)
			}
			have += rr.Rows
		}
		if len(rest) > 0 && rest[0].Group < g.id {
			break
		}
		if have != g.samples {
			return refuse("group %d: %d of %d samples are in a shard; name every sample once", g.id, have, g.samples)
		}
	}
	if len(rest) > 0 {
		return refuse("group %d is in a shard but not in the lease", rest[0].Group)
	}
	return nil
}

// inOrder returns the rows of all shards by group and row, as a lease has its groups.
func inOrder(shards [][]RowRange) []RowRange {
	all := shards[0]
	if len(shards) > 1 {
		all = slices.Concat(shards...)
	}
	byRow := func(a, b RowRange) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.FirstRow, b.FirstRow))
	}
	if !slices.IsSortedFunc(all, byRow) {
		all = slices.SortedFunc(slices.Values(all), byRow)
	}
	return all
}

// NewPublication is the publication of a final batch of an unowned run: nothing is checked against a lease.
func NewPublication(admission uint64, rollout int64, t Timeline, req PublishRequest) Publication {
	p := Publication{Admission: admission, Rollout: rollout, Timeline: t, Request: req}
	p.Digest = p.digest(0)
	return p
}

func (p *Publication) digest(number int) [32]byte {
	w := &writer{}
	w.uint(p.Admission)
	w.int(p.Rollout)
	w.line(p.Timeline)
	w.int(int64(number))
	w.uint(uint64(len(p.Request.Shards)))
	for _, shard := range p.Request.Shards {
		w.uint(uint64(len(shard)))
		for _, rr := range shard {
			w.int(rr.Group)
			w.uint(uint64(rr.Handle))
			w.int(int64(rr.FirstRow))
			w.int(int64(rr.Rows))
		}
	}
	w.uint(uint64(len(p.Request.Roles)))
	for _, r := range p.Request.Roles {
		w.bytes([]byte(r.Role))
		w.int(int64(r.WorldSize))
	}
	w.int(p.Request.Generation)
	w.raw(p.Request.Content[:])
	return sha256.Sum256(w.b)
}
