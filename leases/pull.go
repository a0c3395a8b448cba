package leases

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// Given is one group that a pulled source gave when it was asked: a framework's own data source.
type Given struct {
	// Key names this giving in the process that holds the source, never 0: by it the group goes back as it came.
	Key uint64
	// Group is the source's identity of the group, at least 0.
	Group int64
	// Of and Parents have, for each sample, the group that it says it is of and its own identity; negative is none.
	Of, Parents []int64
	// Digest identifies the content of Rows, the prompt as the workers get it, opaque to the ledger.
	Digest [16]byte
	Rows   []byte
	// Problem says why the source's process could not make rows of it, else empty: then it is failed data.
	Problem string
}

func (g *Given) id() PushID { return NamePush(binary.AppendVarint(nil, g.Group)) }

// Return is a group on its way back to a pulled source.
type Return struct {
	Group int64
	// Key is that of the giving that it goes back by.
	Key uint64
}

// CheckGiven says whether the answer of a pulled source to a question for some groups can be taken. One that cannot is to go
// back to the source whole, each group once. Errors: ErrSource (too few or too many groups; one twice, or one that it gave
// already and that did not go back; other content than before; no identity or rows; too much at once).
func (l *Ledger) CheckGiven(asked int, given []Given) error {
	if n := len(given); n > asked || n > 0 && n < asked {
		return fmt.Errorf("%w: it gave %d groups when it was asked for %d; let get_samples(n) give n groups, or none when it has no more", ErrSource, n, asked)
	}
	seen := map[int64]bool{}
	size := 0
	for i := range given {
		g := &given[i]
		known := l.stream.byID[g.id()]
		size += len(g.Rows)
		switch {
		case g.Group < 0:
			return fmt.Errorf("%w: group %d of %d in its answer has no identity; give every group one of its own, at least 0", ErrSource, i, len(given))
		case seen[g.Group]:
			return fmt.Errorf("%w: group %d is in its answer twice; give every group once", ErrSource, g.Group)
		case len(g.Rows) == 0:
			return fmt.Errorf("%w: group %d has no prompt", ErrSource, g.Group)
		case known == nil:
		case !l.isAway(known.group) && l.keys[known.group] != 0:
			return fmt.Errorf("%w: group %d was given before: %s; give every group under an identity of its own, and again only after it went back by add_samples", ErrSource, g.Group, l.fate(known.group, l.Find(known.group)))
		case known.Digest != g.Digest:
			return fmt.Errorf("%w: group %d came back with content %x, it was given with %x before; leave what add_samples gets as it is", ErrSource, g.Group, g.Digest[:4], known.Digest[:4])
		}
		seen[g.Group] = true
	}
	if size > maxPush {
		return fmt.Errorf("%w: %d groups of %d bytes; at most %d go at once: give smaller prompts", ErrSource, len(given), size, maxPush)
	}
	return nil
}

// Take makes an answer that CheckGiven has accepted the run's: what is new gets its numbers, what had gone back can be reserved
// again, and what only an earlier life of the owner was given is dropped: the ledger has it. An empty one says that the source has nothing more: what had gone back to it and did not come again is given out from
// the ledger's own rows. cursor is where the source is now. The entry goes to every trainer's log.
func (l *Ledger) Take(given []Given, cursor []byte) Entry {
	rec := &record{kind: recordPull, source: slices.Clone(cursor), first: l.stream.arrived}
	parents := map[int64]int64{}
	for i := range given {
		g := &given[i]
		delete(l.owed, g.Group)
		if known := l.stream.byID[g.id()]; known != nil {
			if !l.isAway(known.group) {
				l.spare = append(l.spare, g.Key)
				continue
			}
			delete(l.away, known.group)
			l.replay.add(known.group, known.group+1)
			l.keys[known.group] = g.Key
			continue
		}
		l.keys[l.stream.arrived] = g.Key
		p := Push{ID: g.id(), Digest: g.Digest, Rows: g.Rows, Wrong: l.wrong(g, parents)}
		rec.pushes = append(rec.pushes, p)
		l.stream.add(&pushed{Push: p, group: l.stream.arrived})
	}
	if len(l.owed) > 0 {
		rec.source = l.stream.cursor
	}
	l.stream.cursor = rec.source
	if l.drained = len(given) == 0; l.drained {
		for group := range l.away {
			l.replay.add(group, group+1)
		}
		clear(l.away)
	}
	return l.write(rec)
}

// Owe remembers the groups of an answer that cannot be taken. Until the source has given them again, a later life has to look for
// them where it was before it gave them.
func (l *Ledger) Owe(given []Given) {
	for i := range given {
		if g := &given[i]; g.Group >= 0 && l.stream.byID[g.id()] == nil {
			l.owed[g.Group] = struct{}{}
		}
	}
}

