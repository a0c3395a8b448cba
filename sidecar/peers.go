package sidecar

import (
	"errors"
	"fmt"
	"maps"
	"sync"

	"outrider/bridge"
	"outrider/bridge/wire"
)

// errUnreachable: nobody answers at a socket of this host. It stands before the error that says so to a person, and adds no words.
var errUnreachable = errors.New("")

// peers are the connections to other sidecars of this host, kept from one fetch to the next.
type peers struct {
	mu       sync.Mutex // guards bySocket
	bySocket map[string]*peer
}

// peer is one of them: it carries one question at a time.
type peer struct {
	socket string

	mu   sync.Mutex // guards conn; held while an answer is waited for, which comes or ends with the other process
	conn *bridge.Conn
}

func (p *peers) of(socket string) *peer {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bySocket[socket] == nil {
		if p.bySocket == nil {
			p.bySocket = map[string]*peer{}
		}
		// A process that ended has another socket when it comes back, so somebody new is the time to let go of who has gone.
		maps.DeleteFunc(p.bySocket, func(_ string, old *peer) bool { return old.gone() })
		p.bySocket[socket] = &peer{socket: socket}
	}
	return p.bySocket[socket]
}

// gone reports whether nobody asks and nobody is there to answer.
func (p *peer) gone() bool {
	if !p.mu.TryLock() {
		return false
	}
	defer p.mu.Unlock()
	if p.conn != nil && p.conn.Ended() {
		p.conn.Close()
		p.conn = nil
	}
	return p.conn == nil
}

// fetch asks for segments, at most fetchBatch; the descriptors are the caller's. A connection that was kept may have ended since, so
// that a new one is tried once. Call it with mu held.
func (p *peer) fetch(question *wire.Fetch) ([]int, error) {
	ids := question.GetSegments()
	kept := p.conn != nil
	answer, fds, err := p.ask(&wire.Frame{Id: 1, Body: &wire.Frame_Fetch{Fetch: question}})
	if err != nil && kept {
		answer, fds, err = p.ask(&wire.Frame{Id: 1, Body: &wire.Frame_Fetch{Fetch: question}})
	}
	if err != nil {
		return nil, fmt.Errorf("%w%w", errUnreachable, bridge.NewError(bridge.Revoked, fmt.Sprintf(
			"outrider: session %016x, which holds data of this batch, has gone (%v); take the rollout again", ids[0].GetHolder(), err)))
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

// tell says something that is answered by Done. One at a time.
func (p *peer) tell(word *wire.Frame, fds ...int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	answer, got, err := p.ask(word, fds...)
	bridge.CloseDescriptors(got)
	if err != nil {
		return err
	}
	return bridge.FromWire(answer.GetError())
}

// ask sends a question and reads its answer; an error ends the connection.
func (p *peer) ask(question *wire.Frame, with ...int) (answer *wire.Frame, fds []int, err error) {
	if p.conn == nil {
		if p.conn, err = bridge.Dial(p.socket); err != nil {
			return nil, nil, err
		}
	}
	if err = p.conn.Send(question, with...); err == nil {
		answer, fds, err = p.conn.Receive()
	}
	if err != nil {
		p.conn.Close()
		p.conn = nil
	}
	return answer, fds, err
}
