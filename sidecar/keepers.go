package sidecar

import (
	"slices"

	"google.golang.org/protobuf/proto"

	"outrider/bridge/wire"
	"outrider/leases"
	"outrider/scheduler"
)

// The owner's side of what is kept beside its worker: who does, and where others read it.

func (o *owner) keepBy(e scheduler.KeepBy) {
	keeper := &wire.Keeper{}
	if a := o.attached[e.Keeper]; a != nil {
		keeper.Endpoint = a.join.GetEndpoint()
	}
	o.push(e.Session, &wire.Frame{Body: &wire.Frame_Keeper{Keeper: keeper}})
}

// kept takes a keeper's word.
func (o *owner) kept(a *attached, word *wire.Kept, reply reply) {
	o.carryOutAll() // what is to be released has no handle any more
	o.reachable(a, word.GetAddress())
	handles := make(map[reportKey]leases.Handle, len(word.GetHeld()))
	all := make([]scheduler.Held, 0, len(word.GetHeld()))
	for _, held := range word.GetHeld() {
		outcome := o.outcomeOf(a.join.GetEndpoint().GetHost(), held.GetReceipt(), held.GetOutcome())
		if data := o.data[outcome.Handle]; data != nil {
			data.words++
		}
		handles[reportOf(held.GetReceipt())] = outcome.Handle
		all = append(all, scheduler.Held{Receipt: toReceipt(held.GetReceipt()), Version: held.GetVersion(), Outcome: &outcome})
	}
	o.scheduler.Kept(o.ticket(func(value any, err error) {
		receipts, _ := value.(scheduler.Unkept)
		unkept := &wire.Unkept{}
		not := map[reportKey]bool{}
		for _, receipt := range receipts {
			said := fromReceipt(receipt)
			not[reportOf(said)] = true
			unkept.Receipts = append(unkept.Receipts, said)
		}
		for key, handle := range handles {
			data := o.data[handle]
			if data == nil { // released meanwhile
				continue
			}
			data.words--
			switch {
			case err == nil && !not[key]:
				data.claimed = true
				if !slices.Contains(data.keepers, a.session) {
					data.keepers = append(data.keepers, a.session)
				}
			case !data.claimed && data.words == 0: // else another word may be taken
				o.forget(handle, data)
			}
		}
		reply(&wire.Frame{Body: &wire.Frame_Unkept{Unkept: unkept}}, err)
	}), a.session, all)
}

// reachable takes note of where other hosts read what a member has.
func (o *owner) reachable(a *attached, address string) {
	if endpoint := a.join.GetEndpoint(); address != endpoint.GetAddress() {
		a.join.Endpoint = proto.CloneOf(endpoint) // which others may be sending
		a.join.Endpoint.Address = address
	}
}

// forget drops what is known of a group's data.
func (o *owner) forget(handle leases.Handle, data *groupData) {
	delete(o.data, handle)
	delete(o.reports, data.report)
	key := keyOf(data.locator.GetSegment())
	if o.bySegment[key] = slices.DeleteFunc(o.bySegment[key], func(h leases.Handle) bool { return h == handle }); len(o.bySegment[key]) == 0 {
		delete(o.bySegment, key)
	}
}

// keeper is the member that keeps a group's data beside its worker, or since that is gone; 0: nobody.
func (o *owner) keeper(data *groupData) leases.Session {
	for _, keeper := range slices.Backward(data.keepers) {
		if o.attached[keeper] != nil {
			return keeper
		}
	}
	return 0
}

// places gathers where groups can be read: with their makers, and with who keeps what those made.
type places struct {
	endpoints []*wire.Endpoint
	seen      map[leases.Session]bool
}

// where says where a group's rows are, as others are to read them.
func (o *owner) where(at *places, data *groupData, locator *wire.Locator) *wire.Locator {
	at.add(o, leases.Session(locator.GetSegment().GetHolder()))
	keeper := o.keeper(data)
	if keeper == 0 {
		return locator
	}
	at.add(o, keeper)
	return &wire.Locator{Segment: locator.GetSegment(), FirstRow: locator.GetFirstRow(), Rows: locator.GetRows(), Keeper: uint64(keeper)}
}

func (at *places) add(o *owner, session leases.Session) {
	if at.seen[session] {
		return
	}
	if at.seen == nil {
		at.seen = map[leases.Session]bool{}
	}
	at.seen[session] = true
	if a := o.attached[session]; a != nil {
		at.endpoints = append(at.endpoints, a.join.GetEndpoint())
	}
}
