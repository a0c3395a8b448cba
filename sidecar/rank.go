package sidecar

import (
	"slices"

	"outrider/bridge/wire"
)

// rankLog is what a trainer rank's sidecar keeps beside the weights: the base state and the commit log since. A new owner learns
// from it what was committed.
type rankLog struct {
	base      []byte
	hasBase   bool
	baseIndex uint64
	log       []*wire.Entry // ascending index, all above baseIndex
	stateAt   int64         // last rollout that the parameters contain or will contain: its commit was answered
}

func (r *rankLog) fillJoin(role *wire.TrainerRole) {
	role.StateAt = r.stateAt
	if r.hasBase {
		role.Base = r.base
		role.Log = slices.Clone(r.log)
	}
}

// append keeps an entry; one that is here already is the same one, sent again.
func (r *rankLog) append(entry *wire.Entry) {
	if n := len(r.log); entry.GetIndex() <= r.baseIndex || n > 0 && entry.GetIndex() <= r.log[n-1].GetIndex() {
		return
	}
	r.log = append(r.log, entry)
}

func (r *rankLog) setBase(base *wire.SetBase) {
	r.base, r.baseIndex, r.hasBase = base.GetBase(), base.GetIndex(), true
	keep := r.log[:0]
	for _, entry := range r.log {
		if entry.GetIndex() > r.baseIndex {
			keep = append(keep, entry)
		}
	}
	r.log = keep
}

func (r *rankLog) committed(rollout int64) { r.stateAt = max(r.stateAt, rollout) }

func (r *rankLog) rewound(last int64) { r.stateAt = min(r.stateAt, last) }
