package sidecar

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"outrider/arrowio"
	"outrider/arrowio/arrowtest"
	"outrider/bridge"
	"outrider/bridge/wire"
)

// A rank of another host adds a column to the rows that it has admitted; a rank of this host reads it, also once the batch is committed.
func TestS6_13_ARankOfAnotherHostAddsAColumn(t *testing.T) {
	t.Parallel()
	far, here := otherHost(t)
	owner := startShim(t)
	table := shared(t, arrowtest.Table(t, 8))
	address := owner.must(&wire.Frame{Body: &wire.Frame_Own{Own: &wire.Own{Run: testRun, Config: testConfig(), Ip: here}}}, table).GetOwned().GetAddress()
	require.NoError(t, unix.Close(table))
	far.located(address)
	answer, fds := far.answer(far.send(&wire.Frame{Body: &wire.Frame_Join{Join: &wire.Join{
		Run: testRun, Address: address, Name: "critic-0", Trainer: &wire.TrainerRole{Role: "critic", WorldSize: 1, Generation: 1, StateAt: -1},
	}}}))
	require.Empty(t, answer.GetError().GetMessage())
	bridge.CloseDescriptors(fds)
	critic := &role{shim: far, member: answer.GetJoined().GetMember(), joined: answer.GetJoined()}
	actor := startTrainer(t, address, -1, nil)
	startWorker(t, address, "engine-0", 64).finish(2)

	lease := actor.take(0)
	publish := actor.publishFrame(lease)
	publish.GetPublish().Roles["critic"] = 1
	publication := actor.must(publish).GetPublication()
	for _, rank := range []*role{actor, critic} {
		admit := rank.admitFrame(publication)
		if rank == critic {
			admit.GetAdmit().Role = "critic"
		}
		answer, fds := rank.answer(rank.send(admit))
		require.Empty(t, answer.GetError().GetMessage())
		bridge.CloseDescriptors(fds)
	}
	values := arrowtest.Table(t, 4)
	wanted, err := values.ContentDigest()
	require.NoError(t, err)
	name := values.Schema().Field(0).Name
	column := shared(t, values)
	critic.must(&wire.Frame{Member: critic.member, Body: &wire.Frame_AddColumns{AddColumns: &wire.AddColumns{
		Admission: lease.GetAdmission(), Shards: []uint32{0}, Names: []string{name},
	}}}, column)
	require.NoError(t, unix.Close(column))

	for _, when := range []string{"open", "committed"} {
		got := actor.send(&wire.Frame{Member: actor.member, Body: &wire.Frame_GetColumn{GetColumn: &wire.GetColumn{
			Admission: lease.GetAdmission(), Shards: []uint32{0}, Name: name,
		}}})
		answer, fds := actor.answer(got)
		require.Empty(t, answer.GetError().GetMessage(), when)
		require.Len(t, fds, 1)
		require.EqualValues(t, 4, answer.GetAdmitted().GetLocators()[0].GetRows())
		segment, err := arrowio.Open(fds[0])
		require.NoError(t, err)
		digest, err := segment.ContentDigest()
		require.NoError(t, err)
		require.Equal(t, wanted, digest)
		require.NoError(t, segment.Close())
		if when == "open" {
			require.Equal(t, "committed", actor.must(actor.commitFrame(lease)).GetSettled().GetStatus())
		}
	}
}
