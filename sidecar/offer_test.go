package sidecar

import (
	"testing"

	"github.com/stretchr/testify/require"

	"outrider/bridge/wire"
)

func (r *role) offerFrame(id string) *wire.Frame {
	offer := &wire.Offer{Id: []byte(id), Digest: make([]byte, 16), Row: []byte("row " + id), Wait: true}
	return &wire.Frame{Member: r.member, Body: &wire.Frame_Offer{Offer: offer}}
}

// offer gives the assignment by which the group is reported, nil when it is not wanted.
func (r *role) offer(id string) *assignment {
	r.t.Helper()
	grant := r.must(r.offerFrame(id)).GetOffered().GetGrant()
	if grant == nil {
		return nil
	}
	require.Empty(r.t, grant.GetPushed())
	return assignments(r.t, grant)[0]
}

// What a worker offers is trained as anything else. The owner's next life knows what was offered, by their sidecars: what was
// reported, what was granted and not reported, and what has waited since.
func TestS1_17_AnOfferOutlivesTheOwner(t *testing.T) {
	t.Parallel()
	config := streamConfig()
	config.BatchGroups, config.Retained, config.Completed, config.Executing = 1, 2, 2, 2
	owner, address := startOwner(t, config, 1, false)
	trainer := startTrainer(t, address, -1, nil)
	worker := startWorker(t, address, "generator", 0)
	require.Empty(t, worker.complete(worker.offer("a")).GetMessage())
	granted := worker.offer("b")
	waits := worker.send(worker.offerFrame("c"))
	worker.located("")
	trainer.located("")
	owner.kill()
	_, address = startOwner(t, config, 1, true)
	worker.located(address)
	trainer.located(address)
	require.Empty(t, worker.complete(granted).GetMessage())
	require.Equal(t, []int64{0}, trainer.train(0))

	answer, _ := worker.answer(waits)
	third := assignments(t, answer.GetOffered().GetGrant())[0]
	require.EqualValues(t, 1, third.receipt.GetAttempt())
	require.Empty(t, worker.complete(third).GetMessage())
	require.Equal(t, []int64{1}, trainer.train(1))
	require.Equal(t, []int64{2}, trainer.train(2))
}

// An id counts once. When its group has settled in a saved state the worker's sidecar keeps its prompt no longer.
func TestS1_18_AnOfferOfAKnownIdIsNotWanted(t *testing.T) {
	t.Parallel()
	_, address := startOwner(t, streamConfig(), 1, false)
	worker := startWorker(t, address, "generator", 0)
	trainer := startTrainer(t, address, -1, nil)
	for _, id := range []string{"a", "b"} {
		require.Empty(t, worker.complete(worker.offer(id)).GetMessage())
		require.Nil(t, worker.offer(id))
	}
	require.Equal(t, []int64{0, 1}, trainer.train(0))
	require.Nil(t, worker.offer("a"))
	other := worker.offerFrame("a")
	other.GetOffer().Digest[0] = 1
	require.Contains(t, worker.ask(other).GetError().GetMessage(), "pushed before with content")
	other.GetOffer().Digest = nil
	require.Contains(t, worker.ask(other).GetError().GetMessage(), "a digest of 0 bytes")
	require.Contains(t, trainer.ask(trainer.offerFrame("c")).GetError().GetMessage(), "is no worker")
	trainer.must(&wire.Frame{Member: trainer.member, Body: &wire.Frame_GetState{GetState: &wire.GetState{Rollout: 0}}})
	trainer.must(&wire.Frame{Member: trainer.member, Body: &wire.Frame_Saved{Saved: &wire.Saved{Rollout: 0}}})
	require.Len(t, worker.must(worker.offerFrame("a")).GetOffered().GetGone(), 1)
}
