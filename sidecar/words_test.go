package sidecar

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"outrider/arrowio/arrowtest"
	"outrider/bridge/wire"
	"outrider/leases"
)

// A keeper's sidecar says again what it keeps when the owner is back, and then hears of the same data from its worker. The owner has
// not been told of the prompt yet at the first word, and has been at the second.
func TestS10_11_WhatOneWordDoesNotKeepAnotherMay(t *testing.T) {
	t.Parallel()
	table := arrowtest.Table(t, 8)
	defer table.Close()
	config := testConfig()
	config.Source = &wire.Source{Kind: "stream", Identity: make([]byte, 32), Waiting: 8}
	config.BatchGroups = 1
	said := &heard{parts: map[protoreflect.FullName][]proto.Message{}}
	join := func(session uint64, socket string) *wire.Join {
		return &wire.Join{Session: session, Endpoint: &wire.Endpoint{Session: session, Host: "here", Socket: socket}}
	}
	worker, keeper := join(12, "worker"), join(15, "keeper")
	worker.Worker, keeper.Worker = &wire.WorkerRole{Slots: 2, Engine: true}, &wire.WorkerRole{}
	trainer := func(o *ownerAlone) *wire.Join {
		j := join(11, "trainer")
		j.Trainer = &wire.TrainerRole{Role: "trainer", WorldSize: 1}
		o.log.fillJoin(j.GetTrainer())
		return j
	}
	push := &wire.Frame{Body: &wire.Frame_Push{Push: &wire.Push{Ids: [][]byte{{1}}, Digests: [][]byte{make([]byte, 16)}, Rows: [][]byte{{1}}}}}

	first, err := newOwnerAlone(t, &wire.Own{Run: testRun, Config: config}, table, said)
	require.NoError(t, err)
	defer first.close()
	first.attach(trainer(first))
	first.attach(worker)
	first.attach(join(14, "producer"))
	first.say(14, push)
	require.Len(t, first.granted, 1)
	receipt := first.granted[0]
	kept := &wire.Frame{Id: 1, Body: &wire.Frame_Kept{Kept: &wire.Kept{Held: []*wire.Held{{Receipt: receipt, Outcome: first.success(receipt)}}}}}

	again, err := newOwnerAlone(t, &wire.Own{Run: testRun, Config: config, Recover: true}, table, said)
	require.NoError(t, err)
	defer again.close()
	again.log = newRankLog(&wire.TrainerRole{StateAt: -1}) // the push was in no log yet
	again.attach(keeper)
	again.say(15, kept)
	again.attach(join(14, "producer"))
	again.say(14, push)
	again.say(15, kept)
	again.attach(trainer(again))
	again.scheduler.Advance(1e10)
	again.turn()
	again.say(11, &wire.Frame{Id: 2, Body: &wire.Frame_Take{Take: &wire.Take{Rollout: 0}}})
	require.Len(t, again.data, 1)
	for _, data := range again.data {
		require.Equal(t, []leases.Session{15}, data.keepers)
	}
}
