package scheduler

import "outrider/leases"

// buffer is the group buffer: COMPLETED groups in order of arrival, and at the same time in order of eviction.
type buffer struct {
	orderList
	// stalest is a binary heap over Group.Index: smallest oldest version first, then smallest sum of versions, then
	// oldest arrival. Groups beyond the staleness bound are at its top.
	stalest []*leases.Group
}

func (b *buffer) push(g *leases.Group) {
	b.orderList.push(g)
	g.Index = int32(len(b.stalest))
	b.stalest = append(b.stalest, g)
	b.up(len(b.stalest) - 1)
}

func (b *buffer) remove(g *leases.Group) {
	b.orderList.remove(g)
	i, last := int(g.Index), len(b.stalest)-1
	b.swap(i, last)
	b.stalest[last] = nil
	b.stalest = b.stalest[:last]
	if i < last {
		b.down(i)
		b.up(i)
	}
}

// top is the next victim of an eviction, nil when the buffer is empty.
func (b *buffer) top() *leases.Group {
	if len(b.stalest) == 0 {
		return nil
	}
	return b.stalest[0]
}

// pick returns n groups in the order of a policy; n must not be above the number buffered.
func (b *buffer) pick(n int, o Order) []*leases.Group {
	out := make([]*leases.Group, 0, n)
	if o == LIFO {
		for g := b.last; len(out) < n; g = g.Order.Prev {
			out = append(out, g)
		}
		return out
	}
	for g := b.first; len(out) < n; g = g.Order.Next {
		out = append(out, g)
	}
	return out
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

func (b *buffer) swap(i, j int) {
	h := b.stalest
	h[i], h[j] = h[j], h[i]
	h[i].Index, h[j].Index = int32(i), int32(j)
}

func (b *buffer) up(i int) {
	for i > 0 && evictedBefore(b.stalest[i], b.stalest[(i-1)/2]) {
		b.swap(i, (i-1)/2)
		i = (i - 1) / 2
	}
}

func (b *buffer) down(i int) {
	for {
		least := i
		for c := 2*i + 1; c <= 2*i+2 && c < len(b.stalest); c++ {
			if evictedBefore(b.stalest[c], b.stalest[least]) {
				least = c
			}
		}
		if least == i {
			return
		}
		b.swap(i, least)
		i = least
	}
}
