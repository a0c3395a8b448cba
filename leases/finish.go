package leases

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
)

// Finished says what an outcome made of its group.
type Finished struct {
	// Group is set with State Terminal.
	Group *Group
	// State is Terminal, Requeued, Failed or Discarded; of a repeated report, what the first led to.
	State State
	// Repeated is set when the same report came before: nothing changed.
	Repeated bool
}

// Rules are what an outcome is held against.
type Rules struct {
	// MaxAttempts is how many data attempts a group has.
	MaxAttempts int
	// Newest is the newest weight version that data may name. Above it, up to Sent, are versions that were sent and never
	// announced, or undone: their data is void, which is not its own fault.
	Newest, Sent int64
}

// Finish ends an execution by its terminal receipt r + o.
// Errors: ErrStale (nothing changes), ErrConflict (reported before, otherwise), ErrRefused (not a terminal receipt),
// ErrData (the data is not the group's; it counts as a failure and the Finished value holds).
func (l *Ledger) Finish(r Receipt, o *Outcome, rules Rules) (Finished, error) {
	print := o.fingerprint()
	g, err := l.Lookup(r)
	if err != nil {
		if seen, ok := l.outcomes.find(r); ok && seen.state != Free {
			return l.again(r, print, seen.print, seen.state)
		}
		return Finished{}, err
	}
	if g.state != Executing {
		return l.again(r, print, g.print, g.state)
	}
	switch {
	case o.Kind < Success || o.Kind > Discard:
		return Finished{}, fmt.Errorf("%w: %s: outcome kind %d does not exist", ErrRefused, r, o.Kind)
	case o.Kind == Success && (o.Handle == 0 || o.Digest == [32]byte{}):
		return Finished{}, fmt.Errorf("%w: %s: a success without data or digest is no terminal receipt; seal the data and report its digest", ErrRefused, r)
	}
	g.print = print
	kind, wrong := o.Kind, error(nil)
	if kind == Success {
		if wrong = l.unfit(r, o, rules); wrong == nil && l.source.Keyed {
			wrong = l.rows.check(r.Group, l.source.Row(r.Group), o.Row)
		}
		switch {
		case wrong != nil:
			kind = Failure
		case o.Aborted > 0, o.HasVersions && o.MaxVersion > rules.Newest:
			kind = Retry
		}
	}
	switch kind {
	case Success:
		l.becomeTerminal(g, o)
		return Finished{Group: g, State: Terminal}, nil
	case Retry:
		l.outcomes.add(r, print, Requeued)
		l.becomeRequeued(g, g.failures, g.losses)
		return Finished{State: Requeued}, nil
	case Discard:
		l.outcomes.add(r, print, Discarded)
		l.discard(g, o.Reason, l.last+1)
		return Finished{State: Discarded}, nil
	}
	if int(g.failures)+1 < rules.MaxAttempts {
		l.outcomes.add(r, print, Requeued)
		l.becomeRequeued(g, g.failures+1, g.losses)
		return Finished{State: Requeued}, wrong
	}
	l.outcomes.add(r, print, Failed)
	l.fail(g)
	return Finished{State: Failed}, wrong
}

// LetGo remembers that a report was refused as stale and its data let go, so that the execution is never adopted by what its worker
// still holds.
func (l *Ledger) LetGo(r Receipt, o *Outcome) { l.outcomes.add(r, o.fingerprint(), Free) }

func (l *Ledger) again(r Receipt, print, before uint64, state State) (Finished, error) {
	if print != before {
		return Finished{}, fmt.Errorf("%w: %s was reported before with another outcome; the first counts", ErrConflict, r)
	}
	return Finished{State: state, Repeated: true}, nil
}

// unfit says why data is not what the execution was to make.
func (l *Ledger) unfit(r Receipt, o *Outcome, rules Rules) error {
	if err := l.parents(r, o); err != nil {
		return err
	}
	if o.Tokens < 0 || o.Tokens > mostTokens || o.Bytes < 0 || o.Bytes > MostBytes {
		return fmt.Errorf("%w: group %d: its data is said to have %d tokens in %d bytes; report what the sealed data has, from 0 to %d and %d", ErrData, r.Group, o.Tokens, o.Bytes, mostTokens, MostBytes)
	}
	if n := len(o.Failed); n > 0 {
		return fmt.Errorf("%w: group %d: the sample in slot %d has status \"failed\" (%d of %d samples have): such a group is not trained; raise Retry "+
			"for what is not the data's fault; to keep a bad sample say \"completed\" with a loss_mask of 0, or \"truncated\" where its length was cut", ErrData, r.Group, o.Failed[0], n, len(o.Slots))
	}
	if err := versions(r, o, rules); err != nil {
		return err
	}
	return l.columns.check(r.Group, o.Columns)
}

// mostTokens and MostBytes are more than any group has: what adds them up does not overflow.
const (
	mostTokens = int64(1) << 40
	MostBytes  = int64(1) << 50
)

// parents checks that the samples are the group's own: every parent slot has at least one, and none is another's.
func (l *Ledger) parents(r Receipt, o *Outcome) error {
	if o.Parents != nil && len(o.Parents) != len(o.Slots) {
		return fmt.Errorf("%w: group %d: %d samples have parent slots, %d have parent identities", ErrData, r.Group, len(o.Slots), len(o.Parents))
	}
	seen := make([]bool, 64)
	if l.groupSize > len(seen) {
		seen = make([]bool, l.groupSize)
	}
	missing := l.groupSize
	for i, slot := range o.Slots {
		if slot < 0 || int(slot) >= l.groupSize {
			return fmt.Errorf("%w: group %d: sample %d is of parent slot %d; slots are 0 to %d", ErrData, r.Group, i, slot, l.groupSize-1)
		}
		if o.Parents != nil && o.Parents[i] != r.Group {
			return fmt.Errorf("%w: group %d: the sample in slot %d carries the identity of group %d instead of %d", ErrData, r.Group, slot, o.Parents[i], r.Group)
		}
		if !seen[slot] {
			seen[slot] = true
			missing--
		}
	}
	if missing > 0 {
		for slot := range l.groupSize {
			if !seen[slot] {
				return fmt.Errorf("%w: group %d: parent slot %d has no sample (%d of %d slots are empty); return a sample for every slot, or retry", ErrData, r.Group, slot, missing, l.groupSize)
			}
		}
	}
	return nil
}

// versions checks that the weights that the data names exist.
func versions(r Receipt, o *Outcome, rules Rules) error {
	switch {
	case !o.HasVersions:
		return nil
	case o.MinVersion < 0 || o.MinVersion > o.MaxVersion:
		return fmt.Errorf("%w: group %d: its samples name weight versions from %d to %d; give versions from 0 on, the oldest first", ErrData, r.Group, o.MinVersion, o.MaxVersion)
	case o.MaxVersion > max(rules.Newest, rules.Sent):
		return fmt.Errorf("%w: group %d: a sample names weight version %d, the newest that was announced or sent is %d; give the version that update_weights sent", ErrData, r.Group, o.MaxVersion, max(rules.Newest, rules.Sent))
	}
	return nil
}

// fingerprint tells two outcomes of one execution apart.
func (o *Outcome) fingerprint() uint64 {
	h := fnv.New64a()
	var b [26]byte
	b[0] = byte(o.Kind)
	binary.LittleEndian.PutUint64(b[1:], uint64(o.Tokens))
	binary.LittleEndian.PutUint64(b[9:], uint64(len(o.Slots)))
	h.Write(b[:])
	h.Write(o.Digest[:])
	h.Write([]byte(o.Reason))
	return h.Sum64()
}
