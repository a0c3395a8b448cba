package scheduler

import (
	"testing"

	"github.com/stretchr/testify/require"

	"outrider/leases"
)

// rig drives one life of an owner by hand: batches of one group of one sample, one worker, one trainer rank.
type rig struct {
	t       *testing.T
	s       *Scheduler
	ticket  Ticket
	answers map[Ticket]Answer
	logs    map[leases.Session]*kept
	grants  []Assignment
	seen    []Effect
}

// kept is what one trainer's sidecar keeps.
type kept struct {
	base []byte
	log  []Entry
	mute bool // its messages are lost
}

func (k *kept) take(e Effect) (index uint64) {
	switch e := e.(type) {
	case SetBase:
		k.base = e.State
		for len(k.log) > 0 && k.log[0].Index <= e.Index {
			k.log = k.log[1:]
		}
		for _, entry := range e.Log {
			k.append(entry)
		}
	case Append:
		k.append(e.Entry)
		index = e.Entry.Index
	}
	return index
}

func (k *kept) append(entry Entry) {
	for i := range k.log {
		if k.log[i].Index == entry.Index {
			k.log = k.log[:i]
			break
		}
	}
	k.log = append(k.log, entry)
}

const rigWorker, rigDriver leases.Session = 1, 2

func newRig(t *testing.T, owner leases.Session, recover bool) *rig {
	s, err := New(Config{
		Source: leases.Source{Len: 100}, GroupSize: 1, BatchGroups: 1, Owner: owner, Recover: recover, Verify: true,
		Policy: Policy{MaxStaleness: NoBound},
	})
	require.NoError(t, err)
	s.Advance(0)
	return &rig{t: t, s: s, answers: map[Ticket]Answer{}, logs: map[leases.Session]*kept{}}
}

func (r *rig) workers() *rig {
	_, err := r.s.Attach(Member{Session: rigDriver, Client: true})
	require.NoError(r.t, err)
	_, err = r.s.Attach(Member{Session: rigWorker, Worker: &WorkerRole{Slots: 4}})
	require.NoError(r.t, err)
	r.run()
	return r
}

// run carries effects out until nothing is left to do.
func (r *rig) run() {
	for effects := r.s.Effects(); len(effects) > 0; effects = r.s.Effects() {
		for _, e := range effects {
			r.seen = append(r.seen, e)
			switch e := e.(type) {
			case Answer:
				r.answers[e.Ticket] = e
			case Grant:
				r.grants = append(r.grants, e.Assignment)
			case SetBase:
				for _, to := range e.Sessions {
					r.deliver(to, e)
				}
			case Append:
				for _, to := range e.Sessions {
					r.deliver(to, e)
				}
			}
		}
	}
}

func (r *rig) deliver(to leases.Session, e Effect) {
	if k := r.logs[to]; k != nil && !k.mute {
		if index := k.take(e); index > 0 {
			r.s.Appended(to, index)
		}
	}
}

// trainer attaches a rank; k, when not nil, is what its sidecar kept.
func (r *rig) trainer(session leases.Session, role TrainerRole, k *kept) error {
	if role.Role == "" {
		role.Role, role.WorldSize = "actor", 1
	}
	if k == nil {
		k = &kept{}
	}
	role.Base, role.Log = k.base, append([]Entry(nil), k.log...)
	r.logs[session] = k
	_, err := r.s.Attach(Member{Session: session, Trainer: &role})
	r.run()
	return err
}

func (r *rig) ask(call func(Ticket)) Answer {
	t := r.send(call)
	a, ok := r.answers[t]
	require.True(r.t, ok, "the call is answered at once")
	return a
}

func (r *rig) send(call func(Ticket)) Ticket {
	r.ticket++
	call(r.ticket)
	r.run()
	return r.ticket
}

func (r *rig) finishOne() {
	require.NotEmpty(r.t, r.grants)
	a := r.grants[0]
	r.grants = r.grants[1:]
	require.NoError(r.t, r.s.Terminal(a.Receipt, leases.Outcome{
		Kind: leases.Success, Slots: []int32{0}, Handle: leases.Handle(a.Receipt.Group + 1), Digest: [32]byte{1},
	}))
	r.run()
}

// admitted takes rollout and lets session admit it.
func (r *rig) admitted(session leases.Session, rollout int64) Lease {
	r.finishOne()
	a := r.ask(func(t Ticket) { r.s.Take(t, rigDriver, rollout) })
	require.NoError(r.t, a.Err)
	lease := a.Value.(Lease)
	g := lease.Groups[0]
	p, err := r.s.Publish(lease.Admission, PublishRequest{
		Shards: [][]RowRange{{{Group: g.Receipt.Group, Handle: g.Handle, Rows: 1}}}, Roles: []RoleSize{{Role: "actor", WorldSize: 1}},
	})
	require.NoError(r.t, err)
	require.NoError(r.t, r.s.Admit(AdmitRequest{Admission: lease.Admission, Digest: p.Digest, Role: "actor", Session: session}))
	return lease
}

func (r *rig) train(session leases.Session, rollout int64) {
	lease := r.admitted(session, rollout)
	require.NoError(r.t, r.ask(func(t Ticket) { r.s.Commit(t, lease.Admission) }).Err)
}

func (r *rig) next() int64 {
	n, err := r.s.NextRollout()
	require.NoError(r.t, err)
	return n
}
