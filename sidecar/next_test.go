package sidecar

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"outrider/bridge"
	"outrider/bridge/wire"
)

// rankLink is a trainer rank's sidecar played by a test: it says what it wants to the owner, when it wants to.
type rankLink struct {
	t     *testing.T
	owner *bridge.Owner
	asked uint64
}

func dialAsTrainer(t *testing.T, address string) *rankLink {
	t.Helper()
	owner, err := bridge.DialOwner(context.Background(), address, testAccess(t))
	require.NoError(t, err)
	t.Cleanup(func() { owner.Close() })
	r := &rankLink{t: t, owner: owner}
	r.ask(&wire.Frame{Body: &wire.Frame_Join{Join: &wire.Join{
		Run: testRun, Name: "trainer", Session: 7, LookedUp: true, Endpoint: &wire.Endpoint{Session: 7},
		Trainer: &wire.TrainerRole{Role: "trainer", WorldSize: 1, Generation: 1, StateAt: -1},
	}}})
	require.Empty(t, r.receive(isAnswer).GetError().GetMessage())
	return r
}

func (r *rankLink) ask(frame *wire.Frame) {
	r.asked++
	frame.Id = r.asked
	require.NoError(r.t, r.owner.Send(frame))
}

// receive drops frames up to one that is wanted.
func (r *rankLink) receive(want func(*wire.Frame) bool) *wire.Frame {
	for {
		frame, err := r.owner.Recv()
		require.NoError(r.t, err)
		if want(frame) {
			return frame
		}
	}
}

func isAnswer(f *wire.Frame) bool { return f.GetAnswer() }
func isAppend(f *wire.Frame) bool { return f.GetAppend() != nil }

// commit takes a rollout alone and commits it; the entry that decides it comes back, nothing says yet that it is in a log.
func (r *rankLink) commit(rollout int64) *wire.Frame {
	r.ask(&wire.Frame{Body: &wire.Frame_Take{Take: &wire.Take{Rollout: rollout, Alone: &wire.Alone{Role: "trainer", Generation: 1}}}})
	lease := r.receive(isAnswer).GetLease()
	require.NotEmpty(r.t, lease.GetPublished(), "the lease comes published")
	require.NotEmpty(r.t, lease.GetEndpoints())
	r.ask(&wire.Frame{Body: &wire.Frame_Commit{Commit: &wire.Commit{Admission: lease.GetAdmission(), Admit: &wire.Admit{
		Publication: &wire.Publication{Admission: lease.GetAdmission(), Digest: lease.GetPublished()}, Role: "trainer", Generation: 1,
	}}}})
	entry := r.receive(func(f *wire.Frame) bool { return isAppend(f) || f.GetAnswer() })
	require.Equal(r.t, lease.GetAdmission(), entry.GetAppend().GetDecides(), "the entry is what answers a commit: %v", entry)
	return entry
}

func (r *rankLink) appended(entry *wire.Frame) {
	require.NoError(r.t, r.owner.Send(&wire.Frame{Id: entry.GetId(), Answer: true, Body: &wire.Frame_Done{Done: &wire.Done{}}}))
}

func statsFrame(r *role) *wire.Frame {
	return &wire.Frame{Member: r.member, Body: &wire.Frame_GetStats{GetStats: &wire.GetStats{}}}
}

func TestS5_02_NextIsAnsweredByTheEntryInTheLog(t *testing.T) {
	t.Parallel()
	_, address := startOwner(t, testConfig(), 8, false)
	trainer := startTrainer(t, address, -1, nil)
	worker := startWorker(t, address, "engine-0", 64)
	for rollout := range int64(2) {
		worker.finish(2)
		answer, fds := trainer.answer(trainer.send(&wire.Frame{Member: trainer.member, Body: &wire.Frame_Next{Next: &wire.Next{Rollout: rollout}}}))
		require.Empty(t, answer.GetError().GetMessage())
		require.Len(t, fds, 2)
		require.Equal(t, []int64{2 * rollout, 2*rollout + 1}, answer.GetAdmitted().GetGroups())
		bridge.CloseDescriptors(fds)
		require.Equal(t, 2*rollout+2, trainer.stats().GetBooks().GetAcknowledged().GetGroups())
	}
}

// committing is a rank that may be training on rollout 0, a worker beside it, and the entry whose arrival nobody has confirmed.
func committing(t *testing.T) (*rankLink, *role, *wire.Frame) {
	t.Helper()
	_, address := startOwner(t, testConfig(), 8, false)
	trainer := dialAsTrainer(t, address)
	worker := startWorker(t, address, "engine-0", 64)
	worker.finish(2)
	return trainer, worker, trainer.commit(0)
}

func TestS5_06_WhoeverAsksAfterACommitHearsOfIt(t *testing.T) {
	t.Parallel()
	trainer, worker, entry := committing(t)
	// The rank may be training by now, though its word is on the way. Another member asks.
	stats := worker.send(statsFrame(worker))
	state := worker.send(&wire.Frame{Member: worker.member, Body: &wire.Frame_GetState{GetState: &wire.GetState{Rollout: 0}}})
	worker.finish(1) // work goes on: this was asked and answered after the two
	worker.mu.Lock()
	require.Nil(t, worker.answers[stats], "answered before the rank's word has come")
	worker.mu.Unlock()
	trainer.appended(entry)
	answer, _ := worker.answer(stats)
	require.EqualValues(t, 2, answer.GetStats_().GetBooks().GetAcknowledged().GetGroups())
	answer, _ = worker.answer(state)
	require.Empty(t, answer.GetError().GetMessage())
	require.NotEmpty(t, answer.GetStateBytes().GetState())
}

func TestS5_05_NobodyWaitsForARankThatIsGone(t *testing.T) {
	t.Parallel()
	trainer, worker, _ := committing(t)
	stats := worker.send(statsFrame(worker))
	trainer.owner.Close()
	answer, _ := worker.answer(stats)
	require.Zero(t, answer.GetStats_().GetBooks().GetAcknowledged().GetGroups(), "in doubt")
}

func TestAReportThatUsesTheSourceUpIsAnsweredBeforeTheEnd(t *testing.T) {
	t.Parallel()
	config := testConfig()
	config.Source.Epochs = 1
	_, address := startOwner(t, config, 2, false)
	startTrainer(t, address, -1, nil)
	worker := startWorker(t, address, "engine-0", 64)
	for range 2 {
		discard := &wire.Outcome{Receipt: worker.assignment().GetReceipt(), Kind: "discard", Reason: "no signal"}
		answer := worker.must(&wire.Frame{Member: worker.member, Body: &wire.Frame_Report{Report: &wire.Report{Outcomes: []*wire.Outcome{discard}}}})
		require.Empty(t, answer.GetReported().GetErrors())
	}
	worker.next(func(f *wire.Frame) bool { return f.GetEnd() != nil })
}

func TestMembersThatCannotReachTheOwnersSocketGoByItsPort(t *testing.T) {
	t.Parallel()
	_, address := startOwner(t, testConfig(), 8, false)
	port, socket, both := strings.Cut(address, "@")
	require.True(t, both)
	require.NotEmpty(t, socket)
	trainer := startTrainer(t, port, -1, nil)
	worker := startWorker(t, port+"@outrider/of-another-host", "engine-0", 64)
	worker.finish(2)
	require.Equal(t, []int64{0, 1}, trainer.train(0))
	require.EqualValues(t, 2, trainer.stats().GetBooks().GetAcknowledged().GetGroups())
}
