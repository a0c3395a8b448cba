package sidecar

import (
	"testing"

	"github.com/stretchr/testify/require"

	"outrider/bridge/wire"
	"outrider/leases"
)

func streamConfig() *wire.Config {
	config := testConfig()
	config.Source = &wire.Source{Kind: "stream", Identity: make([]byte, 32)}
	return config
}

func (r *role) push(ids ...string) *wire.Frame {
	push := &wire.Push{Wait: true}
	for _, id := range ids {
		push.Ids, push.Digests, push.Rows = append(push.Ids, []byte(id)), append(push.Digests, make([]byte, 16)), append(push.Rows, []byte("row "+id))
	}
	return r.must(&wire.Frame{Member: r.member, Body: &wire.Frame_Push{Push: push}})
}

// No trainer has a log of what was pushed when the owner is killed: the producer's sidecar brings it to the next life.
func TestS1_12_TheProducersSidecarKeepsWhatItPushed(t *testing.T) {
	t.Parallel()
	owner, address := startOwner(t, streamConfig(), 1, false)
	producer := startMember(t, address, &wire.Join{Name: "producer"})
	require.EqualValues(t, 2, producer.push("a", "b").GetPushed().GetFresh())
	require.EqualValues(t, 1, producer.push("b", "c").GetPushed().GetFresh())
	producer.located("")
	owner.kill()
	owner, address = startOwner(t, streamConfig(), 1, true)
	producer.located(address)
	worker := startWorker(t, address, "engine-0", 8)
	trainer := startTrainer(t, address, -1, nil)
	require.EqualValues(t, 1, producer.push("d", "a").GetPushed().GetFresh())
	worker.finish(4)
	require.Equal(t, []int64{0, 1}, trainer.train(0))

	// What has settled in a saved state is let go; the rest is brought again, and nothing doubles.
	trainer.must(&wire.Frame{Member: trainer.member, Body: &wire.Frame_GetState{GetState: &wire.GetState{Rollout: 0}}})
	trainer.must(&wire.Frame{Member: trainer.member, Body: &wire.Frame_Saved{Saved: &wire.Saved{Rollout: 0}}})
	require.Len(t, producer.push("a", "b", "c").GetPushed().GetGone(), 2)
	for _, r := range []*role{producer, worker, trainer} {
		r.located("")
	}
	owner.kill()
	_, address = startOwner(t, streamConfig(), 1, true)
	for _, r := range []*role{producer, worker, trainer} {
		r.located(address)
	}
	producer.must(&wire.Frame{Member: producer.member, Body: &wire.Frame_EndStream{EndStream: &wire.EndStream{}}})
	require.Equal(t, []int64{2, 3}, trainer.train(1))
}

// Workers get what was pushed with the grant.
func TestS1_11_AGrantCarriesWhatWasPushed(t *testing.T) {
	t.Parallel()
	_, address := startOwner(t, streamConfig(), 1, false)
	worker := startWorker(t, address, "engine-0", 8)
	producer := startMember(t, address, &wire.Join{Name: "producer"})
	producer.push("a", "b")
	var rows []string
	for len(rows) < 2 {
		grant := worker.next(func(f *wire.Frame) bool { return f.GetGrant() != nil }).GetGrant()
		for _, row := range grant.GetPushed() {
			rows = append(rows, string(row))
		}
	}
	require.Equal(t, []string{"row a", "row b"}, rows)
	uneven := &wire.Push{Ids: [][]byte{[]byte("c")}, Rows: [][]byte{[]byte("row")}}
	require.Contains(t, producer.ask(&wire.Frame{Member: producer.member, Body: &wire.Frame_Push{Push: uneven}}).GetError().GetMessage(), "1 ids, 0 digests")
	uneven.Digests = [][]byte{{1}}
	require.Contains(t, producer.ask(&wire.Frame{Member: producer.member, Body: &wire.Frame_Push{Push: uneven}}).GetError().GetMessage(), "a digest of 1 bytes")
}

func TestS1_12_AProducersSidecarLetsGoOfWhatHasSettled(t *testing.T) {
	t.Parallel()
	m := &member{}
	m.letGo([][]byte{{1}})
	push := &wire.Push{}
	var gone [][]byte
	for _, id := range []string{"a", "b", "c"} {
		push.Ids, push.Digests, push.Rows = append(push.Ids, []byte(id)), append(push.Digests, make([]byte, 16)), append(push.Rows, []byte("row"))
		name := leases.NamePush([]byte(id))
		gone = append(gone, name[:])
	}
	m.keep(push)
	require.Len(t, m.producer.kept, 3)
	m.letGo(gone[:2])
	require.Len(t, m.producer.kept, 1)
	require.Equal(t, []leases.PushID{leases.NamePush([]byte("c"))}, m.producer.order)
	m.letGo(gone)
	require.Empty(t, m.producer.kept)
	require.Empty(t, m.producer.order)
}
