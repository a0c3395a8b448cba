package leases

import (
	"maps"
	"slices"
)

// livePage is how many neighbouring groups share a page.
const livePage = 64

// page has the live ones of livePage neighbours.
type page struct {
	groups [livePage]*Group
	n      int
}

// liveSet finds live groups by id. Groups are reserved and settled in nearly the order of their ids, so what is asked for
// lies beside what was asked for before, however many groups are retained; a map of groups would look somewhere else each time.
type liveSet struct {
	pages map[int64]*page // by id/livePage; none is empty
	n     int
}

func (s *liveSet) find(id int64) *Group {
	if id < 0 {
		return nil
	}
	if p := s.pages[id/livePage]; p != nil {
		return p.groups[id%livePage]
	}
	return nil
}

// add takes a group in that is not in the set.
func (s *liveSet) add(g *Group) {
	if s.pages == nil {
		s.pages = map[int64]*page{}
	}
	p := s.pages[g.id/livePage]
	if p == nil {
		p = &page{}
		s.pages[g.id/livePage] = p
	}
	p.groups[g.id%livePage] = g
	p.n++
	s.n++
}

// remove takes a group out that is in the set.
func (s *liveSet) remove(g *Group) {
	p := s.pages[g.id/livePage]
	p.groups[g.id%livePage] = nil
	p.n--
	s.n--
	if p.n == 0 {
		delete(s.pages, g.id/livePage)
	}
}

// all returns the groups by id.
func (s *liveSet) all() []*Group {
	out := make([]*Group, 0, s.n)
	for _, at := range slices.Sorted(maps.Keys(s.pages)) {
		for _, g := range &s.pages[at].groups {
			if g != nil {
				out = append(out, g)
			}
		}
	}
	return out
}
