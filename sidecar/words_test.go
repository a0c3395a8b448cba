package sidecar

import (
	"fmt"
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

// What an inventory, or a keeper's word, says of an execution is its data, whatever the outcome in it says that it is of: two groups never
// have one group's rows.
func TestS10_03_DataIsOfTheExecutionThatIsNamedWithIt(t *testing.T) {
	t.Parallel()
	table := arrowtest.Table(t, 8)
	defer table.Close()
	said := &heard{parts: map[protoreflect.FullName][]proto.Message{}}
	join := func(session uint64) *wire.Join {
		return &wire.Join{Session: session, Endpoint: &wire.Endpoint{Session: session, Host: "here", Socket: fmt.Sprint(session)}}
	}
	for name, tell := range map[string]func(o *ownerAlone, worker *wire.Join, held []*wire.Held){
		"inventory": func(o *ownerAlone, worker *wire.Join, held []*wire.Held) {
			worker.Inventory = &wire.Inventory{Held: held}
			o.attach(worker)
		},
		"keeper": func(o *ownerAlone, _ *wire.Join, held []*wire.Held) {
			o.attach(join(15))
			o.say(15, &wire.Frame{Id: 1, Body: &wire.Frame_Kept{Kept: &wire.Kept{Held: held}}})
		},
	} {
		own := &wire.Own{Run: testRun, Config: testConfig()}
		first, err := newOwnerAlone(t, own, table, said)
		require.NoError(t, err)
		defer first.close()
		trainer, worker := join(11), join(12)
		trainer.Trainer, worker.Worker = &wire.TrainerRole{Role: "trainer", WorldSize: 1, StateAt: -1}, &wire.WorkerRole{Slots: 4}
		first.attach(trainer)
		first.attach(worker)
		require.GreaterOrEqual(t, len(first.granted), 2)
		a, b := first.granted[0], first.granted[1]
		held := []*wire.Held{{Receipt: a, Outcome: first.success(b)}, {Receipt: b, Outcome: first.success(b)}}

		own.Recover = true
		again, err := newOwnerAlone(t, own, table, said)
		require.NoError(t, err)
		defer again.close()
		tell(again, worker, held)
		first.log.fillJoin(trainer.GetTrainer())
		again.attach(trainer)
		for _, h := range held {
			data := again.data[again.reports[reportOf(h.GetReceipt())]]
			require.NotNil(t, data, name)
			require.Equal(t, h.GetOutcome().GetLocator().GetSegment().GetNumber(), data.locator.GetSegment().GetNumber(), name)
		}
	}
}
