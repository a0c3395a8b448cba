package sidecar

import (
	"fmt"

	"outrider/bridge"
	"outrider/bridge/wire"
)

// next takes a rollout, publishes it to this rank alone, holds its data and commits it, so that the shim pays one round trip. What
// fails after the take gives the lease back; the shim asks again when the error says so.
func (m *member) next(frame *wire.Frame, rollout int64) {
	role := m.join.GetTrainer()
	if role == nil || role.GetWorldSize() != 1 {
		m.p.answer(frame, nil, bridge.NewError(bridge.Refused, fmt.Sprintf(
			"outrider: next is for a cohort of one rank, this member has world_size=%d; take and publish in a controller, admit in each rank", role.GetWorldSize())))
		return
	}
	m.ask(&wire.Frame{Body: &wire.Frame_Take{Take: &wire.Take{Rollout: rollout}}}, func(answer *wire.Frame) {
		lease := answer.GetLease()
		if lease == nil {
			m.p.relay(frame, answer)
			return
		}
		m.publishAlone(frame, lease)
	})
}

func (m *member) publishAlone(frame *wire.Frame, lease *wire.Lease) {
	role := m.join.GetTrainer()
	shard := &wire.Shard{}
	for _, group := range lease.GetGroups() {
		shard.Locators = append(shard.Locators, group.GetLocator())
		shard.Groups = append(shard.Groups, group.GetGroup())
		shard.Attempts = append(shard.Attempts, group.GetAttempt())
	}
	publish := &wire.Publish{
		Admission: lease.GetAdmission(), Shards: []*wire.Shard{shard}, Roles: map[string]uint32{role.GetRole(): 1}, Generation: role.GetGeneration(),
	}
	m.ask(&wire.Frame{Body: &wire.Frame_Publish{Publish: publish}}, func(answer *wire.Frame) {
		publication := answer.GetPublication()
		if publication == nil {
			m.giveBack(frame, lease, bridge.FromWire(answer.GetError()))
			return
		}
		admit := &wire.Admit{Publication: publication, Role: role.GetRole(), Generation: role.GetGeneration()}
		m.hold(admit, shard, func(ids []*wire.SegmentId, fds []int, err error) {
			if err != nil {
				m.giveBack(frame, lease, err)
				return
			}
			m.ask(&wire.Frame{Body: &wire.Frame_Commit{Commit: &wire.Commit{Admission: lease.GetAdmission()}}}, func(answer *wire.Frame) {
				if answer.GetSettled().GetStatus() != "committed" {
					bridge.CloseDescriptors(fds)
					m.giveBack(frame, lease, bridge.FromWire(answer.GetError()))
					return
				}
				m.deliver(frame, publication, shard, ids, fds)
			})
		})
	})
}

// giveBack answers the shim with what went wrong, after the lease has gone back: a commit that cannot be rolled back decides by itself.
func (m *member) giveBack(frame *wire.Frame, lease *wire.Lease, err error) {
	rollback := &wire.Rollback{Admission: lease.GetAdmission(), Reason: fmt.Sprint(err)}
	m.ask(&wire.Frame{Body: &wire.Frame_Rollback{Rollback: rollback}}, func(*wire.Frame) { m.p.answer(frame, nil, err) })
}
