package sidecar

import (
	"time"

	"outrider/bridge"
	"outrider/bridge/wire"
)

const (
	// keepPause is how long a finished group waits to be handed over together with others. One that is trained within it never is.
	keepPause = 20 * time.Millisecond
	// handOverTimeout is how long a worker that leaves waits for its keeper.
	handOverTimeout = 5 * time.Second
)

// finished is an execution whose data is here.
type finished struct {
	segment uint64 // its number
	taken   bool   // the owner has the terminal receipt
}

// handover is how what a worker has finished gets to its keeper, one message at a time. It belongs to the Process's loop.
type handover struct {
	to     *peer // nil: there is no keeper
	keeper uint64
	due    []uint64 // executions that the keeper has not been given
	busy   bool     // a pause or a message is on
	failed bool     // and was reported, for this keeper
	leaves []func() // wait until nothing is due
}

// keepBy is the owner's word on who keeps what this worker has finished: all of that is due.
func (m *member) keepBy(keeper *wire.Endpoint) {
	h := &m.work.handover
	h.to, h.keeper, h.failed, h.due = nil, keeper.GetSession(), false, nil
	if keeper != nil {
		// A connection of its own: one message may wait for the owner, and fetches are not to wait for that.
		h.to = &peer{socket: keeper.GetSocket()}
		for _, execution := range sortedKeys(m.work.finished) {
			if m.work.finished[execution].taken {
				h.due = append(h.due, execution)
			}
		}
	}
	m.handOverSoon()
}

// handOverSoon sees that what is due gets handed over, and lets those go on who wait for that.
func (m *member) handOverSoon() {
	h := &m.work.handover
	switch {
	case h.busy:
	case h.to == nil || len(h.due) == 0 || m.ended != nil:
		leaves := h.leaves
		h.leaves = nil
		for _, leave := range leaves {
			leave()
		}
	default:
		h.busy = true
		time.AfterFunc(keepPause, func() { m.p.loop.post(m.handOver) })
	}
}

// handOver sends the keeper as much as one message carries.
func (m *member) handOver() {
	h := &m.work.handover
	to, keep := h.to, &wire.Keep{Token: m.access.Token, Keeper: h.keeper}
	there := map[uint64]bool{}
	for ; len(h.due) > 0 && m.ended == nil; h.due = h.due[1:] {
		f, held := m.work.finished[h.due[0]], m.work.held[h.due[0]]
		if f == nil || held == nil {
			continue // trained meanwhile
		}
		if !there[f.segment] {
			if len(there) == fetchBatch {
				break
			}
			there[f.segment] = true
			keep.Segments = append(keep.Segments, &wire.SegmentId{Holder: m.session, Number: f.segment})
		}
		keep.Held = append(keep.Held, held)
	}
	fds, err := m.p.segments.share(m.access.Token, keep.GetSegments())
	if to == nil || len(fds) == 0 {
		bridge.CloseDescriptors(fds)
		m.handedOver(to, err)
		return
	}
	go func() {
		err := to.tell(&wire.Frame{Id: 1, Body: &wire.Frame_Keep{Keep: keep}}, fds...)
		bridge.CloseDescriptors(fds)
		m.p.loop.post(func() { m.handedOver(to, err) })
	}()
}

// handedOver goes on after a message. What the keeper did not take stays with this worker alone.
func (m *member) handedOver(to *peer, err error) {
	h := &m.work.handover
	if h.busy = false; err != nil && h.to == to && !h.failed {
		h.failed = true
		m.p.log.Warn("what this worker finishes is not kept beside it", "member", m.join.GetName(), "error", err)
	}
	m.handOverSoon()
	m.p.endIfIdle()
}

// beforeLeaving calls then, once, when what this worker has finished is with its keeper, if it has one.
func (m *member) beforeLeaving(then func()) {
	if m.work == nil {
		then()
		return
	}
	left := false
	once := func() {
		if !left {
			left = true
			then()
		}
	}
	m.work.handover.leaves = append(m.work.handover.leaves, once)
	time.AfterFunc(handOverTimeout, func() { m.p.loop.post(once) })
	m.handOverSoon()
}
