package scheduler

import (
	"iter"

	"outrider/leases"
)

// list is a list through links that its elements carry, in the order in which they were pushed. An element can leave from
// anywhere; it can be in several lists, through links of its own for each.
type list[T any] struct {
	first, last *T
	n           int
	links       func(*T) *leases.Links[T]
}

func byArrival(g *leases.Group) *leases.Links[leases.Group] { return &g.Order }
func byVersion(g *leases.Group) *leases.Links[leases.Group] { return &g.Shelf }
func byHolder(g *leases.Group) *leases.Links[leases.Group]  { return &g.Holder }
func byStart(e *running) *leases.Links[running]             { return &e.started }
func byClock(e *running) *leases.Links[running]             { return &e.clocked }

func (l *list[T]) push(e *T) {
	at := l.links(e)
	at.Prev, at.Next = l.last, nil
	if l.last != nil {
		l.links(l.last).Next = e
	} else {
		l.first = e
	}
	l.last = e
	l.n++
}

// has reports whether an element is in the list; it must be in no other through the same links.
func (l *list[T]) has(e *T) bool { return l.first == e || l.links(e).Prev != nil }

// remove takes an element out that is in the list.
func (l *list[T]) remove(e *T) {
	at := l.links(e)
	if at.Prev != nil {
		l.links(at.Prev).Next = at.Next
	} else {
		l.first = at.Next
	}
	if at.Next != nil {
		l.links(at.Next).Prev = at.Prev
	} else {
		l.last = at.Prev
	}
	*at = leases.Links[T]{}
	l.n--
}

// all goes through the list. The element that it is at may be removed meanwhile, and others pushed.
func (l *list[T]) all() iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for e := l.first; e != nil; {
			next := l.links(e).Next
			if !yield(e) {
				return
			}
			e = next
		}
	}
}
