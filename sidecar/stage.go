package sidecar

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"outrider/arrowio"
	"outrider/arrowio/flight"
	"outrider/bridge"
	"outrider/bridge/wire"
	"outrider/leases"
	"outrider/scheduler"
	"outrider/sidecar/node"
)

// given are a finished group's rows as a member of a stage has them here.
type given struct {
	at  *wire.Locator // their names here
	ids []*wire.SegmentId
	fds []int
	all *arrowio.Columns
}

func (g *given) close() {
	bridge.CloseDescriptors(g.fds)
	g.all.Release()
}

// stageGrant fetches a group's rows and hands them to the shim. What its member adds is held against them.
func (m *member) stageGrant(grant *wire.StageGrant) {
	execution := grant.GetReceipt().GetExecution()
	m.work.held[execution] = &wire.Held{Receipt: grant.GetReceipt()}
	go func() {
		rows, err := m.p.give(m.access, grant)
		if !m.p.loop.post(func() { m.stageGiven(grant, rows, err) }) && err == nil {
			rows.close()
		}
	}()
}

func (m *member) stageGiven(grant *wire.StageGrant, rows *given, err error) {
	execution := grant.GetReceipt().GetExecution()
	switch {
	case m.work.held[execution] == nil || m.ended != nil: // it has gone elsewhere
		if err == nil {
			rows.close()
		}
	case err != nil:
		kind := "failure"
		if kindOf(err) == bridge.Revoked { // its holder is gone: the owner knows, or will
			kind = "retry"
		}
		m.p.log.Warn("rows for a stage were not fetched", "group", grant.GetReceipt().GetGroup(), "error", err)
		outcome := &wire.Outcome{Receipt: grant.GetReceipt(), Kind: kind, Reason: err.Error()}
		m.ask(&wire.Frame{Body: &wire.Frame_Report{Report: &wire.Report{Outcomes: []*wire.Outcome{outcome}}}}, func(*wire.Frame) { m.forget(execution) })
	default:
		m.work.given[execution] = rows.all
		for _, id := range rows.ids {
			if id.GetHolder() == m.session && id.GetNumber() == 0 { // it came from another host
				m.work.number++
				id.Number = m.work.number
			}
		}
		m.p.shim.put(&wire.Frame{Member: m.id, Body: &wire.Frame_StageGrant{StageGrant: &wire.StageGrant{
			Receipt: grant.GetReceipt(), Locator: rows.at, Segments: rows.ids,
		}}}, rows.fds...)
	}
}

// give fetches the segments of a group and joins them. On this host they are the holders' own; from another host come the group's
// rows alone, as segments of this session that have no number yet.
func (p *Process) give(access bridge.Access, grant *wire.StageGrant) (_ *given, err error) {
	endpoints := bySession(grant.GetEndpoints())
	out := &given{at: proto.CloneOf(grant.GetLocator()), all: &arrowio.Columns{}}
	defer func() {
		if err != nil {
			out.close()
		}
	}()
	for _, at := range segmentsOf(out.at) {
		rows, err := p.fetchRows(access, endpoints[at.GetSegment().GetHolder()], endpoints[at.GetKeeper()], at)
		if err != nil {
			return nil, err
		}
		out.fds = append(out.fds, rows.fd)
		if rows.far {
			at.Segment, at.FirstRow = &wire.SegmentId{Holder: grant.GetReceipt().GetWorker()}, 0
		}
		out.ids = append(out.ids, at.GetSegment())
		if out.all, err = joinRows(out.all, rows.fd, at); err != nil {
			return nil, named(err)
		}
	}
	return out, nil
}

// segmentsOf are a group's rows in each segment that has columns of them.
func segmentsOf(at *wire.Locator) []*wire.Locator {
	return append([]*wire.Locator{at}, at.GetColumns()...)
}

// fetched are rows of a group: a descriptor of the segment that they are in on this host, or one of a segment of them alone, which came
// from another host (far).
type fetched struct {
	fd  int
	far bool
}

// fetchRows gets rows from their holder, or else from their keeper.
func (p *Process) fetchRows(access bridge.Access, holder, keeper *wire.Endpoint, at *wire.Locator) (fetched, error) {
	near := func(from *wire.Endpoint) (fetched, error) { return p.fetchRowsNear(access, from, at) }
	return either(p.host, holder, keeper, near, func(from *wire.Endpoint) (fetched, error) {
		if from.GetHost() == p.host {
			rows, err := near(from)
			if !errors.Is(err, errUnreachable) || from.GetAddress() == "" {
				return rows, err
			}
		}
		return fetchRowsFar(access, from, at)
	})
}

