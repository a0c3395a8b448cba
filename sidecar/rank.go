package sidecar

import (
	"bytes"
	"slices"

	"outrider/bridge/wire"
)

// rankLog is what a trainer rank's sidecar keeps beside the weights: the base state and the commit log since. A new owner learns
// from it what was committed. The shim gets a copy of all of it, which outlives the sidecar.
type rankLog struct {
	base      []byte
	hasBase   bool
	baseIndex uint64
	log       []*wire.Entry // ascending index, all above baseIndex
	copied    bool          // base and log are the shim's copy of a lost sidecar's; the owner has given none since
	stateAt   int64         // last rollout that the parameters contain or will contain: its commit was answered
	unsaid    bool          // the run went back below that and the process has not said so, or the other way round
	added     []addedColumns
	segments  uint64 // number of the last segment of added columns
}

// newRankLog takes over what the shim has brought.
func newRankLog(role *wire.TrainerRole) *rankLog {
	r := &rankLog{stateAt: role.GetStateAt()}
	if role.GetCopied() {
		r.copied, r.hasBase, r.base, r.log = true, true, role.GetBase(), role.GetLog()
	}
	role.Base, role.Log = nil, nil
	return r
}

func (r *rankLog) fillJoin(role *wire.TrainerRole) {
	role.StateAt, role.Unsaid, role.Copied = r.stateAt, r.unsaid, r.copied
	if r.hasBase {
		role.Base = r.base
		role.Log = slices.Clone(r.log)
	}
}

// append keeps an entry. One with an index that is here already comes from a later life of the owner: what stood there and after
// it was never answered.
func (r *rankLog) append(entry *wire.Entry) {
	if entry.GetIndex() <= r.baseIndex {
		return
	}
	at := len(r.log)
	for at > 0 && r.log[at-1].GetIndex() >= entry.GetIndex() {
		at--
	}
	if at < len(r.log) && bytes.Equal(r.log[at].GetData(), entry.GetData()) {
		return
	}
	r.log = append(r.log[:at:at], entry)
}

func (r *rankLog) setBase(base *wire.SetBase) {
	if r.copied {
		r.copied, r.log = false, nil
	}
	r.base, r.baseIndex, r.hasBase = base.GetBase(), base.GetIndex(), true
	keep := r.log[:0]
	for _, entry := range r.log {
		if entry.GetIndex() > r.baseIndex {
			keep = append(keep, entry)
		}
	}
	r.log = keep
	for _, entry := range base.GetLog() {
		r.append(entry)
	}
}

// whole is base and log in one piece.
func (r *rankLog) whole() *wire.SetBase {
	return &wire.SetBase{Index: r.baseIndex, Base: r.base, Log: slices.Clone(r.log)}
}

func (r *rankLog) committed(rollout int64) { r.stateAt = max(r.stateAt, rollout) }

func (r *rankLog) rewound(last int64) {
	r.unsaid = r.stateAt > last || r.unsaid && r.stateAt < last
}

func (r *rankLog) restored(said *wire.Restored) {
	r.stateAt, r.unsaid = said.GetRollout(), said.GetUnsaid()
}

// restored tells the owner what the process says of its weights, and keeps it for the owner's next life.
func (m *member) restored(frame *wire.Frame) {
	m.ask(&wire.Frame{Body: frame.GetBody()}, func(answer *wire.Frame) {
		if said := answer.GetRestored(); said != nil {
			m.trainer.restored(said)
		}
		m.p.relay(frame, answer)
	})
}