// wrong says why a group cannot be generated, empty when it can: it must have exactly its own parents. parents has those of the
// groups before it in the same answer, with the group that has each.
func (l *Ledger) wrong(g *Given, parents map[int64]int64) string {
	if g.Problem != "" {
		return fmt.Sprintf("group %d of the source: %s", g.Group, g.Problem)
	}
	if len(g.Parents) != l.groupSize || len(g.Of) != l.groupSize {
		return fmt.Sprintf("group %d of the source has %d of %d parents: %v; give group_size samples in each group", g.Group, len(g.Parents), l.groupSize, g.Parents)
	}
	for i, parent := range g.Parents {
		before, known := parents[parent]
		switch {
		case g.Of[i] != g.Group:
			return fmt.Sprintf("group %d of the source: its sample %d says that it is of group %d; give every group its own samples", g.Group, parent, g.Of[i])
		case parent < 0:
			return fmt.Sprintf("group %d of the source: sample %d of %d has no identity: %v; number the samples", g.Group, i, l.groupSize, g.Parents)
		case known && before == g.Group:
			return fmt.Sprintf("group %d of the source has sample %d twice: %v; give every sample an identity of its own", g.Group, parent, g.Parents)
		case known:
			return fmt.Sprintf("group %d of the source has sample %d of group %d: %v; give every sample an identity of its own", g.Group, parent, before, g.Parents)
		}
		parents[parent] = g.Group
	}
	return ""
}

// Wrong says why a group must not be generated, empty when it may.
func (l *Ledger) Wrong(g *Group) string {
	if l.stream != nil && l.stream.pulled {
		if p := l.stream.find(g.id); p != nil {
			return p.Wrong
		}
	}
	return ""
}

// Refuse settles a RESERVED group as failed data, before anything was generated.
func (l *Ledger) Refuse(g *Group) { l.fail(g) }

// Returns are the groups that go back to a pulled source, by group; those that could not go back are among them after RetryReturns.
func (l *Ledger) Returns() []Return {
	if l.counts[Returning] == 0 {
		return nil
	}
	var out []Return
	for _, g := range l.Groups() {
		if g.state == Returning {
			out = append(out, Return{Group: g.id, Key: l.keys[g.id]})
		}
	}
	slices.SortFunc(out, func(a, b Return) int { return int(a.Group - b.Group) })
	return out
}

// Returned says whether a group that was to go back to a pulled source did. One that did not is still owned, as
// ROLLBACK_FAILED. A group that does not go back is ignored.
func (l *Ledger) Returned(group int64, back bool) {
	g := l.Find(group)
	switch {
	case g == nil || g.state != Returning:
	case back:
		l.drained = false
		l.becomeAway(g)
	default:
		l.move(g, RollbackFailed)
	}
}

// RetryReturns lets the groups that could not go back try again. It reports whether there are any.
func (l *Ledger) RetryReturns() bool {
	if l.counts[RollbackFailed] == 0 {
		return false
	}
	for _, g := range l.Groups() {
		if g.state == RollbackFailed {
			l.move(g, Returning)
		}
	}
	return true
}

// Settlements counts what has settled or gone back to the source: it changes with each settlement.
func (l *Ledger) Settlements() int64 { return l.settled.len() + l.requeued }

// PullCursor is where a pulled source was after what it gave last, nil before that.
func (l *Ledger) PullCursor() []byte { return l.stream.cursor }

// Drained reports whether a pulled source had nothing more when it was asked last, and got nothing back since.
func (l *Ledger) Drained() bool { return l.drained }

// Full reports whether the run keeps as many rows as it may until a saved state.
func (l *Ledger) Full() bool { return l.stream.held >= maxHeld }

// LetGoKeys returns the givings that nobody needs to keep, each once: their groups have settled in a saved state, or were known.
func (l *Ledger) LetGoKeys() []uint64 {
	out := l.spare
	l.spare = nil
	slices.Sort(out)
	return out
}

// spareSettled lets go of the givings whose groups have settled in a saved state.
func (l *Ledger) spareSettled(settled *ranges) {
	for group, key := range l.keys {
		if settled.contains(group) {
			l.spare = append(l.spare, key)
			delete(l.keys, group)
		}
	}
}

func (l *Ledger) isAway(group int64) bool {
	_, away := l.away[group]
	return away
}

// replayPull takes an entry of what a pulled source gave.
func (l *Ledger) replayPull(rec *record) error {
	if l.stream == nil || !l.stream.pulled {
		return fmt.Errorf("%w: log entry %d is of a framework's own data source, the source is none", ErrState, rec.index)
	}
	if err := l.replayPush(rec); err != nil {
		return err
	}
	l.stream.cursor = rec.source
	return nil
}
