package sidecar

import (
	"errors"
	"fmt"

	"outrider/bridge"
	"outrider/bridge/wire"
)

// fetchBatch is how many descriptors one answer carries, well below the kernel's 253.
const fetchBatch = 64

// serveFetches answers other sidecars of this host until the listener closes.
func (p *Process) serveFetches() {
	serveAll(p.listener, func(fetch *wire.Fetch) ([]int, error) { return p.segments.share(fetch.GetToken(), fetch.GetSegments()) })
}

// serveAll answers fetches with the descriptors that give gives, until the listener closes.
func serveAll(listener *bridge.Listener, give func(*wire.Fetch) ([]int, error)) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		go serveFetcher(conn, give)
	}
}

func serveFetcher(conn *bridge.Conn, give func(*wire.Fetch) ([]int, error)) {
	defer conn.Close()
	for {
		frame, fds, err := conn.Receive()
		bridge.CloseDescriptors(fds)
		if err != nil {
			return
		}
		answer := &wire.Frame{Id: frame.GetId(), Answer: true}
		fetch := frame.GetFetch()
		var out []int
		switch {
		case fetch == nil || len(fetch.GetSegments()) > fetchBatch:
			err = bridge.NewError(bridge.Refused, fmt.Sprintf("outrider: a fetch of %d segments, the limit is %d", len(fetch.GetSegments()), fetchBatch))
		default:
			out, err = give(fetch)
		}
		if err != nil {
			answer.Error = bridge.ToWire(err)
		} else {
			answer.Body = &wire.Frame_Fetched{Fetched: &wire.Fetched{Segments: fetch.GetSegments()}}
		}
		err = conn.Send(answer, out...)
		bridge.CloseDescriptors(out)
		if err != nil {
			return
		}
	}
}

// fetch gets descriptors of segments that a rollout needs from their holder, in the order of ids; the caller closes them. A holder that seems to be on
// this host and cannot be reached here is asked as one on another. It blocks: never call it from a loop.
func (p *Process) fetch(access bridge.Access, from *wire.Endpoint, ids []*wire.SegmentId, rollout int64) ([]int, error) {
	if from.GetHost() != p.host {
		return p.fetchFar(access, from, ids, rollout)
	}
	fds, err := p.fetchNear(access.Token, from, ids)
	if errors.Is(err, errUnreachable) && from.GetAddress() != "" {
		return p.fetchFar(access, from, ids, rollout)
	}
	return fds, err
}

func (p *Process) fetchNear(token string, from *wire.Endpoint, ids []*wire.SegmentId) ([]int, error) {
	peer := p.peers.of(from.GetSocket())
	peer.mu.Lock()
	defer peer.mu.Unlock()
	var all []int
	for len(ids) > 0 {
		n := min(len(ids), fetchBatch)
		fds, err := peer.fetch(&wire.Fetch{Token: token, Segments: ids[:n]})
		if err != nil {
			bridge.CloseDescriptors(all)
			return nil, err
		}
		all = append(all, fds...)
		ids = ids[n:]
	}
	return all, nil
}
