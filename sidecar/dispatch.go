package sidecar

import (
	"fmt"

	"outrider/arrowio"
	"outrider/bridge"
	"outrider/bridge/wire"
)

// prepare does what needs no state, in the reader's goroutine, and posts the rest to the loop.
func (p *Process) prepare(frame *wire.Frame, fds []int) {
	switch frame.GetBody().(type) {
	case *wire.Frame_Report:
		made := sealReport(fds, frame.GetReport())
		p.loop.post(func() {
			if !p.withMember(frame, func(m *member) { m.report(frame, made) }) {
				made.close()
			}
		})
	case *wire.Frame_AddColumns:
		segment, err := sealOne(fds)
		p.loop.post(func() {
			if !p.withMember(frame, func(m *member) { m.addColumns(frame, segment, err) }) && err == nil {
				segment.Close()
			}
		})
	case *wire.Frame_Own:
		table, err := sealTable(fds)
		p.loop.post(func() {
			if err == nil {
				err = p.own(frame, table)
			}
			if err != nil {
				p.answer(frame, nil, err)
			}
		})
	default:
		bridge.CloseDescriptors(fds)
		p.loop.post(func() { p.dispatch(frame) })
	}
}

// sealTable takes the table of prompts over.
func sealTable(fds []int) (*arrowio.Segment, error) {
	if len(fds) != 1 {
		bridge.CloseDescriptors(fds)
		return nil, bridge.NewError(bridge.Config, fmt.Sprintf("outrider: a run needs one table of prompts, %d descriptors came", len(fds)))
	}
	table, err := arrowio.Seal(fds[0])
	if err != nil {
		return nil, named(err)
	}
	return table, nil
}

// dispatch handles one frame of the shim in the loop.
func (p *Process) dispatch(frame *wire.Frame) {
	if frame.GetAnswer() {
		if answer := p.questions[frame.GetId()]; answer != nil {
			delete(p.questions, frame.GetId())
			answer(frame)
		}
		return
	}
	switch body := frame.GetBody().(type) {
	case *wire.Frame_Join:
		p.join(frame, body.Join)
	case *wire.Frame_Leave:
		if frame.GetMember() == 0 {
			p.parted = true
			p.answer(frame, nil, nil)
			return
		}
		p.withMember(frame, func(m *member) {
			m.beforeLeaving(func() {
				m.leave()
				delete(p.members, m.id)
				p.answer(frame, nil, nil)
			})
		})
	case *wire.Frame_Admit:
		p.withMember(frame, func(m *member) { m.admit(frame, body.Admit) })
	case *wire.Frame_GetColumn:
		p.withMember(frame, func(m *member) { m.getColumn(frame) })
	case *wire.Frame_Restored:
		p.withMember(frame, func(m *member) { m.restored(frame) })
	case *wire.Frame_Next:
		p.withMember(frame, func(m *member) { m.next(frame, body.Next.GetRollout()) })
	case *wire.Frame_SampleDone:
		p.withMember(frame, func(m *member) { m.sampleDone(frame, body.SampleDone) })
	case *wire.Frame_SetSlots:
		p.withMember(frame, func(m *member) { m.setSlots(frame, body.SetSlots) })
	case *wire.Frame_Drain:
		p.withMember(frame, func(m *member) { m.drain(func(answer *wire.Frame) { p.relay(frame, answer) }) })
	case *wire.Frame_Push:
		p.withMember(frame, func(m *member) { m.push(frame, body.Push) })
	case *wire.Frame_Offer:
		p.withMember(frame, func(m *member) { m.offer(frame, body.Offer) })
	case *wire.Frame_Confirm:
		p.withMember(frame, func(m *member) { m.confirm(frame, body.Confirm) })
	case *wire.Frame_GetMetrics:
		if frame.GetMember() == 0 && p.owner != nil {
			p.ownMetrics(frame)
			return
		}
		p.withMember(frame, func(m *member) { m.forward(frame) })
	case *wire.Frame_Take, *wire.Frame_CancelTake, *wire.Frame_Publish, *wire.Frame_Commit, *wire.Frame_Rollback, *wire.Frame_LeaseStatus,
		*wire.Frame_DiscardGroups, *wire.Frame_GetState, *wire.Frame_Saved, *wire.Frame_Rewind, *wire.Frame_GetStats, *wire.Frame_Close,
		*wire.Frame_Hold, *wire.Frame_AwaitFrontier, *wire.Frame_ReleaseHold, *wire.Frame_BeginUpdate, *wire.Frame_GetUpdate,
		*wire.Frame_RecordUpdate, *wire.Frame_UndoUpdate, *wire.Frame_Credit, *wire.Frame_EndStream, *wire.Frame_CancelGroups, *wire.Frame_Quiet:
		p.withMember(frame, func(m *member) { m.forward(frame) })
	default:
		p.answer(frame, nil, bridge.NewError(bridge.Refused, fmt.Sprintf("outrider: a sidecar does not take %T", body)))
	}
}

// withMember calls use with the member that a frame is about. False: it was refused, since no such member is here, or it is of another
// role.
func (p *Process) withMember(frame *wire.Frame, use func(*member)) bool {
	m := p.members[frame.GetMember()]
	if m == nil {
		p.answer(frame, nil, bridge.NewError(bridge.Closed, fmt.Sprintf("outrider: member %d has left its run or never joined one; make a new one", frame.GetMember())))
		return false
	}
	if role := m.lacks(frame); role != "" {
		p.answer(frame, nil, bridge.NewError(bridge.Refused, fmt.Sprintf("outrider: %T is for a %s, and member %d is none", frame.GetBody(), role, frame.GetMember())))
		return false
	}
	use(m)
	return true
}

// lacks is the role that a frame of the shim or of the owner is for, when this member has another.
func (m *member) lacks(frame *wire.Frame) string {
	switch frame.GetBody().(type) {
	case *wire.Frame_Report, *wire.Frame_SampleDone, *wire.Frame_Grant, *wire.Frame_StageGrant, *wire.Frame_Keeper:
		if m.work == nil {
			return "worker"
		}
	case *wire.Frame_AddColumns, *wire.Frame_Restored, *wire.Frame_Next, *wire.Frame_Append, *wire.Frame_SetBase, *wire.Frame_Committed:
		if m.trainer == nil {
			return "trainer"
		}
	}
	return ""
}
