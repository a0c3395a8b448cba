package sidecar

import (
	"fmt"

	"outrider/bridge"
	"outrider/bridge/wire"
)

// fetchBatch is how many descriptors one answer carries, well below the kernel's 253.
const fetchBatch = 64

// serveFetches answers other sidecars of this host until the listener closes.
func (p *Process) serveFetches() {
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			return
		}
		go p.serveFetcher(conn)
	}
}

func (p *Process) serveFetcher(conn *bridge.Conn) {
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
			out, err = p.segments.share(fetch.GetToken(), fetch.GetSegments())
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

// fetch gets descriptors of segments from their holder on this host, in the order of ids; the caller closes them.
// It blocks: never call it from a loop.
func (p *Process) fetch(token string, from *wire.Endpoint, ids []*wire.SegmentId) ([]int, error) {
	if from.GetHost() != p.host {
		return nil, bridge.NewError(bridge.Unsupported, fmt.Sprintf(
			"outrider: session %016x is on another host (%s, this is %s); keep a run's workers and trainers on one host", from.GetSession(), from.GetHost(), p.host))
	}
	conn, err := bridge.Dial(from.GetSocket())
	if err != nil {
		return nil, bridge.NewError(bridge.Revoked, fmt.Sprintf("outrider: session %016x holds data of this batch and cannot be reached (%v); take the rollout again", from.GetSession(), err))
	}
	defer conn.Close()
	var all []int
	for len(ids) > 0 {
		n := min(len(ids), fetchBatch)
		fds, err := fetchOnce(conn, token, ids[:n])
		if err != nil {
			bridge.CloseDescriptors(all)
			return nil, err
		}
		all = append(all, fds...)
		ids = ids[n:]
	}
	return all, nil
}

func fetchOnce(conn *bridge.Conn, token string, ids []*wire.SegmentId) ([]int, error) {
	question := &wire.Frame{Id: 1, Body: &wire.Frame_Fetch{Fetch: &wire.Fetch{Token: token, Segments: ids}}}
	if err := conn.Send(question); err != nil {
		return nil, bridge.NewError(bridge.Revoked, fmt.Sprintf("outrider: the holder of this batch's data has gone (%v); take the rollout again", err))
	}
	answer, fds, err := conn.Receive()
	if err != nil {
		return nil, bridge.NewError(bridge.Revoked, fmt.Sprintf("outrider: the holder of this batch's data has gone (%v); take the rollout again", err))
	}
	if e := answer.GetError(); e != nil {
		bridge.CloseDescriptors(fds)
		return nil, bridge.FromWire(e)
	}
	if len(fds) != len(ids) {
		bridge.CloseDescriptors(fds)
		return nil, bridge.NewError(bridge.Internal, fmt.Sprintf("outrider: %d descriptors for %d segments", len(fds), len(ids)))
	}
	return fds, nil
}
