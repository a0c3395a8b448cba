package sidecar

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"math"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v4"
	"golang.org/x/sys/unix"

	"outrider/bridge"
	"outrider/bridge/wire"
)

const (
	// shareTries is how often a fetch looks for its host's share, 30 ms in all: whoever had it may end at any time, and whoever has just
	// got its name does not listen yet.
	shareTries = 8
	// forever is the rollout of what is needed as long as its process lives.
	forever = math.MaxInt64
)

// shares are the holders of other hosts from which this process fetches for all sidecars of its own: each segment comes over the
// network once. Which process it is decides the kernel: an abstract socket's name can be had once, and is free when its process ends.
type shares struct {
	mu       sync.Mutex // guards byName
	byName   map[string]*share
	stopping bool
}

// share is one holder's.
type share struct {
	access   bridge.Access
	listener *bridge.Listener

	mu     sync.Mutex     // guards the rest; held while segments land, so that each does once
	from   *wire.Endpoint // as this process heard of it last
	landed map[segmentKey]*landed
	used   bool // since the last commit
	closed bool
}

// landed is a segment that others of this host may still ask for, until the rollout is committed: then every rank has its shard.
type landed struct {
	fd      int
	rollout int64
}

// shareName is known to those who have the run's token.
func shareName(token string, holder uint64) string {
	mac := hmac.New(sha256.New, []byte(token))
	_ = binary.Write(mac, binary.LittleEndian, holder) // a hash takes everything
	return bridge.SocketPrefix + hex.EncodeToString(mac.Sum(nil)[:16])
}

// fetchFar gets descriptors of segments of another host from this host's share of their holder, or makes it.
func (p *Process) fetchFar(access bridge.Access, from *wire.Endpoint, ids []*wire.SegmentId, rollout int64) ([]int, error) {
	if from.GetAddress() == "" {
		return nil, bridge.NewError(bridge.Unsupported, fmt.Sprintf(
			"outrider: session %016x is on another host (%s, this is %s) and has no Flight endpoint; see its sidecar's log for why", from.GetSession(), from.GetHost(), p.host))
	}
	var fds []int
	err := backoff.Retry(func() (err error) {
		if fds, err = p.fetchShared(access, from, ids, rollout); err != nil && !errors.Is(err, errUnreachable) {
			return backoff.Permanent(err)
		}
		return err
	}, backoff.WithMaxRetries(backoff.NewExponentialBackOff(backoff.WithInitialInterval(time.Millisecond)), shareTries-1))
	if !errors.Is(err, errUnreachable) {
		return fds, err
	}
	// A neighbour of another user has the name, or all of them keep ending.
	alone := &share{access: access}
	defer alone.close()
	return alone.get(from, ids, rollout)
}

// fetchShared asks whichever process of this host has the share, this one if there is none.
func (p *Process) fetchShared(access bridge.Access, from *wire.Endpoint, ids []*wire.SegmentId, rollout int64) ([]int, error) {
	s, err := p.shares.own(access, from)
	switch {
	case err != nil:
		return nil, err
	case s != nil:
		return s.get(from, ids, rollout)
	}
	return askShare(shareName(access.Token, from.GetSession()), access.Token, ids, rollout)
}

// own is this process's share of a holder, made if no process of this host has it; nil: another has.
func (s *shares) own(access bridge.Access, from *wire.Endpoint) (*share, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := shareName(access.Token, from.GetSession())
	if own := s.byName[name]; own != nil || s.stopping {
		return own, nil
	}
	listener, err := bridge.ListenAs(name)
	if errors.Is(err, unix.EADDRINUSE) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if s.byName == nil {
		s.byName = map[string]*share{}
	}
	own := &share{access: access, from: from, listener: listener}
	s.byName[name] = own
	go serveAll(listener, func(question *wire.Frame, fds []int) (*wire.Frame, []int, error) {
		bridge.CloseDescriptors(fds)
		return giveFetched(question, func(fetch *wire.Fetch) ([]int, error) {
			if !hmac.Equal([]byte(fetch.GetToken()), []byte(access.Token)) {
				return nil, bridge.NewError(bridge.Refused, "outrider: fetch with a token of another run; join the run first")
			}
			return own.get(nil, fetch.GetSegments(), fetch.GetRollout())
		})
	})
	return own, nil
}

// get gives descriptors of segments, the caller's to close; what is not here yet lands first.
func (s *share) get(from *wire.Endpoint, ids []*wire.SegmentId, rollout int64) ([]int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errUnreachable
	}
	if from != nil {
		s.from = from
	}
	s.used = true
	if s.landed == nil {
		s.landed = map[segmentKey]*landed{}
	}
	var missing []*wire.SegmentId
	for _, id := range ids {
		if s.landed[keyOf(id)] == nil {
			missing = append(missing, id)
		}
	}
	if len(missing) > 0 {
		fds, err := land(s.access, s.from, missing)
		if err != nil {
			return nil, err
		}
		for i, id := range missing {
			key := keyOf(id)
			if s.landed[key] != nil { // named twice in one question
				unix.Close(fds[i])
				continue
			}
			s.landed[key] = &landed{fd: fds[i]}
		}
	}
	var all []int
	for _, id := range ids {
		l := s.landed[keyOf(id)]
		l.rollout = max(l.rollout, rollout)
		fd, err := duplicate(l.fd)
		if err != nil {
			bridge.CloseDescriptors(all)
			return nil, err
		}
		all = append(all, fd)
	}
	return all, nil
}

func (s *share) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, l := range s.landed {
		unix.Close(l.fd)
	}
	s.landed = nil
	if s.listener != nil {
		s.listener.Close()
	}
}

// committed lets go of what no rank needs any more, and of shares that nobody has asked since the last time. It may wait for
// a segment that lands: never call it from a loop.
func (s *shares) committed(rollout int64) {
	s.mu.Lock()
	all := maps.Clone(s.byName)
	s.mu.Unlock()
	for name, own := range all {
		if own.committed(rollout) {
			continue
		}
		s.mu.Lock()
		delete(s.byName, name)
		s.mu.Unlock()
		own.close()
	}
}

// committed reports whether the share is of use still; if not it answers nobody from here on.
func (s *share) committed(rollout int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, l := range s.landed {
		if l.rollout <= rollout {
			unix.Close(l.fd)
			delete(s.landed, key)
		}
	}
	used := s.used || len(s.landed) > 0
	s.used, s.closed = false, !used
	return used
}

func (s *shares) stop() {
	s.mu.Lock()
	all := s.byName
	s.byName, s.stopping = nil, true
	s.mu.Unlock()
	for _, own := range all {
		own.close()
	}
}

// askShare asks the process of this host that has a share.
func askShare(name, token string, ids []*wire.SegmentId, rollout int64) (all []int, err error) {
	neighbour := &peer{socket: name}
	defer func() {
		if neighbour.conn != nil {
			neighbour.conn.Close()
		}
		if err != nil {
			bridge.CloseDescriptors(all)
			all = nil
		}
	}()
	for len(ids) > 0 {
		n := min(len(ids), fetchBatch)
		fds, err := neighbour.fetch(&wire.Fetch{Token: token, Segments: ids[:n], Rollout: rollout})
		if err != nil {
			return all, err
		}
		all, ids = append(all, fds...), ids[n:]
	}
	return all, nil
}
