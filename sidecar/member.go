package sidecar

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v4"
	"google.golang.org/protobuf/proto"

	"outrider/bridge"
	"outrider/bridge/wire"
	"outrider/leases"
	"outrider/sidecar/node"
)

// ownerTimeout is how long a member looks for a lost owner before its questions fail. Ray itself needs up to 65 s to see that a node
// is cut off and to start an actor elsewhere.
const ownerTimeout = 3 * time.Minute

// ownerMissed is when a person wants to know: Ray restarts an actor on a living node within 2 s, and an owner that ended with its run
// is not missed at all.
const ownerMissed = 5 * time.Second

// member is one role of this process in one run: a session with the owner, kept up over the owner's lives. All fields belong to the
// Process's loop.
type member struct {
	p       *Process
	id      uint32
	session uint64
	access  bridge.Access
	join    *wire.Join // as the shim gave it, without its certificates; session and endpoint filled
	term    *wire.Term // highest known

	link      *link       // nil while there is no owner
	joining   *wire.Frame // the shim's Join until it was answered
	asked     uint64
	questions map[uint64]*question
	// committing answers commits of this rank alone, by admission, when the entry has come before the owner's answer.
	committing map[uint64]func()
	retry      *backoff.ExponentialBackOff
	lostSince  time.Time
	warned     bool  // that the owner is missed
	ended      error // set once: nothing works any more
	stopped    context.Context
	stop       context.CancelFunc

	producer *producer                // of a stream; nil until the first push
	repeated map[uint64]leases.PushID // pushes that were asked again of this life of the owner, by question

	keeps map[executionKey]*kept // for workers of other processes of this host

	work    *work         // workers
	trainer *rankLog      // trainers
	held    time.Duration // of trainers: what was mapped for longer counts as held
	mapped  *wire.Mapped  // of trainers: what this life of the owner was told last
}

// question was asked of the owner; it is asked again of the owner's next life until it is answered.
type question struct {
	frame  *wire.Frame
	answer func(*wire.Frame)
}

// link is one connection to one life of the owner.
type link struct {
	owner *bridge.Owner
	out   *outbox
}

func (l *link) close() {
	l.out.close()
	l.owner.Close()
}

