package leases

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"sort"
)

// remembered bounds the settled pushes whose ids a run still knows: the newest, 32 bytes each, 512 KB of state. What is
// older counts as new when it is pushed again.
const remembered = 1 << 14

// maxHeld bounds the rows that a run keeps, in bytes: those of what has not settled in the base. They are in state bytes
// and logs, and these go in one message each.
const maxHeld = 24 << 20

// maxPush bounds the rows of one push call, in bytes: it is one log entry and one message to each trainer.
const maxPush = 8 << 20

// PushID names a pushed prompt: half a SHA-256 of the producer's id.
type PushID [16]byte

// NamePush returns the PushID of a producer's own id.
func NamePush(id []byte) PushID {
	sum := sha256.Sum256(id)
	return PushID(sum[:16])
}

// Push is one prompt that a producer gives to a stream.
type Push struct {
	ID PushID
	// Digest identifies the content.
	Digest [16]byte
	// Rows are the prompt as the workers get it, opaque to the ledger; never empty.
	Rows []byte
	// Wrong says why the group must not be generated; empty unless a pulled source gave it.
	Wrong string
}

// pushed is a push under the group that it became: they are numbered as they arrive.
type pushed struct {
	Push        // Rows are nil once the group has settled in the base
	group int64 // its number
}

// stream is the supply of a run whose prompts are pushed. It only grows, whatever the run rewinds to.
type stream struct {
	arrived int64 // pushes so far
	held    int   // bytes of all rows in items
	ended   bool
	pulled  bool      // a framework's own data source gives the prompts when it is asked
	cursor  []byte    // where that is after what it gave last, nil before
	items   []*pushed // ascending by group: all that have not settled in the base, and the newest that have
	byID    map[PushID]*pushed
}

func newStream() *stream { return &stream{byID: map[PushID]*pushed{}} }

func (s *stream) clone() *stream {
	c := &stream{arrived: s.arrived, held: s.held, ended: s.ended, pulled: s.pulled, cursor: s.cursor, items: make([]*pushed, len(s.items)), byID: make(map[PushID]*pushed, len(s.items))}
	for i, p := range s.items {
		c.items[i] = p
		c.byID[p.ID] = p
	}
	return c
}

func (s *stream) add(p *pushed) {
	s.items = append(s.items, p)
	s.byID[p.ID] = p
	s.held += len(p.Rows)
	s.arrived = max(s.arrived, p.group+1)
}

func (s *stream) find(group int64) *pushed {
	i := sort.Search(len(s.items), func(i int) bool { return s.items[i].group >= group })
	if i < len(s.items) && s.items[i].group == group {
		return s.items[i]
	}
	return nil
}

// letGo drops the rows of what has settled for good, and forgets the oldest ids of that. It returns what lost its rows.
func (s *stream) letGo(settled *ranges) []PushID {
	var gone []PushID
	n := 0
	for i, p := range s.items {
		if !settled.contains(p.group) {
			continue
		}
		n++
		if p.Rows != nil {
			gone = append(gone, p.ID)
			s.held -= len(p.Rows)
			// A copy: what trainers still read of a former cut is not changed.
			c := &pushed{Push: Push{ID: p.ID, Digest: p.Digest, Wrong: p.Wrong}, group: p.group}
			s.items[i], s.byID[p.ID] = c, c
		}
	}
	if n -= remembered; n > 0 {
		s.items = slices.DeleteFunc(s.items, func(p *pushed) bool {
			if n == 0 || p.Rows != nil {
				return false
			}
			n--
			delete(s.byID, p.ID)
			return true
		})
	}
	return gone
}

// write appends what a new life needs of the stream when settled has settled.
func (s *stream) write(w *writer, settled *ranges) {
	forget := -remembered
	for _, p := range s.items {
		if settled.contains(p.group) {
			forget++
		}
	}
	w.int(s.arrived)
	w.bool(s.ended)
	if s.pulled {
		w.bytes(s.cursor)
	}
	w.uint(uint64(len(s.items) - max(forget, 0)))
	at := int64(0)
	for _, p := range s.items {
		done := settled.contains(p.group)
		if done && forget > 0 {
			forget--
			continue
		}
		w.uint(uint64(p.group - at))
		at = p.group
		w.raw(p.ID[:])
		w.raw(p.Digest[:])
		if done {
			w.bytes(nil)
		} else {
			w.bytes(p.Rows)
		}
		if s.pulled {
			w.bytes([]byte(p.Wrong))
		}
	}
}

