package sidecar

import (
	"fmt"
	"slices"

	"outrider/bridge"
	"outrider/bridge/wire"
	"outrider/leases"
	"outrider/scheduler"
)

// pushes gives prompts to the scheduler.
func (o *owner) pushes(a *attached, push *wire.Push, reply reply) {
	ids, digests, rows := push.GetIds(), push.GetDigests(), push.GetRows()
	if err := even(push); err != nil {
		reply(nil, err)
		return
	}
	all := make([]leases.Push, len(ids))
	for i := range all {
		var err error
		if all[i], err = toPush(ids[i], digests[i], rows[i]); err != nil {
			reply(nil, err)
			return
		}
	}
	o.scheduler.Push(o.ticket(answering(reply, func(done scheduler.Pushed) (*wire.Frame, error) {
		return &wire.Frame{Body: &wire.Frame_Pushed{Pushed: &wire.Pushed{Fresh: int64(done.Fresh), Gone: fromPushIDs(done.Gone)}}}, nil
	})), a.session, all, push.GetWait())
}

// even sees that a push has one of each for each.
func even(push *wire.Push) error {
	ids, digests, rows := len(push.GetIds()), len(push.GetDigests()), len(push.GetRows())
	if ids != digests || ids != rows {
		return bridge.NewError(bridge.Data, fmt.Sprintf("outrider: a push of %d ids, %d digests and %d rows; give one of each for each", ids, digests, rows))
	}
	return nil
}

func toPush(id, digest, rows []byte) (leases.Push, error) {
	p := leases.Push{ID: leases.NamePush(id), Rows: rows}
	if len(digest) != len(p.Digest) {
		return p, bridge.NewError(bridge.Data, fmt.Sprintf("outrider: push %q has a digest of %d bytes; give one of %d", id, len(digest), len(p.Digest)))
	}
	p.Digest = [16]byte(digest)
	return p, nil
}

func fromPushIDs(ids []leases.PushID) [][]byte {
	out := make([][]byte, len(ids))
	for i, id := range ids {
		out[i] = id[:]
	}
	return out
}

// producer is what a member's sidecar keeps of what it pushed: it repeats that to every later life of the owner, until the
// groups have settled in a saved state.
type producer struct {
	kept  map[leases.PushID]*wire.Push // each alone
	order []leases.PushID              // of kept, as they were taken; may name some that are gone
}

// push gives prompts to the owner and keeps what it took.
func (m *member) push(frame *wire.Frame, push *wire.Push) {
	if err := even(push); err != nil {
		m.p.answer(frame, nil, err)
		return
	}
	m.ask(&wire.Frame{Body: frame.GetBody()}, func(answer *wire.Frame) {
		if answer.GetError() == nil {
			m.keep(push)
			m.letGo(answer.GetPushed().GetGone())
		}
		m.p.relay(frame, answer)
	})
}

func (m *member) keep(push *wire.Push) {
	if m.producer == nil {
		m.producer = &producer{kept: map[leases.PushID]*wire.Push{}}
	}
	for i, id := range push.GetIds() {
		name := leases.NamePush(id)
		if m.producer.kept[name] == nil {
			m.producer.kept[name] = &wire.Push{Ids: push.GetIds()[i : i+1], Digests: push.GetDigests()[i : i+1], Rows: push.GetRows()[i : i+1], Wait: true}
			m.producer.order = append(m.producer.order, name)
		}
	}
}

// letGo forgets what has settled in a saved state.
func (m *member) letGo(gone [][]byte) {
	if m.producer == nil {
		return
	}
	for _, id := range gone {
		if len(id) == len(leases.PushID{}) {
			delete(m.producer.kept, leases.PushID(id))
		}
	}
	if len(m.producer.order) > 2*len(m.producer.kept) {
		m.producer.order = slices.DeleteFunc(m.producer.order, func(id leases.PushID) bool { return m.producer.kept[id] == nil })
	}
}

// pushAgain repeats what is kept to another life of the owner, before anything that is asked there. What it knows counts once.
func (m *member) pushAgain(l *link) {
	if m.producer == nil {
		return
	}
	for _, id := range m.producer.order {
		push := m.producer.kept[id]
		if push == nil {
			continue
		}
		m.asked++
		frame := &wire.Frame{Id: m.asked, Body: &wire.Frame_Push{Push: push}}
		l.out.put(frame)
		m.repeated[frame.GetId()] = id
	}
}

// pushedAgain takes the answer to a repeated push; false when it is none.
func (m *member) pushedAgain(answer *wire.Frame) bool {
	id, found := m.repeated[answer.GetId()]
	if !found {
		return false
	}
	delete(m.repeated, answer.GetId())
	if e := answer.GetError(); e != nil {
		m.p.log.Warn("a push that was taken before is refused", "id", fmt.Sprintf("%x", id), "error", e.GetMessage())
	}
	m.letGo(answer.GetPushed().GetGone())
	return true
}
