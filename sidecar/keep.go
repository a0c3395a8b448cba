package sidecar

import (
	"fmt"

	"golang.org/x/sys/unix"

	"outrider/arrowio"
	"outrider/bridge"
	"outrider/bridge/wire"
)

// kept is one finished execution of a worker of another process of this host: its data is here as well, and stays when the worker
// is lost.
type kept struct {
	held   *wire.Held
	saying int // words to the owner that have no answer yet
}

// keepSegments takes what another sidecar hands over. It blocks until the owner has heard of it: never call it from a loop.
func (p *Process) keepSegments(keep *wire.Keep, fds []int) error {
	segments, err := p.openKept(keep, fds)
	if err != nil {
		return err
	}
	said := make(chan error, 1)
	if !p.loop.post(func() { p.keep(keep, segments, func(err error) { said <- err }) }) {
		closeAll(segments)
		return errUnreachable
	}
	return <-said
}

// openKept sees that the word is one of this run and that what came is whole. It owns the descriptors.
func (p *Process) openKept(keep *wire.Keep, fds []int) (segments map[segmentKey]*arrowio.Segment, err error) {
	segments = map[segmentKey]*arrowio.Segment{}
	defer func() {
		if err != nil {
			bridge.CloseDescriptors(fds)
			closeAll(segments)
		}
	}()
	switch ids := keep.GetSegments(); {
	case !p.segments.admits(keep.GetToken()):
		return nil, bridge.NewError(bridge.Refused, "outrider: segments to keep with a token of another run; join the run first")
	case len(ids) != len(fds) || len(ids) > fetchBatch:
		return nil, bridge.NewError(bridge.Refused, fmt.Sprintf("outrider: %d descriptors of %d segments to keep; send one for each, at most %d", len(fds), len(ids), fetchBatch))
	case p.segments.full():
		return nil, bridge.NewError(bridge.Refused, "outrider: half of the descriptors that this process may have are segments; raise ulimit -n to have more kept")
	}
	for _, id := range keep.GetSegments() {
		fd := fds[0]
		fds = fds[1:]
		key := keyOf(id)
		if segments[key] != nil {
			unix.Close(fd)
			return nil, bridge.NewError(bridge.Refused, fmt.Sprintf("outrider: segment %d of session %016x came twice to be kept; send it once", key.number, key.holder))
		}
		segment, err := arrowio.Open(fd)
		if err != nil {
			return nil, named(err)
		}
		segments[key] = segment
	}
	for _, held := range keep.GetHeld() {
		at := held.GetOutcome().GetLocator()
		if segment := segments[keyOf(at.GetSegment())]; segment == nil || held.GetOutcome().GetKind() != "success" || at.GetFirstRow() < 0 || at.GetRows() < 1 || at.GetFirstRow() > segment.Rows()-at.GetRows() {
			return nil, bridge.NewError(bridge.Refused, fmt.Sprintf("outrider: group %d cannot be kept: it names rows that did not come with it", held.GetReceipt().GetGroup()))
		}
	}
	return segments, nil
}

func closeAll(segments map[segmentKey]*arrowio.Segment) {
	for _, segment := range segments {
		segment.Close()
	}
}

// keep files what came with the member that it is for, which tells the owner.
func (p *Process) keep(keep *wire.Keep, segments map[segmentKey]*arrowio.Segment, said func(error)) {
	var m *member
	for _, own := range p.members {
		if own.session == keep.GetKeeper() && own.ended == nil {
			m = own
		}
	}
	if m == nil {
		closeAll(segments)
		said(bridge.NewError(bridge.Closed, fmt.Sprintf("outrider: session %016x, which was to keep segments, has ended", keep.GetKeeper())))
		return
	}
	uses := map[segmentKey]int{}
	word := make([]executionKey, 0, len(keep.GetHeld()))
	for _, held := range keep.GetHeld() {
		key := executionOf(held.GetReceipt())
		if m.keeps[key] == nil {
			m.keeps[key] = &kept{held: held}
			uses[keyOf(held.GetOutcome().GetLocator().GetSegment())]++
		}
		word = append(word, key)
	}
	for key, segment := range segments {
		p.segments.keep(key, segment, uses[key])
	}
	m.sayKept(word, said)
}

// sayKept tells the owner what is kept here, and where other hosts can read it; said hears when it knows.
func (m *member) sayKept(word []executionKey, said func(error)) {
	frame := &wire.Kept{Address: m.p.flights.address(routeTo(m.join.GetAddress()), m.access)}
	for _, key := range word {
		k := m.keeps[key]
		k.saying++
		frame.Held = append(frame.Held, k.held)
	}
	m.ask(&wire.Frame{Body: &wire.Frame_Kept{Kept: frame}}, func(answer *wire.Frame) {
		unkept := map[executionKey]bool{}
		for _, receipt := range answer.GetUnkept().GetReceipts() {
			unkept[executionOf(receipt)] = true
		}
		for _, key := range word {
			if k := m.keeps[key]; k != nil {
				// One that came again meanwhile is spoken of by a later word.
				if k.saying--; k.saying == 0 && unkept[key] {
					m.unkeep(key)
				}
			}
		}
		said(bridge.FromWire(answer.GetError()))
	})
}

// sayKeptAgain tells another life of the owner, or the same one after a cut, everything that is kept here.
func (m *member) sayKeptAgain() {
	if len(m.keeps) == 0 {
		return
	}
	word := make([]executionKey, 0, len(m.keeps))
	for key := range m.keeps {
		word = append(word, key)
	}
	m.sayKept(word, func(error) {})
}

// unkeep lets go of one execution that is kept here.
func (m *member) unkeep(key executionKey) {
	if k := m.keeps[key]; k != nil {
		delete(m.keeps, key)
		segment := k.held.GetOutcome().GetLocator().GetSegment()
		m.p.segments.release(segment.GetHolder(), segment.GetNumber())
	}
}

func executionOf(r *wire.Receipt) executionKey { return executionKey{r.GetExecution(), r.GetWorker()} }
