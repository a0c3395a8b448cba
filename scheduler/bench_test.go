package scheduler

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"outrider/leases"
)

// transitionsPerGroup are those of a whole life: RESERVED, EXECUTING, TERMINAL, COMPLETED, LEASED, ACKNOWLEDGED.
const transitionsPerGroup = 6

// plant is a run at a steady state: one worker keeps the buffer full, one trainer rank takes batch after batch.
type plant struct {
	b       *testing.B
	s       *Scheduler
	grants  []Assignment
	handle  leases.Handle
	slots   []int32
	lease   Lease
	ticket  Ticket
	rollout int64
	unsaved bool // the job does not save
}

const (
	benchWorker  leases.Session = 11
	benchTrainer leases.Session = 12
	benchBatch                  = 64
)

// newPlant fills the buffer with retained COMPLETED groups.
func newPlant(b *testing.B, retained int64) *plant {
	b.Helper()
	s, err := New(Config{
		Source: leases.Source{Len: 1 << 40}, GroupSize: 8, BatchGroups: benchBatch, Prefetch: -1, Owner: 1,
		Limits: Limits{Executing: 8 * 64, Completed: retained, Retained: retained + 64},
		Policy: Policy{MaxStaleness: NoBound},
	})
	require.NoError(b, err)
	p := &plant{b: b, s: s, slots: []int32{0, 1, 2, 3, 4, 5, 6, 7}}
	_, err = s.Attach(Member{Session: benchTrainer, Host: "t", Trainer: &TrainerRole{Role: "actor", WorldSize: 1, StateAt: -1}})
	require.NoError(b, err)
	_, err = s.Attach(Member{Session: benchWorker, Host: "w", Worker: &WorkerRole{Slots: 8 * 64}})
	require.NoError(b, err)
	p.carry()
	for s.ledger.Count(leases.Completed) < retained {
		p.work()
	}
	return p
}

// carry takes the effects out.
func (p *plant) carry() {
	for effects := p.s.Effects(); len(effects) > 0; effects = p.s.Effects() {
		for _, e := range effects {
			switch e := e.(type) {
			case Grant:
				p.grants = append(p.grants, e.Assignment)
			case Append:
				p.s.Appended(benchTrainer, e.Entry.Index)
			case Answer:
				if e.Err != nil {
					p.b.Fatal(e.Err)
				}
				if lease, ok := e.Value.(Lease); ok {
					p.lease = lease
				}
			}
		}
	}
}

// work finishes what was granted.
func (p *plant) work() {
	for _, a := range p.grants {
		p.handle++
		o := leases.Outcome{Kind: leases.Success, Slots: p.slots, Tokens: 100, Bytes: 1000, Handle: p.handle, Digest: [32]byte{1}}
		if err := p.s.Terminal(a.Receipt, o); err != nil {
			p.b.Fatal(err)
		}
	}
	p.grants = p.grants[:0]
	p.carry()
}

// train takes one batch to its commit, and moves the base now and then as a job that saves does.
func (p *plant) train() {
	p.ticket++
	p.s.Take(p.ticket, benchTrainer, p.rollout)
	p.carry()
	shard := make([]RowRange, 0, benchBatch)
	for _, g := range p.lease.Groups {
		shard = append(shard, RowRange{Group: g.Receipt.Group, Handle: g.Handle, Rows: g.Samples})
	}
	pub, err := p.s.Publish(p.lease.Admission, PublishRequest{Shards: [][]RowRange{shard}, Roles: []RoleSize{{Role: "actor", WorldSize: 1}}})
	if err != nil {
		p.b.Fatal(err)
	}
	if err := p.s.Admit(AdmitRequest{Admission: pub.Admission, Digest: pub.Digest, Role: "actor", Session: benchTrainer}); err != nil {
		p.b.Fatal(err)
	}
	p.ticket++
	p.s.Commit(p.ticket, pub.Admission)
	p.carry()
	if p.rollout%20 == 19 && !p.unsaved {
		if _, err := p.s.State(p.rollout); err != nil {
			p.b.Fatal(err)
		}
		if err := p.s.Saved(p.rollout); err != nil {
			p.b.Fatal(err)
		}
		p.carry()
	}
	p.rollout++
}

// BenchmarkTransitions is the whole life of groups, in batches, on one core.
func BenchmarkTransitions(b *testing.B) {
	for _, retained := range []int64{1_000, 1_000_000} {
		b.Run(fmt.Sprintf("retained=%d", retained), func(b *testing.B) {
			p := newPlant(b, retained)
			b.ReportAllocs()
			groups := 0
			for b.Loop() {
				p.train()
				for p.s.ledger.Count(leases.Completed) < retained {
					p.work()
				}
				groups += benchBatch
			}
			b.ReportMetric(float64(groups*transitionsPerGroup)/b.Elapsed().Seconds(), "transitions/s")
		})
	}
}

// BenchmarkRetainedBytes is the memory of one retained group: its record, its places in every order, its index entries.
func BenchmarkRetainedBytes(b *testing.B) {
	const retained = 200_000
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	for b.Loop() {
		before := heap()
		p := newPlant(b, retained)
		p.grants = nil
		b.ReportMetric(float64(heap()-before)/retained, "B/group")
		runtime.KeepAlive(p)
	}
}

// BenchmarkStats is what a status screen costs.
func BenchmarkStats(b *testing.B) {
	for _, retained := range []int64{1_000, 1_000_000} {
		b.Run(fmt.Sprintf("retained=%d", retained), func(b *testing.B) {
			p := newPlant(b, retained)
			b.ReportAllocs()
			for b.Loop() {
				_ = p.s.Stats()
			}
		})
	}
}