// join makes a member and connects it; the shim's frame is answered when the owner has.
func (p *Process) join(frame *wire.Frame, join *wire.Join) {
	var random [8]byte
	if _, err := rand.Read(random[:]); err != nil {
		p.answer(frame, nil, err)
		return
	}
	access, err := bridge.NewAccess(join.GetRun())
	if err != nil {
		p.answer(frame, nil, err)
		return
	}
	join.GetRun().Tls = nil // a key stays on its host
	p.lastMid++
	m := &member{p: p, access: access, id: p.lastMid, session: binary.LittleEndian.Uint64(random[:]) | 1, join: join, joining: frame, questions: map[uint64]*question{}, keeps: map[executionKey]*kept{}, committing: map[uint64]func(){}, term: &wire.Term{}}
	m.stopped, m.stop = context.WithCancel(context.Background())
	m.retry = backoff.NewExponentialBackOff(backoff.WithInitialInterval(50*time.Millisecond), backoff.WithMaxInterval(2*time.Second), backoff.WithMaxElapsedTime(0))
	join.Session, join.Pid = m.session, int64(p.config.Parent)
	join.Endpoint = &wire.Endpoint{Session: m.session, Host: p.host, Socket: p.listener.Name(), Memory: uint64(node.Memory())}
	switch {
	case join.GetWorker() != nil:
		m.work = newWork()
	case join.GetTrainer() != nil:
		m.trainer = newRankLog(join.GetTrainer())
	}
	p.segments.admitToken(access.Token)
	p.members[m.id] = m
	m.connect(join.GetAddress(), false)
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

// finish ends the member: what waits fails, what comes later is refused.
func (m *member) finish(err error) {
	if m.ended != nil {
		return
	}
	m.ended = err
	if m.link != nil {
		m.link.close()
		m.link = nil
	}
	if m.joining != nil {
		m.p.answer(m.joining, nil, err)
		m.joining = nil
		delete(m.p.members, m.id)
	}
	for _, id := range sortedKeys(m.questions) {
		q := m.questions[id]
		delete(m.questions, id)
		q.answer(&wire.Frame{Id: id, Answer: true, Error: bridge.ToWire(err)})
	}
	if m.work != nil {
		for _, execution := range sortedKeys(m.work.given) {
			m.work.takeBack(execution)
		}
	}
	m.p.segments.releaseAll(m.session)
	for key := range m.keeps {
		m.unkeep(key)
	}
	if m.work != nil {
		m.handOverSoon() // there is nothing to wait for
	}
	if m.trainer != nil {
		go m.p.shares.committed(forever - 1)
	}
}

// leave ends the session in order: the owner sees the end of the stream.
func (m *member) leave() {
	if m.link != nil {
		l := m.link
		m.link = nil
		l.out.put(&wire.Frame{Body: &wire.Frame_Leave{Leave: &wire.Leave{}}})
		l.out.close()
		go func() {
			l.out.flushed()
			l.owner.Close()
			m.stop() // not before: it cuts the connection, and the owner would take that for a loss
		}()
	} else {
		m.stop()
	}
	m.finish(bridge.NewError(bridge.Closed, fmt.Sprintf("outrider: %s has left run %q", m.join.GetName(), m.join.GetRun().GetName())))
}

// ask puts a question to the owner; answer runs in the loop, once. The id is 0 when it has run already: the member has ended.
func (m *member) ask(frame *wire.Frame, answer func(*wire.Frame)) (id uint64) {
	if m.ended != nil {
		answer(&wire.Frame{Answer: true, Error: bridge.ToWire(m.ended)})
		return 0
	}
	m.asked++
	frame.Id, frame.Member = m.asked, 0
	m.questions[frame.GetId()] = &question{frame, answer}
	if m.link != nil {
		m.link.out.put(frame)
	}
	return m.asked
}

// forward puts the shim's question to the owner and the answer back.
func (m *member) forward(frame *wire.Frame) {
	m.ask(&wire.Frame{Body: frame.GetBody()}, func(answer *wire.Frame) { m.p.relay(frame, answer) })
}

// relay answers the shim's question with the owner's answer.
func (p *Process) relay(question, answer *wire.Frame) {
	p.answer(question, &wire.Frame{Body: answer.GetBody(), Error: answer.GetError()}, nil)
}

// fromOwner handles one frame of the owner in the loop.
func (m *member) fromOwner(l *link, frame *wire.Frame) {
	if m.link != l {
		return
	}
	if frame.GetAnswer() {
		if m.pushedAgain(frame) {
			return
		}
		if q := m.questions[frame.GetId()]; q != nil {
			delete(m.questions, frame.GetId())
			q.answer(frame)
		}
		return
	}
	if role := m.lacks(frame); role != "" {
		m.p.log.Error("frame from the owner dropped: it is for another role", "body", fmt.Sprintf("%T", frame.GetBody()), "role", role)
		return
	}
	switch body := frame.GetBody().(type) {
	case *wire.Frame_Grant:
		m.granted(body.Grant)
	case *wire.Frame_StageGrant:
		m.stageGrant(body.StageGrant)
	case *wire.Frame_Carried:
		m.carried(body.Carried)
	case *wire.Frame_Keeper:
		m.keepBy(body.Keeper.GetEndpoint())
	case *wire.Frame_LetGo:
		m.letGo(body.LetGo.GetGone())
	case *wire.Frame_Cancel:
		m.cancelStage(body.Cancel.GetReceipts())
		m.p.shim.put(&wire.Frame{Member: m.id, Body: body})
	case *wire.Frame_Release:
		m.release(body.Release)
	case *wire.Frame_Append:
		m.trainer.append(body.Append.GetEntry())
		m.p.shim.put(&wire.Frame{Member: m.id, Body: body}) // before anything that the process hears of this commit
		m.appended(frame.GetId())
		m.decided(body.Append.GetDecides())
	case *wire.Frame_SetBase:
		m.trainer.setBase(body.SetBase)
		m.p.shim.put(&wire.Frame{Member: m.id, Body: &wire.Frame_SetBase{SetBase: m.trainer.whole()}})
		m.appended(frame.GetId())
	case *wire.Frame_Committed:
		m.trainer.committed(body.Committed.GetRollout())
		m.dropAdded(body.Committed.GetRollout())
		go m.p.shares.committed(body.Committed.GetRollout())
	case *wire.Frame_NewTerm:
		if termLess(m.term, body.NewTerm.GetTerm()) {
			m.term = body.NewTerm.GetTerm()
		}
	case *wire.Frame_NewTimeline:
		if m.trainer != nil {
			m.trainer.rewound(body.NewTimeline.GetLastRollout())
			m.dropAdded(forever)
		}
	case *wire.Frame_End:
		m.p.log.Info("run ended", "run", m.join.GetRun().GetName(), "error", body.End.GetError().GetMessage())
		m.p.shim.put(&wire.Frame{Member: m.id, Body: body})
		err := bridge.FromWire(body.End.GetError())
		if err == nil {
			err = bridge.NewError(bridge.EndOfRun, fmt.Sprintf("outrider: run %q has ended", m.join.GetRun().GetName()))
		}
		m.finish(err)
	default:
		m.p.log.Warn("frame from the owner not understood", "body", fmt.Sprintf("%T", body))
	}
}

// appended says that this rank's log has all entries up to one.
func (m *member) appended(index uint64) {
	m.link.out.put(&wire.Frame{Id: index, Answer: true, Body: &wire.Frame_Done{Done: &wire.Done{}}})
}

func termLess(a, b *wire.Term) bool {
	if a.GetNumber() != b.GetNumber() {
		return a.GetNumber() < b.GetNumber()
	}
	return a.GetSession() < b.GetSession()
}

func sortedKeys[V any](m map[uint64]V) []uint64 {
	keys := make([]uint64, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
