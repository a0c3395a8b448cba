package sidecar

import (
	"errors"
	"fmt"

	"outrider/bridge"
	"outrider/bridge/wire"
)

// fetchBatch is how many descriptors one answer carries, well below the kernel's 253.
const fetchBatch = 64

// serveNeighbours answers other processes of this host until the listener closes: sidecars that fetch or have something kept, and whoever looks at a run.
func (p *Process) serveNeighbours() {
	serveAll(p.listener, func(question *wire.Frame, fds []int) (*wire.Frame, []int, error) {
		if keep := question.GetKeep(); keep != nil {
			return &wire.Frame{Body: &wire.Frame_Done{Done: &wire.Done{}}}, nil, p.keepSegments(keep, fds)
		}
		bridge.CloseDescriptors(fds)
		if look := question.GetGetStatus(); look != nil {
			status, err := p.status(look.GetRun())
			return &wire.Frame{Body: &wire.Frame_Status_{Status_: status}}, nil, err
		}
		return giveFetched(question, func(fetch *wire.Fetch) ([]int, error) { return p.segments.share(fetch.GetToken(), fetch.GetSegments()) })
	})
}

// giveFetched answers a fetch with the descriptors that give gives.
func giveFetched(question *wire.Frame, give func(*wire.Fetch) ([]int, error)) (*wire.Frame, []int, error) {
	fetch := question.GetFetch()
	if fetch == nil || len(fetch.GetSegments()) > fetchBatch {
		return nil, nil, bridge.NewError(bridge.Refused, fmt.Sprintf("outrider: a fetch of %d segments, the limit is %d", len(fetch.GetSegments()), fetchBatch))
	}
	fds, err := give(fetch)
	return &wire.Frame{Body: &wire.Frame_Fetched{Fetched: &wire.Fetched{Segments: fetch.GetSegments()}}}, fds, err
}

// answerer answers a question, whose descriptors it owns, with a frame and descriptors that the caller closes, or with an error.
type answerer func(question *wire.Frame, fds []int) (*wire.Frame, []int, error)

// serveAll answers questions until the listener closes.
func serveAll(listener *bridge.Listener, answer answerer) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		go serveNeighbour(conn, answer)
	}
}

func serveNeighbour(conn *bridge.Conn, answer answerer) {
	defer conn.Close()
	for {
		question, fds, err := conn.Receive()
		if err != nil {
			bridge.CloseDescriptors(fds)
			return
		}
		frame, out, err := answer(question, fds)
		if err != nil {
			frame = &wire.Frame{Error: bridge.ToWire(err)}
		}
		frame.Id, frame.Answer = question.GetId(), true
		err = conn.Send(frame, out...)
		bridge.CloseDescriptors(out)
		if err != nil {
			return
		}
	}
}

// fetchEither gets segments from their holder, or else from their keeper, if there is one.
func (p *Process) fetchEither(access bridge.Access, holder, keeper *wire.Endpoint, ids []*wire.SegmentId, rollout int64) ([]int, error) {
	switch {
	case holder == nil:
		return p.fetch(access, keeper, ids, rollout)
	case keeper == nil:
		return p.fetch(access, holder, ids, rollout)
	}
	for _, from := range []*wire.Endpoint{holder, keeper} {
		// That somebody of this host has ended shows at once, over the network only after several tries.
		if from.GetHost() == p.host {
			if fds, err := p.fetchNear(access.Token, from, ids); err == nil {
				return fds, nil
			}
		}
	}
	fds, err := p.fetch(access, holder, ids, rollout)
	if err != nil {
		if fds, err := p.fetch(access, keeper, ids, rollout); err == nil {
			return fds, nil
		}
	}
	return fds, err
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
