package scheduler

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"outrider/leases"
)

// A window of groups that run at once and end in any order.
const benchWindow = 10_000

// newWindow is a plant whose groups end in any order within benchWindow, so that what has settled is ragged.
func newWindow(b *testing.B) (p *plant, settle func(groups int)) {
	b.Helper()
	s, err := New(Config{
		Source: leases.Source{Len: 1 << 40}, GroupSize: 8, BatchGroups: benchBatch, Prefetch: -1, Owner: 1,
		Limits: Limits{Executing: 8 * benchWindow, Completed: benchBatch, Retained: benchWindow + benchBatch},
		Policy: Policy{MaxStaleness: NoBound},
	})
	require.NoError(b, err)
	p = &plant{b: b, s: s, slots: []int32{0, 1, 2, 3, 4, 5, 6, 7}}
	_, err = s.Attach(Member{Session: benchTrainer, Host: "t", Trainer: &TrainerRole{Role: "actor", WorldSize: 1, StateAt: -1}})
	require.NoError(b, err)
	_, err = s.Attach(Member{Session: benchWorker, Host: "w", Worker: &WorkerRole{Slots: 8 * benchWindow}})
	require.NoError(b, err)
	p.carry()
	seed := rand.New(rand.NewPCG(0, 0))
	var pool []Assignment
	return p, func(groups int) {
		for range groups / benchBatch {
			pool = append(pool, p.grants...)
			p.grants = p.grants[:0]
			for range benchBatch {
				i := seed.IntN(len(pool))
				p.grants = append(p.grants, pool[i])
				pool[i] = pool[len(pool)-1]
				pool = pool[:len(pool)-1]
			}
			p.work()
			p.train()
		}
	}
}

// BenchmarkState is the cut of a run with 1,000,000 settled groups that ended in any order within 10,000.
func BenchmarkState(b *testing.B) {
	p, settle := newWindow(b)
	settle(1_000_000)
	b.ReportAllocs()
	var state []byte
	for b.Loop() {
		var err error
		if state, err = p.s.State(p.rollout - 1); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(state)), "B/state")
}

// BenchmarkRewind goes back over 10,000 settled groups, with another 10,000 executing.
func BenchmarkRewind(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		p, settle := newWindow(b)
		settle(benchBatch * 20) // ends on a saved rollout
		at := p.rollout - 1
		p.unsaved = true
		settle(benchWindow + benchBatch)
		p.ticket++
		b.StartTimer()
		p.s.Rewind(p.ticket, at)
		p.carry()
	}
}

// BenchmarkRecovery is a later life of the owner that learns 10,000 live groups from 64 workers: half of them run, half
// have ended. Messages are the inventories that come and the effects that go to a member.
func BenchmarkRecovery(b *testing.B) {
	const workers = 64
	for b.Loop() {
		b.StopTimer()
		former, err := New(Config{
			Source: leases.Source{Len: 1 << 40}, GroupSize: 8, BatchGroups: benchBatch, Prefetch: -1, Owner: 1,
			Limits: Limits{Executing: 8 * benchWindow, Completed: benchWindow, Retained: benchWindow},
			Policy: Policy{MaxStaleness: NoBound},
		})
		require.NoError(b, err)
		granted, handle, slots := 0, leases.Handle(0), []int32{0, 1, 2, 3, 4, 5, 6, 7}
		trainer := Member{Session: benchTrainer, Host: "t", Trainer: &TrainerRole{Role: "actor", WorldSize: 1, StateAt: -1}}
		_, err = former.Attach(trainer)
		require.NoError(b, err)
		inventory := map[leases.Session][]Held{}
		for w := range leases.Session(workers) {
			_, err = former.Attach(Member{Session: 100 + w, Host: "w", Worker: &WorkerRole{Slots: 8 * benchWindow / workers}})
			require.NoError(b, err)
		}
		kept := kept{}
		for _, e := range former.Effects() {
			switch e := e.(type) {
			case Grant:
				granted++
				inventory[e.Session] = append(inventory[e.Session], Held{Receipt: e.Assignment.Receipt, Version: e.Assignment.Version})
			case SetBase, Append:
				kept.take(e)
			}
		}
		for _, held := range inventory {
			for i := range held {
				if i%2 == 1 {
					handle++
					held[i].Outcome = &leases.Outcome{Kind: leases.Success, Slots: slots, Tokens: 100, Bytes: 1000, Handle: handle, Digest: [32]byte{1}}
				}
			}
		}
		trainer.Trainer = &TrainerRole{Role: "actor", WorldSize: 1, StateAt: -1, Base: kept.base, Log: kept.log}
		cfg := former.cfg
		cfg.Owner, cfg.Recover = 2, true
		b.StartTimer()

		s, err := New(cfg)
		require.NoError(b, err)
		s.Advance(0)
		messages := 0
		say := func(m Member) {
			m.KnownTerm, m.LookedUp = former.Term(), true
			if _, err := s.Attach(m); err != nil {
				b.Fatal(err)
			}
			messages++
			for _, e := range s.Effects() {
				switch e := e.(type) {
				case Grant, Cancel, Release:
					messages++
				case SetBase:
					messages += len(e.Sessions)
				case Append:
					messages += len(e.Sessions)
				case NewTerm, NewTimeline, Announced:
					messages += len(s.members)
				}
			}
		}
		say(trainer)
		for w, held := range inventory {
			say(Member{Session: w, Host: "w", Worker: &WorkerRole{Slots: 8 * benchWindow / workers, Inventory: held}})
		}
		b.StopTimer()
		require.Equal(b, granted, int(s.stats.Adopted), "every live group is adopted")
		b.ReportMetric(float64(messages), "messages")
		b.ReportMetric(float64(granted), "groups")
		b.StartTimer()
	}
}