func (p *Process) fetchRowsNear(access bridge.Access, from *wire.Endpoint, at *wire.Locator) (fetched, error) {
	ids := []*wire.SegmentId{at.GetSegment()}
	fds, err := p.fetchNear(access.Token, from, ids)
	if err != nil {
		return fetched{}, err
	}
	if err := checkSegments(ids, fds); err != nil {
		bridge.CloseDescriptors(fds)
		return fetched{}, err
	}
	return fetched{fd: fds[0]}, nil
}

func fetchRowsFar(access bridge.Access, from *wire.Endpoint, at *wire.Locator) (fetched, error) {
	client, err := flight.Dial(from.GetAddress(), access.Token, access.Dial, node.UsableMemory(), farStall)
	if err != nil {
		return fetched{}, err
	}
	defer client.Close()
	rows := &wire.Locator{Segment: at.GetSegment(), FirstRow: at.GetFirstRow(), Rows: at.GetRows()}
	fd, err := landOne(client, rows)
	if err != nil {
		return fetched{}, farError(from, at.GetSegment(), err)
	}
	return fetched{fd, true}, nil
}

// joinRows puts the rows of one more segment beside all, which it releases; nothing is beside the first. After an error all is what it
// was, and still the caller's.
func joinRows(all *arrowio.Columns, fd int, at *wire.Locator) (*arrowio.Columns, error) {
	own, err := duplicate(fd)
	if err != nil {
		return all, err
	}
	segment, err := arrowio.Open(own)
	if err != nil {
		return all, err
	}
	defer segment.Close()
	more, err := segment.Columns(at.GetFirstRow(), at.GetRows())
	switch {
	case err != nil:
		return all, err
	case all.Rows() == 0:
		return more, nil
	}
	defer more.Release()
	both, err := all.Join(more)
	if err != nil {
		return all, err
	}
	all.Release()
	return both, nil
}

// add is locate for columns that a stage adds: they are held against the rows that it was given.
func (d *made) add(at *wire.Locator, sum *wire.Summary, index int, group int64, rows *arrowio.Columns) error {
	if rows == nil {
		return bridge.NewError(bridge.Stale, fmt.Sprintf("outrider: group %d has gone elsewhere, its stage is not this member's any more", group))
	}
	segment, err := d.segment(at, index, group)
	if err != nil {
		return err
	}
	more, err := segment.Columns(at.GetFirstRow(), at.GetRows())
	if err != nil {
		return named(err)
	}
	defer more.Release()
	joined, err := rows.Join(more)
	if err != nil {
		return named(err)
	}
	defer joined.Release()
	groups, err := joined.Summarize(d.rules)
	if err != nil {
		return named(err)
	}
	summarize(sum, groups, group, 0, at.GetRows())
	sum.Bytes = segment.Size() * at.GetRows() / segment.Rows()
	return nil
}

// stageGranted says where a finished group's rows are that a member of a stage adds to.
func (o *owner) stageGranted(e scheduler.StageGrant) {
	var at places
	base := e.Data[0].Handle
	locator := o.locate(&at, base, e.Data[1:], o.data[base].locator)
	o.push(e.Session, &wire.Frame{Body: &wire.Frame_StageGrant{StageGrant: &wire.StageGrant{
		Receipt: fromReceipt(e.Receipt), Locator: locator, Endpoints: at.endpoints,
	}}})
}

// locate says where some rows of a group are, as others are to read them: those of its generation, which rows names, and beside them
// the same rows of the columns that stages added.
func (o *owner) locate(at *places, base leases.Handle, columns []scheduler.Data, rows *wire.Locator) *wire.Locator {
	out := o.where(at, o.data[base], rows)
	if len(columns) == 0 {
		return out
	}
	out = &wire.Locator{Segment: out.GetSegment(), FirstRow: out.GetFirstRow(), Rows: out.GetRows(), Keeper: out.GetKeeper()}
	first := rows.GetFirstRow() - o.data[base].locator.GetFirstRow()
	for _, c := range columns {
		added := o.data[c.Handle]
		out.Columns = append(out.Columns, o.where(at, added, &wire.Locator{
			Segment: added.locator.GetSegment(), FirstRow: added.locator.GetFirstRow() + first, Rows: rows.GetRows(),
		}))
	}
	return out
}

// cancelStage forgets groups that a stage was given; of a worker's executions nothing is forgotten, it reports their end.
func (m *member) cancelStage(receipts []*wire.Receipt) {
	if m.join.GetWorker().GetStage() == "" {
		return
	}
	for _, receipt := range receipts {
		m.forget(receipt.GetExecution())
	}
}

// takeBack lets go of the rows that a stage was given for an execution.
func (w *work) takeBack(execution uint64) {
	if rows := w.given[execution]; rows != nil {
		rows.Release()
		delete(w.given, execution)
	}
}
