package scheduler

import "outrider/leases"

// groupHeap is a binary heap of groups that know their places in it.
type groupHeap struct {
	groups []*leases.Group
	before func(a, b *leases.Group) bool
	at     func(*leases.Group) *int32
}

// top is the first group, nil when there is none.
func (h *groupHeap) top() *leases.Group {
	if len(h.groups) == 0 {
		return nil
	}
	return h.groups[0]
}

func (h *groupHeap) push(g *leases.Group) {
	*h.at(g) = int32(len(h.groups))
	h.groups = append(h.groups, g)
	h.up(len(h.groups) - 1)
}

func (h *groupHeap) remove(g *leases.Group) {
	i, last := int(*h.at(g)), len(h.groups)-1
	h.swap(i, last)
	h.groups[last] = nil
	h.groups = h.groups[:last]
	if i < last {
		h.down(i)
		h.up(i)
	}
}

func (h *groupHeap) swap(i, j int) {
	g := h.groups
	g[i], g[j] = g[j], g[i]
	*h.at(g[i]), *h.at(g[j]) = int32(i), int32(j)
}

func (h *groupHeap) up(i int) {
	for i > 0 && h.before(h.groups[i], h.groups[(i-1)/2]) {
		h.swap(i, (i-1)/2)
		i = (i - 1) / 2
	}
}

func (h *groupHeap) down(i int) {
	for {
		first := i
		for c := 2*i + 1; c <= 2*i+2 && c < len(h.groups); c++ {
			if h.before(h.groups[c], h.groups[first]) {
				first = c
			}
		}
		if first == i {
			return
		}
		h.swap(i, first)
		i = first
	}
}
