package sidecar

import (
	"fmt"

	"outrider/bridge/wire"
	"outrider/leases"
	"outrider/scheduler"
)

func (o *owner) beginUpdate(a *attached, begin *wire.BeginUpdate, reply reply) {
	mode := scheduler.Drain
	switch begin.GetMode() {
	case "", "drain":
	case "in_flight":
		mode = scheduler.InFlight
	default:
		reply(nil, fmt.Errorf("%w: mode %q of an update is not known; use drain or in_flight", leases.ErrConfig, begin.GetMode()))
		return
	}
	ticket := o.ticket(answering(reply, o.updating))
	if begin.GetRebroadcast() {
		o.scheduler.Rebroadcast(ticket, a.session)
		return
	}
	o.scheduler.BeginUpdate(ticket, a.session, begin.GetVersion(), mode, []byte(begin.GetDigest()))
}

// updating names the engines that are to load a version.
func (o *owner) updating(start scheduler.UpdateStart) (*wire.Frame, error) {
	out := &wire.UpdateState{
		Hold: uint64(start.Hold), Version: start.Version, LastVersion: o.scheduler.Stats().Announced, Revoked: start.Revoked,
		Digest: string(start.Digest), Rollout: start.Rollout,
	}
	for _, engine := range start.Engines {
		out.Engines = append(out.Engines, o.engine(engine, false))
	}
	return &wire.Frame{Body: &wire.Frame_UpdateState{UpdateState: out}}, nil
}

func (o *owner) updateReport(report scheduler.UpdateReport, hold uint64) *wire.Frame {
	out := &wire.UpdateState{Hold: hold, Version: report.Version, LastVersion: o.scheduler.Stats().Announced, Revoked: report.Revoked, Ended: report.Ended}
	for _, engine := range report.Confirmed {
		out.Engines = append(out.Engines, o.engine(engine, true))
	}
	for _, engine := range report.Unconfirmed {
		out.Engines = append(out.Engines, o.engine(engine, false))
	}
	return &wire.Frame{Body: &wire.Frame_UpdateState{UpdateState: out}}
}

func (o *owner) engine(session leases.Session, confirmed bool) *wire.EngineState {
	state := &wire.EngineState{Session: uint64(session), Confirmed: confirmed}
	if a := o.attached[session]; a != nil {
		state.Name, state.Handle = a.join.GetName(), a.join.GetHandle()
	}
	version, digest := o.scheduler.Serves(session)
	state.ConfirmedVersion, state.Digest = version, string(digest)
	if state.GetName() == "" {
		state.Name = fmt.Sprintf("session %016x", uint64(session))
	}
	return state
}