// readStream reads what write wrote; canonical bytes are checked by who calls.
func readStream(r *reader, pulled bool, cursor int64, settled *ranges) *stream {
	s := newStream()
	s.pulled = pulled
	s.arrived, s.ended = r.int("arrived", cursor), r.bool("ended")
	if s.arrived > maxGroups {
		r.fail("arrived", "%d is above %d", s.arrived, maxGroups)
	}
	if pulled {
		s.cursor = readCursor(r)
		if s.ended {
			r.fail("ended", "a data source does not end in a state")
		}
	}
	at, rows := int64(0), int64(0)
	for i := range r.count("pushed", 34) {
		gap := r.uint("pushed.group")
		p := &pushed{}
		copy(p.ID[:], r.raw("pushed.id", 16))
		copy(p.Digest[:], r.raw("pushed.digest", 16))
		p.Rows = slices.Clone(r.bytes("pushed.rows"))
		if pulled {
			p.Wrong = string(r.bytes("pushed.wrong"))
		}
		if r.err != nil {
			return s
		}
		switch {
		case gap >= uint64(s.arrived-at) || i > 0 && gap == 0:
			r.fail("pushed.group", "not ascending, or beyond %d", s.arrived)
		case s.byID[p.ID] != nil:
			r.fail("pushed.id", "%x comes twice", p.ID)
		case settled.contains(at+int64(gap)) != (len(p.Rows) == 0):
			r.fail("pushed.rows", "group %d has rows and has settled, or neither", at+int64(gap))
		}
		if r.err != nil {
			return s
		}
		at += int64(gap)
		p.group = at
		if len(p.Rows) == 0 {
			p.Rows = nil
		} else {
			rows++
		}
		arrived := s.arrived
		s.add(p)
		s.arrived = arrived
	}
	if r.err == nil && rows != s.arrived-settled.len() {
		r.fail("pushed", "%d groups have rows, %d have not settled", rows, s.arrived-settled.len())
	}
	return s
}

// CheckPush says how many of some pushes are new, without changing anything. Errors: ErrConflict (an id that was pushed
// before with other content), ErrRefused (no stream, one that has ended, too much at once, no rows).
func (l *Ledger) CheckPush(pushes []Push) (fresh int, err error) {
	if l.stream == nil || l.stream.pulled {
		return 0, fmt.Errorf("%w: the source of this run is no stream: nothing can be pushed; start it with outrider.stream()", ErrRefused)
	}
	seen := map[PushID][16]byte{}
	size := 0
	for _, p := range pushes {
		before, known := seen[p.ID]
		if old := l.stream.byID[p.ID]; old != nil {
			before, known = old.Digest, true
		}
		switch {
		case known && before != p.Digest:
			return 0, fmt.Errorf("%w: the id was pushed before with content %x, it is %x here; push other rows under another id", ErrConflict, before[:4], p.Digest[:4])
		case known:
			continue
		case len(p.Rows) == 0:
			return 0, fmt.Errorf("%w: a push without rows; give one row", ErrRefused)
		}
		seen[p.ID] = p.Digest
		fresh++
		size += len(p.Rows)
	}
	switch {
	case fresh > 0 && l.stream.ended:
		return 0, fmt.Errorf("%w: the stream has ended: nothing new can be pushed; start another run", ErrRefused)
	case size > maxPush:
		return 0, fmt.Errorf("%w: a push of %d bytes; at most %d go at once: push fewer rows, or smaller ones, in each call", ErrRefused, size, maxPush)
	case l.stream.arrived > maxGroups-int64(fresh):
		return 0, fmt.Errorf("%w: the stream is full: a run has at most %d groups", ErrRefused, maxGroups)
	}
	return fresh, nil
}

// Push takes the new ones of some pushes, in order; CheckPush has accepted them. The entry goes to every trainer's log;
// none when nothing is new.
func (l *Ledger) Push(pushes []Push) (Entry, int) {
	rec := &record{kind: recordPush, first: l.stream.arrived}
	for _, p := range pushes {
		if l.stream.byID[p.ID] == nil {
			rec.pushes = append(rec.pushes, p)
			l.stream.add(&pushed{Push: p, group: l.stream.arrived})
		}
	}
	if len(rec.pushes) == 0 {
		return Entry{}, 0
	}
	return l.write(rec), len(rec.pushes)
}

// EndStream says that nothing new will be pushed; false when that was said before. The entry goes to every trainer's
// log. Errors: ErrRefused (no stream).
func (l *Ledger) EndStream() (Entry, bool, error) {
	switch {
	case l.stream == nil || l.stream.pulled:
		return Entry{}, false, fmt.Errorf("%w: the source of this run is no stream: it ends by itself", ErrRefused)
	case l.stream.ended:
		return Entry{}, false, nil
	}
	l.stream.ended = true
	return l.write(&record{kind: recordStreamEnd}), true, nil
}

