package sidecar

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"outrider/bridge"
	"outrider/bridge/wire"
	"outrider/leases"
)

// ownerTimeout is how long a member looks for a lost owner before its questions fail. Ray itself needs up to 65 s to see that a node
// is cut off and to start an actor elsewhere.
const ownerTimeout = 3 * time.Minute

// ownerMissed is when a person wants to know: Ray restarts an actor on a living node within 2 s, and an owner that ended with its run
// is not missed at all.
const ownerMissed = 5 * time.Second

// link is one connection to one life of the owner.
type link struct {
	owner *bridge.Owner
	out   *outbox
}

func (l *link) close() {
	l.out.close()
	l.owner.Close()
}

// connect dials the owner and says Join, outside the loop.
func (m *member) connect(address string, lookedUp bool) {
	join := proto.CloneOf(m.join)
	join.Address = address
	join.LookedUp = lookedUp
	join.KnownTerm = m.term
	if m.work != nil {
		m.work.fillJoin(join)
	}
	if m.trainer != nil {
		m.trainer.fillJoin(join.GetTrainer())
	}
	go func() {
		if join.GetWorker() != nil {
			join.Endpoint.Address = m.p.flights.address(routeTo(address), m.access)
		}
		owner, joined, err := dial(m.stopped, address, m.access, join)
		posted := m.p.loop.post(func() { m.connected(owner, joined, err) })
		if !posted && owner != nil {
			owner.Close()
		}
	}()
}

func dial(ctx context.Context, address string, access bridge.Access, join *wire.Join) (*bridge.Owner, *wire.Joined, error) {
	owner, err := bridge.DialOwner(ctx, address, access)
	if err != nil {
		kind, wayOut := bridge.OwnerLost, bridge.Untrusted(err)
		if wayOut != "" {
			kind = bridge.Refused // looking again would not help
		}
		return nil, nil, bridge.NewError(kind, fmt.Sprintf("outrider: owner of run %q: %v%s", join.GetRun().GetName(), err, wayOut))
	}
	if err = owner.Send(&wire.Frame{Id: 1, Body: &wire.Frame_Join{Join: join}}); err == nil {
		var answer *wire.Frame
		if answer, err = owner.Recv(); err == nil {
			if e := answer.GetError(); e != nil {
				owner.Close()
				return nil, nil, bridge.FromWire(e)
			}
			return owner, answer.GetJoined(), nil
		}
	}
	owner.Close()
	return nil, nil, bridge.NewError(bridge.OwnerLost, fmt.Sprintf("outrider: owner of run %q at %s: %v", join.GetRun().GetName(), address, err))
}

// connected continues in the loop after a dial.
func (m *member) connected(owner *bridge.Owner, joined *wire.Joined, err error) {
	switch {
	case m.ended != nil || m.stopped.Err() != nil:
		if owner != nil {
			owner.Close()
		}
		return
	case err != nil && kindOf(err) == bridge.OwnerLost && m.lookFor():
		return
	case err != nil:
		m.finish(err)
		return
	}
	if termLess(joined.GetTerm(), m.term) {
		// A life of the owner that has been replaced and does not know it.
		owner.Close()
		m.lost(nil)
		return
	}
	m.term = joined.GetTerm()
	m.lostSince, m.warned = time.Time{}, false
	m.retry.Reset()
	l := &link{owner: owner}
	l.out = sessionOutbox(owner.Session, func(error) { owner.Close() })
	m.link = l
	m.p.log.Info("joined", "run", m.join.GetRun().GetName(), "member", m.join.GetName(), "session", fmt.Sprintf("%016x", m.session), "term", m.term.GetNumber())
	if m.work != nil {
		m.work.groupSize = joined.GetGroupSize()
		m.dropVoid(joined.GetVoid())
	}
	if m.joining != nil {
		m.answerJoin(joined)
	}
	if m.trainer != nil {
		m.watchMappings(joined.GetHeldWarning())
	}
	m.repeated = map[uint64]leases.PushID{}
	m.pushAgain(l)
	for _, id := range sortedKeys(m.questions) {
		l.out.put(m.questions[id].frame)
	}
	if m.work != nil && m.work.draining {
		m.drain(nil)
	}
	m.sayKeptAgain()
	go func() {
		for {
			frame, err := owner.Recv()
			if err != nil {
				m.p.loop.post(func() { m.lost(l) })
				return
			}
			m.p.loop.post(func() { m.fromOwner(l, frame) })
		}
	}()
}

// answerJoin tells the shim, after a worker's sidecar has fetched the table.
func (m *member) answerJoin(joined *wire.Joined) {
	frame := m.joining
	m.joining = nil
	joined.Member = m.id
	body := &wire.Frame{Body: &wire.Frame_Joined{Joined: joined}}
	if m.work == nil {
		m.p.answer(frame, body, nil)
		return
	}
	go func() {
		fds, err := m.p.fetch(m.access, joined.GetTable(), []*wire.SegmentId{joined.GetTableSegment()}, forever)
		if !m.p.loop.post(func() {
			if err != nil {
				m.joining = frame
				m.finish(err)
				return
			}
			m.p.answer(frame, body, nil, fds...)
			m.work.ready = true
			for _, grant := range m.work.early {
				m.p.shim.put(grant)
			}
			m.work.early = nil
		}) {
			bridge.CloseDescriptors(fds)
		}
	}()
}

// lost follows the end of a connection.
func (m *member) lost(l *link) {
	if m.ended != nil || m.link != l {
		return
	}
	if l != nil {
		l.close()
		m.link = nil
		m.p.log.Info("owner lost, looking for it", "run", m.join.GetRun().GetName(), "member", m.join.GetName())
	}
	if !m.lookFor() {
		m.finish(bridge.NewError(bridge.OwnerLost, fmt.Sprintf("outrider: the owner of run %q was not found again within %s; start the run again with the checkpoint's state", m.join.GetRun().GetName(), ownerTimeout)))
	}
}

// lookFor asks the shim where the owner is, after a pause; false when it has looked for long enough.
func (m *member) lookFor() bool {
	now := time.Now()
	if m.lostSince.IsZero() {
		m.lostSince = now
	}
	switch gone := now.Sub(m.lostSince); {
	case gone > ownerTimeout:
		return false
	case gone > ownerMissed && !m.warned:
		m.warned = true
		m.p.log.Warn("the owner is gone and not found again yet", "run", m.join.GetRun().GetName(), "member", m.join.GetName(), "for", gone.Round(time.Second), "gives_up_after", ownerTimeout)
	}
	time.AfterFunc(m.retry.NextBackOff(), func() {
		m.p.loop.post(func() {
			if m.ended != nil || m.stopped.Err() != nil {
				return
			}
			m.p.ask(&wire.Frame{Member: m.id, Body: &wire.Frame_Locate{Locate: &wire.Locate{Run: m.join.GetRun().GetName()}}}, func(answer *wire.Frame) {
				switch address := answer.GetLocated().GetAddress(); {
				case answer.GetError() != nil:
					m.finish(bridge.FromWire(answer.GetError())) // there will be no other owner
				case address != "":
					m.connect(address, true)
				default:
					m.lost(nil)
				}
			})
		})
	})
	return true
}

func termLess(a, b *wire.Term) bool {
	if a.GetNumber() != b.GetNumber() {
		return a.GetNumber() < b.GetNumber()
	}
	return a.GetSession() < b.GetSession()
}
