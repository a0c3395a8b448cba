package sidecar

import (
	"fmt"
	"sync"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/unix"

	"outrider/arrowio"
	"outrider/bridge"
	"outrider/bridge/wire"
)

// segments holds what this process made and others may fetch. A segment is never used again for other data: its memory goes with
// the last descriptor or mapping of it, anywhere.
type segments struct {
	log hclog.Logger

	mu     sync.Mutex // guards below; fetches are answered outside the loop
	held   map[segmentKey]*held
	tokens map[string]bool // of the runs that this process belongs to
}

type segmentKey struct {
	holder uint64
	number uint64
}

type held struct {
	segment *arrowio.Segment
	uses    int // executions with rows in it
}

func newSegments(log hclog.Logger) *segments {
	return &segments{log: log, held: map[segmentKey]*held{}, tokens: map[string]bool{}}
}

// admitToken lets the sidecars of a run fetch.
func (s *segments) admitToken(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokens[token] = true
}

// hold takes a segment over for uses executions.
func (s *segments) hold(holder, number uint64, segment *arrowio.Segment, uses int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held[segmentKey{holder, number}] = &held{segment, uses}
}

// keep takes over what another process of this host has made, for uses executions more.
func (s *segments) keep(key segmentKey, segment *arrowio.Segment, uses int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.held[key]; h != nil {
		h.uses += uses
	} else if uses > 0 {
		s.held[key] = &held{segment, uses}
		return
	}
	segment.Close()
}

// full reports whether segments take half of the descriptors that this process may have.
func (s *segments) full() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	var limit unix.Rlimit
	return unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) == nil && uint64(len(s.held)) >= limit.Cur/2
}

// admits reports whether a token is of a run that this process belongs to.
func (s *segments) admits(token string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tokens[token]
}

// release ends one use and closes the segment with the last.
func (s *segments) release(holder, number uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := segmentKey{holder, number}
	h := s.held[key]
	if h == nil {
		return
	}
	if h.uses--; h.uses > 0 {
		return
	}
	delete(s.held, key)
	if err := h.segment.Close(); err != nil {
		s.log.Warn("segment not closed", "segment", number, "error", err)
	}
}

// releaseAll closes every segment of a holder.
func (s *segments) releaseAll(holder uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, h := range s.held {
		if key.holder == holder {
			delete(s.held, key)
			h.segment.Close()
		}
	}
}

// share returns descriptors of the segments, the caller's to close. One that is not here is an error that names it.
func (s *segments) share(token string, ids []*wire.SegmentId) ([]int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.tokens[token] {
		return nil, bridge.NewError(bridge.Refused, "outrider: fetch with a token of another run; join the run first")
	}
	var fds []int
	for _, id := range ids {
		h := s.held[keyOf(id)]
		if h == nil {
			bridge.CloseDescriptors(fds)
			return nil, bridge.NewError(bridge.Revoked, fmt.Sprintf(
				"outrider: segment %d of session %016x is not held any more; take the rollout again", id.GetNumber(), id.GetHolder()))
		}
		fd, err := duplicate(h.segment.Fd())
		if err != nil {
			bridge.CloseDescriptors(fds)
			return nil, err
		}
		fds = append(fds, fd)
	}
	return fds, nil
}

// duplicate returns another descriptor of the same memory.
func duplicate(fd int) (int, error) {
	own, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("outrider: duplicate descriptor %d: %w", fd, err)
	}
	return own, nil
}