// Pushed returns a group's rows, nil when they were not pushed.
func (l *Ledger) Pushed(group int64) []byte {
	if l.stream != nil {
		if p := l.stream.find(group); p != nil {
			return p.Rows
		}
	}
	return nil
}

// GroupOf returns the group that a push became, -1 when it is not known.
func (l *Ledger) GroupOf(id PushID) int64 {
	if p := l.stream.byID[id]; p != nil {
		return p.group
	}
	return -1
}

// Unsettled counts the pushed groups that have not settled.
func (l *Ledger) Unsettled() int64 {
	if l.stream == nil {
		return 0
	}
	return l.stream.arrived - l.settled.len()
}

// RoomFor reports whether the rows of some pushes fit beside those that the run keeps until they have settled in a saved
// state. A push that is alone always does.
func (l *Ledger) RoomFor(pushes []Push) bool {
	size := 0
	for _, p := range pushes {
		if l.stream.byID[p.ID] == nil {
			size += len(p.Rows)
		}
	}
	return size == 0 || l.stream.held == 0 || l.stream.held+size <= maxHeld
}

// Held is the bytes of rows that the run keeps.
func (l *Ledger) Held() int { return l.stream.held }

// Settles reports whether a push is known and its rows were let go: it has settled in the base.
func (l *Ledger) Settles(id PushID) bool {
	p := l.stream.byID[id]
	return p != nil && p.Rows == nil
}

// Gone returns the pushes whose rows were let go since it was asked last: nobody needs to keep them.
func (l *Ledger) Gone() []PushID {
	gone := l.gone
	l.gone = nil
	return gone
}

// Flows reports whether more may be pushed, or given by a pulled source.
func (l *Ledger) Flows() bool { return l.stream != nil && !l.stream.ended && !l.drained }

// replayPush takes a push entry of the log; what the base has already is skipped.
func (l *Ledger) replayPush(rec *record) error {
	end := rec.first + int64(len(rec.pushes))
	switch {
	case l.stream == nil:
		return fmt.Errorf("%w: log entry %d is of a stream, the source is none", ErrState, rec.index)
	case end <= l.stream.arrived:
		return nil
	case rec.first != l.stream.arrived:
		return fmt.Errorf("%w: log entry %d pushes groups from %d on, %d have arrived", ErrState, rec.index, rec.first, l.stream.arrived)
	}
	for i, p := range rec.pushes {
		if l.stream.byID[p.ID] != nil {
			return fmt.Errorf("%w: log entry %d pushes id %x, which was pushed before it", ErrState, rec.index, p.ID)
		}
		l.stream.add(&pushed{Push: p, group: rec.first + int64(i)})
	}
	return nil
}

// total is the number of groups that the source has given or can give at present.
func (l *Ledger) total() int64 {
	if l.stream != nil {
		return l.stream.arrived
	}
	return l.source.total() + l.beyond
}

// readCursor reads a cursor; an empty one is none.
func readCursor(r *reader) []byte {
	if c := r.bytes("cursor"); len(c) > 0 {
		return slices.Clone(c)
	}
	return nil
}

// writePushes and readPushes are the body of a push or pull entry.
func writePushes(w *writer, rec *record) {
	if rec.kind == recordPull {
		w.bytes(rec.source)
	}
	w.int(rec.first)
	w.uint(uint64(len(rec.pushes)))
	for _, p := range rec.pushes {
		w.raw(p.ID[:])
		w.raw(p.Digest[:])
		w.bytes(p.Rows)
		if rec.kind == recordPull {
			w.bytes([]byte(p.Wrong))
		}
	}
}

func readPushes(r *reader, rec *record) {
	if rec.kind == recordPull {
		rec.source = readCursor(r)
	}
	rec.first = r.int("first", 0)
	for range r.count("pushes", 33) {
		var p Push
		copy(p.ID[:], r.raw("push.id", 16))
		copy(p.Digest[:], r.raw("push.digest", 16))
		p.Rows = slices.Clone(r.bytes("push.rows"))
		if rec.kind == recordPull {
			p.Wrong = string(r.bytes("push.wrong"))
		}
		if r.err == nil && len(p.Rows) == 0 {
			r.fail("push.rows", "none")
		}
		rec.pushes = append(rec.pushes, p)
	}
	if r.err == nil && (rec.kind == recordPush && len(rec.pushes) == 0 || rec.first > maxGroups-int64(len(rec.pushes))) {
		r.fail("pushes", "none, or beyond %d", maxGroups)
	}
}
