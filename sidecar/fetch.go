package sidecar

import (
	"errors"
	"fmt"
	"slices"

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

// either gets something from its holder, or else from its keeper; nil is nobody. One of this host comes first, by near: that it has ended
// shows at once, over the network only after several tries. The error is that of the first one asked by far.
func either[T any](host string, holder, keeper *wire.Endpoint, near, far func(*wire.Endpoint) (T, error)) (out T, err error) {
	both := slices.DeleteFunc([]*wire.Endpoint{holder, keeper}, func(from *wire.Endpoint) bool { return from == nil })
	for _, from := range both {
		if len(both) > 1 && from.GetHost() == host {
			if out, err := near(from); err == nil {
				return out, nil
			}
		}
	}
	err = bridge.NewError(bridge.Revoked, "outrider: who held these rows is gone")
	for at, from := range both {
		got, failed := far(from)
		if failed == nil {
			return got, nil
		}
		if at == 0 {
			err = failed
		}
	}
	return out, err
}

// fetchEither gets segments from their holder, or else from their keeper, if there is one.
func (p *Process) fetchEither(access bridge.Access, holder, keeper *wire.Endpoint, ids []*wire.SegmentId, rollout int64) ([]int, error) {
	return either(p.host, holder, keeper,
		func(from *wire.Endpoint) ([]int, error) { return p.fetchNear(access.Token, from, ids) },
		func(from *wire.Endpoint) ([]int, error) { return p.fetch(access, from, ids, rollout) })
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
	if fds, ok := openHeld(from.GetPid(), ids); ok {
		return fds, nil
	}
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
