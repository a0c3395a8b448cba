package scheduler

import (
	"cmp"
	"fmt"
	"slices"

	"outrider/leases"
)

// buffer is the group buffer: COMPLETED groups in order of arrival, and by the versions that they used.
type buffer struct {
	list[leases.Group]
	tally    leases.Tally
	versions int64 // sum of the oldest versions
	// shelves are in order of eviction: smallest oldest version first, then smallest sum of versions. There are as many as
	// the buffered groups have such pairs: a few for each version that the staleness bound lets in.
	shelves []*shelf
}

// shelf has the groups with one pair of versions, oldest arrival first. It is not empty.
type shelf struct {
	oldest, sum int64
	list[leases.Group]
}

func newBuffer() buffer { return buffer{list: list[leases.Group]{links: byArrival}} }

// place finds the shelf of a group, or where it belongs.
func (b *buffer) place(g *leases.Group) (int, bool) {
	oldest, _, sum := g.Versions()
	return slices.BinarySearchFunc(b.shelves, oldest, func(s *shelf, _ int64) int {
		return cmp.Or(cmp.Compare(s.oldest, oldest), cmp.Compare(s.sum, sum))
	})
}

// push takes a group in that arrived after all others.
func (b *buffer) push(g *leases.Group) {
	b.list.push(g)
	b.tally = b.tally.Plus(g.Tally())
	oldest, _, sum := g.Versions()
	b.versions += oldest
	i, found := b.place(g)
	if !found {
		b.shelves = slices.Insert(b.shelves, i, &shelf{oldest: oldest, sum: sum, list: list[leases.Group]{links: byVersion}})
	}
	b.shelves[i].push(g)
}

func (b *buffer) remove(g *leases.Group) {
	b.list.remove(g)
	b.tally = b.tally.Minus(g.Tally())
	oldest, _, _ := g.Versions()
	b.versions -= oldest
	i, _ := b.place(g)
	b.shelves[i].remove(g)
	if b.shelves[i].n == 0 {
		b.shelves = slices.Delete(b.shelves, i, i+1)
	}
}

// stalest is the next victim of an eviction, nil when the buffer is empty. Groups beyond the staleness bound come first.
func (b *buffer) stalest() *leases.Group {
	if len(b.shelves) == 0 {
		return nil
	}
	return b.shelves[0].first
}

// freshest has the highest oldest version and is the oldest arrival of those; the buffer must not be empty.
func (b *buffer) freshest() *leases.Group {
	var out *leases.Group
	last := b.shelves[len(b.shelves)-1]
	for i := len(b.shelves) - 1; i >= 0 && b.shelves[i].oldest == last.oldest; i-- {
		if g := b.shelves[i].first; out == nil || g.Arrival < out.Arrival {
			out = g
		}
	}
	return out
}

// next is the group that a take gets first; the buffer must not be empty.
func (b *buffer) next(o Order) *leases.Group {
	switch o {
	case LIFO:
		return b.last
	case Freshest:
		return b.freshest()
	default:
		return b.first
	}
}

// verify recounts the versions of what is buffered, and that every shelf has its own.
func (b *buffer) verify() error {
	tally, versions := leases.Tally{}, int64(0)
	for i, s := range b.shelves {
		arrival := uint64(0)
		for g := range s.all() {
			if at, found := b.place(g); !found || at != i || g.Arrival <= arrival {
				return fmt.Errorf("scheduler: group %d does not belong where it is in the order of eviction", g.ID())
			}
			arrival = g.Arrival
			versions += s.oldest
			tally = tally.Plus(g.Tally())
		}
	}
	if tally.Groups != int64(b.n) || tally != b.tally || versions != b.versions {
		return fmt.Errorf("scheduler: %d groups (%v) are buffered with versions of %d, recounted %v with %d", b.n, b.tally, b.versions, tally, versions)
	}
	return nil
}
