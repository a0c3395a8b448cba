package sidecar

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v4"

	"outrider/bridge"
	"outrider/bridge/wire"
	"outrider/leases"
	"outrider/sidecar/node"
)

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
	join.Endpoint = &wire.Endpoint{Session: m.session, Host: p.host, Socket: p.listener.Name(), Pid: uint32(os.Getpid()), Memory: uint64(node.Memory())}
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

func sortedKeys[V any](m map[uint64]V) []uint64 {
	keys := make([]uint64, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
