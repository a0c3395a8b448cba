package scheduler

import "outrider/leases"

// buffer is the group buffer: COMPLETED groups in order of arrival, in order of eviction, and in that of the policy where it is another.
type buffer struct {
	orderList
	versions int64 // sum of the oldest versions
	// stalest has the next victim of an eviction on top: smallest oldest version first, then smallest sum of versions, then
	// oldest arrival. Groups beyond the staleness bound are at its top.
	stalest groupHeap
	// freshest is kept for the order Freshest alone: highest oldest version first, then oldest arrival.
	freshest *groupHeap
}

func newBuffer(o Order) buffer {
	b := buffer{stalest: groupHeap{before: evictedBefore, at: func(g *leases.Group) *int32 { return &g.Index }}}
	if o == Freshest {
		b.freshest = &groupHeap{before: fresherThan, at: func(g *leases.Group) *int32 { return &g.Fresh }}
	}
	return b
}

func (b *buffer) push(g *leases.Group) {
	b.orderList.push(g)
	oldest, _, _ := g.Versions()
	b.versions += oldest
	b.stalest.push(g)
	if b.freshest != nil {
		b.freshest.push(g)
	}
}

func (b *buffer) remove(g *leases.Group) {
	b.orderList.remove(g)
	oldest, _, _ := g.Versions()
	b.versions -= oldest
	b.stalest.remove(g)
	if b.freshest != nil {
		b.freshest.remove(g)
	}
}

// top is the next victim of an eviction, nil when the buffer is empty.
func (b *buffer) top() *leases.Group { return b.stalest.top() }

// next is the group that a take gets first; the buffer must not be empty.
func (b *buffer) next(o Order) *leases.Group {
	switch o {
	case LIFO:
		return b.last
	case Freshest:
		return b.freshest.top()
	default:
		return b.first
	}
}

func evictedBefore(a, b *leases.Group) bool {
	ao, _, as := a.Versions()
	bo, _, bs := b.Versions()
	switch {
	case ao != bo:
		return ao < bo
	case as != bs:
		return as < bs
	}
	return a.Arrival < b.Arrival
}

func fresherThan(a, b *leases.Group) bool {
	ao, _, _ := a.Versions()
	bo, _, _ := b.Versions()
	if ao != bo {
		return ao > bo
	}
	return a.Arrival < b.Arrival
}
