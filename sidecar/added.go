package sidecar

import (
	"fmt"

	"outrider/arrowio"
	"outrider/bridge"
	"outrider/bridge/wire"
	"outrider/leases"
	"outrider/scheduler"
)

// addedColumns is a segment of columns that this rank added to what it admitted.
type addedColumns struct {
	segment uint64
	rollout int64
}

// sealOne seals the one segment that came with a frame.
func sealOne(fds []int) (*arrowio.Segment, error) {
	if len(fds) != 1 {
		bridge.CloseDescriptors(fds)
		return nil, bridge.NewError(bridge.Data, fmt.Sprintf("outrider: columns come in one segment, %d descriptors came", len(fds)))
	}
	segment, err := arrowio.Seal(fds[0])
	return segment, named(err)
}

// addColumns keeps columns of this rank for the others, until the owner says that a later rollout is committed.
func (m *member) addColumns(frame *wire.Frame, segment *arrowio.Segment, err error) {
	if err != nil {
		m.p.answer(frame, nil, err)
		return
	}
	add := frame.GetAddColumns()
	m.trainer.segments++
	number := m.trainer.segments
	add.Segment, add.Rows, add.Address = number, segment.Rows(), m.p.flights.address(routeTo(m.join.GetAddress()), m.access)
	m.p.segments.hold(m.session, number, segment, 1)
	m.trainer.added = append(m.trainer.added, addedColumns{number, add.GetRollout()})
	m.ask(&wire.Frame{Body: &wire.Frame_AddColumns{AddColumns: add}}, func(answer *wire.Frame) {
		if answer.GetError() != nil {
			m.p.segments.release(m.session, number)
		}
		m.p.relay(frame, answer)
	})
}

// dropAdded lets go of what was added below a rollout; readers that have mapped it keep it.
func (m *member) dropAdded(rollout int64) {
	var left []addedColumns
	for _, a := range m.trainer.added {
		if a.rollout >= rollout {
			left = append(left, a)
			continue
		}
		m.p.segments.release(m.session, a.segment)
	}
	m.trainer.added = left
}

// getColumn fetches a column that ranks added to rows that this one has admitted.
func (m *member) getColumn(frame *wire.Frame) {
	m.ask(&wire.Frame{Body: frame.GetBody()}, func(answer *wire.Frame) {
		if answer.GetError() != nil {
			m.p.relay(frame, answer)
			return
		}
		publication := answer.GetPublication()
		shard, err := reads(publication, nil)
		if err != nil {
			m.p.answer(frame, nil, err)
			return
		}
		m.fetching(publication, shard, func(ids []*wire.SegmentId, fds []int, err error) {
			if err != nil {
				m.p.answer(frame, nil, err)
				return
			}
			m.deliver(frame, publication, shard, ids, fds)
		})
	})
}

func addRequest(a *attached, add *wire.AddColumns) scheduler.AddRequest {
	return scheduler.AddRequest{
		Admission: add.GetAdmission(), Session: a.session, Shards: indices(add.GetShards()), Columns: add.GetNames(),
		Handle: leases.Handle(add.GetSegment()), Rows: add.GetRows(),
	}
}

// added says where a column is that ranks added.
func (o *owner) added(a *attached, get *wire.GetColumn) (*wire.Frame, error) {
	all, err := o.scheduler.AddedColumn(get.GetAdmission(), a.session, indices(get.GetShards()), get.GetName())
	if err != nil {
		return nil, err
	}
	var at places
	shard := &wire.Shard{}
	for _, added := range all {
		at.add(o, added.Holder)
		shard.Locators = append(shard.Locators, &wire.Locator{
			Segment: &wire.SegmentId{Holder: uint64(added.Holder), Number: uint64(added.Handle)}, FirstRow: added.First, Rows: added.Rows,
		})
	}
	return &wire.Frame{Body: &wire.Frame_Publication{Publication: &wire.Publication{
		Admission: get.GetAdmission(), Shards: []*wire.Shard{shard}, Endpoints: at.endpoints,
	}}}, nil
}

func indices(shards []uint32) []int {
	all := make([]int, len(shards))
	for i, shard := range shards {
		all[i] = int(shard)
	}
	return all
}
