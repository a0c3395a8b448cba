package sidecar

import (
	"fmt"

	"outrider/bridge"
	"outrider/bridge/wire"
)

// next takes a rollout that is published to this rank alone, holds its data and commits it: two round trips to the owner, one of the
// shim. What fails after the take gives the lease back; the shim asks again when the error says so.
func (m *member) next(frame *wire.Frame, rollout int64) {
	role := m.join.GetTrainer()
	if role.GetWorldSize() != 1 {
		m.p.answer(frame, nil, bridge.NewError(bridge.Refused, fmt.Sprintf(
			"outrider: next is for a cohort of one rank, this member has world_size=%d; take and publish in a controller, admit in each rank", role.GetWorldSize())))
		return
	}
	take := &wire.Take{Rollout: rollout, Alone: &wire.Alone{Role: role.GetRole(), Generation: role.GetGeneration()}}
	m.ask(&wire.Frame{Body: &wire.Frame_Take{Take: take}}, func(answer *wire.Frame) {
		lease := answer.GetLease()
		if lease == nil {
			m.p.relay(frame, answer)
			return
		}
		shard := &wire.Shard{}
		for _, group := range lease.GetGroups() {
			shard.Locators = append(shard.Locators, group.GetLocator())
			shard.Groups = append(shard.Groups, group.GetGroup())
			shard.Attempts = append(shard.Attempts, group.GetAttempt())
		}
		publication := &wire.Publication{Admission: lease.GetAdmission(), Rollout: lease.GetRollout(), Endpoints: lease.GetEndpoints(), Digest: lease.GetPublished()}
		m.fetching(publication, shard, func(ids []*wire.SegmentId, fds []int, err error) {
			if err != nil {
				m.giveBack(frame, lease, err)
				return
			}
			m.commitAlone(publication, func(answer *wire.Frame) {
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

// commitAlone commits what this rank holds, with the proof that it does. The entry in this rank's log is the decision; whichever of
// it and the owner's answer comes first is the answer, once.
func (m *member) commitAlone(publication *wire.Publication, then func(answer *wire.Frame)) {
	role := m.join.GetTrainer()
	admission := publication.GetAdmission()
	commit := &wire.Commit{Admission: admission, Admit: &wire.Admit{
		Publication: &wire.Publication{Admission: admission, Digest: publication.GetDigest()}, Role: role.GetRole(), Generation: role.GetGeneration(),
	}}
	settled := func(answer *wire.Frame) {
		delete(m.committing, admission)
		then(answer)
	}
	id := m.ask(&wire.Frame{Body: &wire.Frame_Commit{Commit: commit}}, settled)
	if id == 0 {
		return // answered: the member has ended
	}
	m.committing[admission] = func() {
		delete(m.questions, id)
		m.trainer.committed(publication.GetRollout())
		go m.p.shares.committed(publication.GetRollout())
		settled(&wire.Frame{Body: &wire.Frame_Settled{Settled: &wire.Settled{Admission: admission, Status: "committed", Rollout: publication.GetRollout()}}})
	}
}

// decided answers the commit that an entry of this rank's log has decided, if this rank asked for it.
func (m *member) decided(admission uint64) {
	if answer := m.committing[admission]; answer != nil {
		answer()
	}
}

// giveBack answers the shim with what went wrong, after the lease has gone back: a commit that cannot be rolled back decides by itself.
func (m *member) giveBack(frame *wire.Frame, lease *wire.Lease, err error) {
	rollback := &wire.Rollback{Admission: lease.GetAdmission(), Reason: fmt.Sprint(err)}
	m.ask(&wire.Frame{Body: &wire.Frame_Rollback{Rollback: rollback}}, func(*wire.Frame) { m.p.answer(frame, nil, err) })
}
