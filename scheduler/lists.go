package scheduler

import (
	"fmt"

	"outrider/leases"
)

// orderList is a list of groups through Group.Order, oldest arrival first.
type orderList struct {
	first, last *leases.Group
	n           int
}

func (l *orderList) push(g *leases.Group) {
	g.Order.Prev, g.Order.Next = l.last, nil
	if l.last != nil {
		l.last.Order.Next = g
	} else {
		l.first = g
	}
	l.last = g
	l.n++
}

func (l *orderList) remove(g *leases.Group) {
	if g.Order.Prev != nil {
		g.Order.Prev.Order.Next = g.Order.Next
	} else {
		l.first = g.Order.Next
	}
	if g.Order.Next != nil {
		g.Order.Next.Order.Prev = g.Order.Prev
	} else {
		l.last = g.Order.Prev
	}
	g.Order = leases.Links{}
	l.n--
}

// holderList is a member's groups whose data it holds, through Group.Holder.
type holderList struct {
	first *leases.Group
	n     int
}

func (l *holderList) push(g *leases.Group) {
	g.Holder = leases.Links{Next: l.first}
	if l.first != nil {
		l.first.Holder.Prev = g
	}
	l.first = g
	l.n++
}

func (l *holderList) remove(g *leases.Group) {
	if g.Holder.Prev != nil {
		g.Holder.Prev.Holder.Next = g.Holder.Next
	} else if l.first == g {
		l.first = g.Holder.Next
	} else {
		return
	}
	if g.Holder.Next != nil {
		g.Holder.Next.Holder.Prev = g.Holder.Prev
	}
	g.Holder = leases.Links{}
	l.n--
}

// verify checks the links, and that every group in the list is held by that session.
func (l *holderList) verify(holder leases.Session) error {
	n := 0
	for g, prev := l.first, (*leases.Group)(nil); g != nil; g, prev = g.Holder.Next, g {
		n++
		if g.Worker() != holder || g.Holder.Prev != prev || n > l.n {
			return fmt.Errorf("scheduler: group %d (%s, of %s) is in the list of what %s holds", g.ID(), g.State(), g.Worker(), holder)
		}
	}
	if n != l.n {
		return fmt.Errorf("scheduler: %s holds %d groups, its list counts %d", holder, n, l.n)
	}
	return nil
}
