package sidecar

import (
	"fmt"
	"time"

	"outrider/bridge"
	"outrider/bridge/wire"
)

// statusTimeout is how long whoever looks at a run waits for its owner; a lost one is looked for much longer.
const statusTimeout = 5 * time.Second

// status says which runs this process belongs to or, with the id of one, what that looks like: from here if it is owned here, else from
// its owner, whom any member may ask. It blocks: never call it from a loop.
func (p *Process) status(run string) (*wire.Status, error) {
	type found struct {
		status *wire.Status
		err    error
	}
	answer := make(chan found, 1)
	if !p.loop.post(func() {
		p.look(run, func(status *wire.Status, err error) { answer <- found{status, err} })
	}) {
		return nil, bridge.NewError(bridge.Closed, "outrider: this sidecar is ending; ask another one of the run")
	}
	select {
	case f := <-answer:
		return f.status, f.err
	case <-time.After(statusTimeout):
		return nil, bridge.NewError(bridge.OwnerLost, fmt.Sprintf("outrider: the owner of run %s has not answered within %s; it may be lost and looked for, see the logs", run, statusTimeout))
	}
}

// look answers from the loop.
func (p *Process) look(run string, answer func(*wire.Status, error)) {
	known := map[string]*wire.RunStatus{}
	asks := map[string]func(then func(*wire.Stats, error)){}
	for _, m := range p.members {
		if m.ended != nil || m.joining != nil {
			continue
		}
		id := m.join.GetRun().GetId()
		known[id] = &wire.RunStatus{Name: m.join.GetRun().GetName(), Id: id}
		asks[id] = func(then func(*wire.Stats, error)) {
			m.ask(&wire.Frame{Body: &wire.Frame_GetStats{GetStats: &wire.GetStats{}}}, func(frame *wire.Frame) {
				then(frame.GetStats_(), bridge.FromWire(frame.GetError()))
			})
		}
	}
	if o := p.owner; o != nil && !o.over.Load() {
		id := o.run.GetId()
		known[id] = &wire.RunStatus{Name: o.run.GetName(), Id: id, Owner: true}
		asks[id] = o.look
	}
	status := &wire.Status{}
	if run == "" {
		for _, one := range known {
			status.Runs = append(status.Runs, one)
		}
		answer(status, nil)
		return
	}
	one := known[run]
	if one == nil {
		answer(nil, bridge.NewError(bridge.Refused, fmt.Sprintf("outrider: run %s is not one of this sidecar's; ask which ones there are", run)))
		return
	}
	asks[run](func(stats *wire.Stats, err error) {
		one.Stats = stats
		status.Runs = []*wire.RunStatus{one}
		answer(status, err)
	})
}

// look gives the present numbers to another loop.
func (o *owner) look(then func(*wire.Stats, error)) {
	if !o.whenDecided(func() { then(o.stats(), nil) }) {
		then(nil, bridge.NewError(bridge.Closed, "outrider: the owner has ended"))
	}
}

// ownMetrics gives the numbers of the run to the process that owns it, which needs no session for that.
func (p *Process) ownMetrics(frame *wire.Frame) {
	o := p.owner
	if !o.whenDecided(func() {
		text, err := o.metrics()
		p.loop.post(func() {
			p.answer(frame, &wire.Frame{Body: &wire.Frame_Metrics_{Metrics_: &wire.Metrics{Text: text}}}, err)
		})
	}) {
		p.answer(frame, nil, bridge.NewError(bridge.Closed, "outrider: the owner has ended"))
	}
}

// whenDecided runs f in the owner's loop when no commit is half done; false: the owner has ended.
func (o *owner) whenDecided(f func()) bool {
	return o.post(func() {
		if !o.delay(f) {
			f()
		}
	})
}
