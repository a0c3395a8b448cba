package leases

import "sort"

// span is the groups lo <= g < hi.
type span struct{ lo, hi int64 }

// chunkSpans bounds the spans of one chunk, so that an insertion moves at most that many.
const chunkSpans = 256

// ranges is a set of groups kept as ordered spans that neither overlap nor touch. Spans live in chunks: an
// operation is a binary search over chunks, one inside a chunk, and a move within one chunk.
type ranges struct {
	chunks [][]span
	count  int64
}

// len returns the number of groups in the set.
func (r *ranges) len() int64 { return r.count }

// seek finds the first span with hi >= g, as chunk and place; chunk == len(chunks) when there is none.
func (r *ranges) seek(g int64) (int, int) {
	c := sort.Search(len(r.chunks), func(i int) bool { ch := r.chunks[i]; return ch[len(ch)-1].hi >= g })
	if c == len(r.chunks) {
		return c, 0
	}
	ch := r.chunks[c]
	return c, sort.Search(len(ch), func(i int) bool { return ch[i].hi >= g })
}

func (r *ranges) contains(g int64) bool {
	c, i := r.seek(g + 1)
	return c < len(r.chunks) && r.chunks[c][i].lo <= g
}

// add puts lo <= g < hi into the set and reports how many were not there.
func (r *ranges) add(lo, hi int64) int64 {
	if lo >= hi {
		return 0
	}
	before := r.count
	merged := span{lo, hi}
	c, i := r.seek(lo)
	for c < len(r.chunks) && r.chunks[c][i].lo <= hi {
		old := r.chunks[c][i]
		merged.lo, merged.hi = min(merged.lo, old.lo), max(merged.hi, old.hi)
		r.count -= old.hi - old.lo
		// The common case, a single neighbour, is done in place.
		if n := r.after(c, i); n == nil || n.lo > merged.hi {
			r.chunks[c][i] = merged
			r.count += merged.hi - merged.lo
			return r.count - before
		}
		c, i = r.drop(c, i)
	}
	r.insert(c, i, merged)
	r.count += merged.hi - merged.lo
	return r.count - before
}

// remove takes lo <= g < hi out of the set.
func (r *ranges) remove(lo, hi int64) {
	c, i := r.seek(lo + 1)
	for c < len(r.chunks) && lo < hi && r.chunks[c][i].lo < hi {
		old := r.chunks[c][i]
		left, right := span{old.lo, max(old.lo, lo)}, span{min(old.hi, hi), old.hi}
		r.count -= min(old.hi, hi) - max(old.lo, lo)
		switch {
		case left.lo < left.hi && right.lo < right.hi:
			r.chunks[c][i] = left
			r.insert(c, i+1, right)
			return
		case left.lo < left.hi:
			r.chunks[c][i] = left
			c, i = r.next(c, i)
		case right.lo < right.hi:
			r.chunks[c][i] = right
			return
		default:
			c, i = r.drop(c, i)
		}
	}
}

// popMin takes the smallest group out.
func (r *ranges) popMin() (int64, bool) {
	if len(r.chunks) == 0 {
		return 0, false
	}
	first := &r.chunks[0][0]
	g := first.lo
	first.lo++
	r.count--
	if first.lo == first.hi {
		r.drop(0, 0)
	}
	return g, true
}

// spans calls f with each span in order until it returns false.
func (r *ranges) spans(f func(lo, hi int64) bool) {
	for _, ch := range r.chunks {
		for _, s := range ch {
			if !f(s.lo, s.hi) {
				return
			}
		}
	}
}

// spanCount returns the number of spans.
func (r *ranges) spanCount() int {
	n := 0
	for _, ch := range r.chunks {
		n += len(ch)
	}
	return n
}

// gaps returns the groups 0 <= g < end that are not in the set.
func (r *ranges) gaps(end int64) *ranges {
	out, at := &ranges{}, int64(0)
	r.spans(func(lo, hi int64) bool {
		out.add(at, min(lo, end))
		at = hi
		return at < end
	})
	out.add(at, end)
	return out
}

func (r *ranges) clone() *ranges {
	out := &ranges{chunks: make([][]span, len(r.chunks)), count: r.count}
	for i, ch := range r.chunks {
		out.chunks[i] = append([]span(nil), ch...)
	}
	return out
}

func (r *ranges) next(c, i int) (int, int) {
	if i+1 < len(r.chunks[c]) {
		return c, i + 1
	}
	return c + 1, 0
}

func (r *ranges) after(c, i int) *span {
	if c, i = r.next(c, i); c < len(r.chunks) {
		return &r.chunks[c][i]
	}
	return nil
}

// drop removes the span at (c, i) and returns the place of the one behind it.
func (r *ranges) drop(c, i int) (int, int) {
	ch := append(r.chunks[c][:i], r.chunks[c][i+1:]...)
	r.chunks[c] = ch
	if len(ch) == 0 {
		r.chunks = append(r.chunks[:c], r.chunks[c+1:]...)
		return c, 0
	}
	if i == len(ch) {
		return c + 1, 0
	}
	return c, i
}

// insert puts s before the span at (c, i). c may be one past the last chunk, i one past the last span of c.
func (r *ranges) insert(c, i int, s span) {
	if c == len(r.chunks) {
		if c == 0 {
			r.chunks = append(r.chunks, append(make([]span, 0, 4), s))
			return
		}
		c--
		i = len(r.chunks[c])
	}
	ch := append(r.chunks[c], span{})
	copy(ch[i+1:], ch[i:])
	ch[i] = s
	r.chunks[c] = ch
	if len(ch) > chunkSpans {
		tail := append(make([]span, 0, chunkSpans+1), ch[len(ch)/2:]...)
		r.chunks[c] = ch[:len(ch)/2]
		r.chunks = append(r.chunks, nil)
		copy(r.chunks[c+2:], r.chunks[c+1:])
		r.chunks[c+1] = tail
	}
}
