package sidecar

import (
	"outrider/bridge/wire"
	"outrider/scheduler"
)

// offer gives the scheduler a group that a worker has made by itself.
func (o *owner) offer(a *attached, offer *wire.Offer, reply reply) {
	push, err := toPush(offer.GetId(), offer.GetDigest(), offer.GetRow())
	if err != nil {
		reply(nil, err)
		return
	}
	o.scheduler.Offer(o.ticket(answering(reply, func(done scheduler.Offered) (*wire.Frame, error) {
		offered := &wire.Offered{Gone: fromPushIDs(done.Gone)}
		if given := done.Assignment; given != nil {
			given.Pushed = nil // the worker has it
			offered.Grant = newGrant(given.Receipt)
			assign(offered.GetGrant(), *given)
		}
		return &wire.Frame{Body: &wire.Frame_Offered{Offered: offered}}, nil
	})), a.session, push, offer.GetWait())
}

// offer gives a group of this worker's to the owner. Its prompt is kept as one that was pushed, the execution that the owner grants for it as
// one that was granted, of which every sample has ended.
func (m *member) offer(frame *wire.Frame, offer *wire.Offer) {
	m.ask(&wire.Frame{Body: frame.GetBody()}, func(answer *wire.Frame) {
		if answer.GetError() == nil {
			m.keep(&wire.Push{Ids: [][]byte{offer.GetId()}, Digests: [][]byte{offer.GetDigest()}, Rows: [][]byte{offer.GetRow()}})
			m.letGo(answer.GetOffered().GetGone())
			m.offered(answer.GetOffered().GetGrant())
		}
		m.p.relay(frame, answer)
	})
}

func (m *member) offered(grant *wire.Grant) {
	receipts, err := toReceipts(grant.GetReceipts())
	if err != nil || m.work == nil || len(receipts) != len(grant.GetVersions()) {
		return
	}
	for i := range receipts {
		held := &wire.Held{Receipt: &receipts[i], Version: grant.GetVersions()[i], Done: m.work.groupSize}
		m.work.held[receipts[i].GetExecution()] = held
	}
}
