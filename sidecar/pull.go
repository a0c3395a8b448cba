package sidecar

import (
	"errors"
	"fmt"

	"outrider/bridge"
	"outrider/bridge/wire"
	"outrider/leases"
	"outrider/scheduler"
)

// supply is a framework's own data source as the owner sees it: groups are acquired from it and recovered to it. Both answer
// later, once, in the order in which they were asked; the Process puts them to its shim.
type supply interface {
	acquire(pull *wire.Pull, answer func(*wire.Frame))
	recover(back *wire.GiveBack, answer func(*wire.Frame))
}

func (p *Process) acquire(pull *wire.Pull, answer func(*wire.Frame)) {
	p.loop.post(func() { p.ask(&wire.Frame{Body: &wire.Frame_Pull{Pull: pull}}, answer) })
}

func (p *Process) recover(back *wire.GiveBack, answer func(*wire.Frame)) {
	p.loop.post(func() { p.ask(&wire.Frame{Body: &wire.Frame_GiveBack{GiveBack: back}}, answer) })
}

// pull carries out a question to the data source.
func (o *owner) pull(e scheduler.Pull) {
	pull := &wire.Pull{Groups: int64(e.Groups), Cursor: e.Cursor, Forget: e.Forget}
	o.supply.acquire(pull, func(answer *wire.Frame) {
		given, err := toGiven(answer)
		o.post(func() { o.scheduler.Pulled(given, answer.GetPulled().GetCursor(), err) })
	})
}

// toGiven reads the answer to a Pull. What cannot be read by itself is an empty giving, so that it goes back with the rest.
func toGiven(answer *wire.Frame) ([]leases.Given, error) {
	if e := answer.GetError(); e != nil {
		return nil, errors.New(e.GetMessage())
	}
	if answer.GetPulled() == nil {
		return nil, fmt.Errorf("the shim answered %T", answer.GetBody())
	}
	var out []leases.Given
	for _, g := range answer.GetPulled().GetGroups() {
		given := leases.Given{Key: g.GetKey(), Group: g.GetGroup(), Of: g.GetOf(), Parents: g.GetParents(), Rows: g.GetRow(), Problem: g.GetProblem()}
		copy(given.Digest[:], g.GetDigest())
		out = append(out, given)
	}
	return out, nil
}

// giveBack carries out a return to the data source. A shim that cannot answer has taken nothing.
func (o *owner) giveBack(e scheduler.GiveBack) {
	o.supply.recover(&wire.GiveBack{Keys: e.Keys}, func(answer *wire.Frame) {
		back := answer.GetGaveBack()
		failed, err := back.GetFailed(), error(nil)
		switch {
		case back == nil:
			failed, err = e.Keys, bridge.FromWire(answer.GetError())
		case len(failed) > 0:
			err = errors.New(back.GetError())
		}
		o.post(func() { o.scheduler.GivenBack(failed, err) })
	})
}
