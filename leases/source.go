package leases

import (
	"fmt"
)

// maxGroups bounds the groups of a run, so that sample indices and sums stay far from overflow.
const maxGroups = int64(1) << 42

// Source describes an ordered supply of prompt groups by what a run would consume of it.
type Source struct {
	// Len is the number of rows (one row = one prompt) in one epoch, at least 1.
	Len int64
	// Epochs bounds the run; 0 is endless.
	Epochs int64
	// Shuffle orders each epoch by a permutation of its own, computed from Seed and the epoch.
	Shuffle bool
	Seed    uint64
	// Keyed rows are made by workers from their index; each report says what its worker made.
	Keyed bool
	// Stream rows are pushed while the run goes on: see StreamSource.
	Stream bool
	// Pulled rows of a stream are given by a framework's own data source when it is asked: see PulledSource.
	Pulled bool
	// Identity is a digest of the rows' content. A moved file with equal content has an equal identity. Of a keyed source
	// it is a digest of the name that the user gives the content, and of no table.
	Identity [32]byte
}

// StreamSource describes a supply without a length of its own: groups are numbered as they arrive.
func StreamSource(identity [32]byte) Source {
	return Source{Stream: true, Len: maxGroups, Epochs: 1, Identity: identity}
}

// PulledSource describes a framework's own data source: groups are numbered as it gives them, and what is requeued goes back to
// it.
func PulledSource(identity [32]byte) Source {
	s := StreamSource(identity)
	s.Pulled = true
	return s
}

// kind names the source in messages.
func (s Source) kind() string {
	switch {
	case s.Pulled:
		return "a framework's own data source"
	case s.Stream:
		return "a stream"
	}
	return "rows that are there from the start"
}

// Row returns the index of a group's row, 0..Len-1. O(1) in time and memory.
func (s Source) Row(group int64) int64 {
	epoch, position := group/s.Len, group%s.Len
	if !s.Shuffle {
		return position
	}
	return permute(s.Len, position, s.Seed, uint64(epoch))
}

// total is the number of groups in the whole run.
func (s Source) total() int64 {
	if s.Epochs == 0 || s.Len > maxGroups/s.Epochs {
		return maxGroups
	}
	return s.Len * s.Epochs
}

// more is how many groups of the epoch after the last one a run may reserve.
func (s Source) more(nextEpoch bool) int64 {
	if !nextEpoch || s.Stream || s.Epochs == 0 || s.total() > maxGroups-s.Len {
		return 0
	}
	return s.Len
}

// Problems lists what makes the source unusable, each with its number and the least that works.
func (s Source) Problems() []string {
	var out []string
	switch {
	case s.Len < 1:
		out = append(out, fmt.Sprintf("source has %d rows: nothing could ever be reserved; give at least 1 row", s.Len))
	case s.Len > maxGroups:
		out = append(out, fmt.Sprintf("source has %d rows; at most %d are possible", s.Len, maxGroups))
	}
	if s.Stream && (s.Len != maxGroups || s.Epochs != 1 || s.Shuffle || s.Keyed) {
		out = append(out, "a stream has no length, epochs, or order; leave them out")
	}
	if s.Epochs < 0 {
		out = append(out, fmt.Sprintf("epochs=%d is negative; give 0 for an endless run or at least 1", s.Epochs))
	}
	return out
}

// differs says which parts of s are not as the saved source was; empty when a run would consume the same.
func (s Source) differs(saved Source) []string {
	if s.kind() != saved.kind() {
		return []string{fmt.Sprintf("kind: %s, the state was made with %s", s.kind(), saved.kind())}
	}
	var out []string
	if s.Identity != saved.Identity {
		out = append(out, fmt.Sprintf("content: identity %x, the state was made with %x", s.Identity[:4], saved.Identity[:4]))
	}
	if s.Len != saved.Len {
		out = append(out, fmt.Sprintf("size: %d rows, the state was made with %d", s.Len, saved.Len))
	}
	if s.Shuffle != saved.Shuffle {
		out = append(out, fmt.Sprintf("order: shuffle=%t, the state was made with %t", s.Shuffle, saved.Shuffle))
	}
	if s.Shuffle && saved.Shuffle && s.Seed != saved.Seed {
		out = append(out, fmt.Sprintf("seed: %d, the state was made with %d", s.Seed, saved.Seed))
	}
	return out
}
