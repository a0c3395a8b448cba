package sidecar

import (
	"testing"

	"github.com/stretchr/testify/require"

	"outrider/bridge/wire"
)

// copyOf takes what a trainer's shim was given: the last base with its entries, and those since.
func copyOf(trainer *role) (base []byte, log []*wire.Entry) {
	trainer.mu.Lock()
	defer trainer.mu.Unlock()
	for _, frame := range trainer.pushes {
		if set := frame.GetSetBase(); set != nil {
			base, log = set.GetBase(), set.GetLog()
		}
		if entry := frame.GetAppend().GetEntry(); entry != nil {
			log = append(log, entry)
		}
	}
	return base, log
}

func TestS12_16_TheShimsCopyOfTheLogOutlivesSidecarAndOwner(t *testing.T) {
	t.Parallel()
	owner, address := startOwner(t, testConfig(), 16, false)
	worker := startWorker(t, address, "engine-0", 4)
	trainer := startTrainer(t, address, -1, nil)
	worker.finish(4)
	trainer.train(0)
	trainer.train(1)
	trainer.kill()
	worker.located("")
	owner.kill()
	_, address = startOwner(t, testConfig(), 16, true)
	worker.located(address)

	base, log := copyOf(trainer)
	require.Len(t, log, 2)
	back := &wire.TrainerRole{Role: "trainer", WorldSize: 1, Generation: 1, StateAt: 1, Base: base, Log: log, Copied: true}
	trainer = startMember(t, address, &wire.Join{Name: "trainer", Trainer: back})
	stats := trainer.stats()
	require.EqualValues(t, 2, stats.GetNextRollout())
	require.EqualValues(t, 4, stats.GetBooks().GetAcknowledged().GetGroups())
	require.Zero(t, stats.GetRewinds(), "nothing is rewound")
	worker.finish(2)
	require.Equal(t, []int64{4, 5}, trainer.train(2))
	_, log = copyOf(trainer)
	require.EqualValues(t, 3, log[2].GetIndex(), "the new sidecar has the whole log again, and its shim too")
}

func TestACopyIsTheSidecarsOwnLogOnceTheOwnerHasGivenIt(t *testing.T) {
	t.Parallel()
	entry := func(index uint64) *wire.Entry { return &wire.Entry{Index: index, Data: []byte{byte(index)}} }
	joined := func(r *rankLog) *wire.TrainerRole {
		role := &wire.TrainerRole{}
		r.fillJoin(role)
		return role
	}
	brought := &wire.TrainerRole{StateAt: 4, Base: []byte("base"), Log: []*wire.Entry{entry(1), entry(2)}, Copied: true}
	r := newRankLog(brought)
	require.Empty(t, brought.GetLog(), "kept once")
	require.True(t, joined(r).GetCopied(), "another life of the owner hears the same before it has decided")
	require.Len(t, joined(r).GetLog(), 2)
	r.setBase(&wire.SetBase{Base: []byte("base"), Log: []*wire.Entry{entry(1)}})
	require.False(t, joined(r).GetCopied())
	require.Equal(t, []*wire.Entry{entry(1)}, joined(r).GetLog(), "what the owner did not give is not kept")

	r = newRankLog(&wire.TrainerRole{Base: []byte("base"), Log: []*wire.Entry{entry(1)}})
	require.Empty(t, joined(r).GetBase(), "a log is the sidecar's own, or said to be a copy")
}

func TestAnEntryOfALaterLifeOfTheOwnerTakesThePlaceOfWhatWasNeverAnswered(t *testing.T) {
	t.Parallel()
	entry := func(index uint64, data string) *wire.Entry { return &wire.Entry{Index: index, Data: []byte(data)} }
	r := newRankLog(&wire.TrainerRole{StateAt: -1})
	r.setBase(&wire.SetBase{Index: 3, Base: []byte("base")})
	for index := uint64(3); index <= 6; index++ {
		r.append(entry(index, "first"))
	}
	require.Equal(t, []*wire.Entry{entry(4, "first"), entry(5, "first"), entry(6, "first")}, r.log, "the base has the entry 3")
	r.append(entry(5, "first"))
	require.Len(t, r.log, 3, "the same again")
	r.append(entry(5, "second"))
	require.Equal(t, []*wire.Entry{entry(4, "first"), entry(5, "second")}, r.log)
}

func TestS12_06_ARankSaysThatItsWeightsAndTheRunAreApart(t *testing.T) {
	t.Parallel()
	r := newRankLog(&wire.TrainerRole{StateAt: 4})
	said := func() *wire.TrainerRole {
		role := &wire.TrainerRole{}
		r.fillJoin(role)
		return role
	}
	r.rewound(4)
	require.False(t, said().GetUnsaid(), "the run is where the weights are")
	r.rewound(2)
	require.True(t, said().GetUnsaid(), "the weights may hold what replays")
	r.restored(&wire.Restored{Rollout: 2})
	require.False(t, said().GetUnsaid())
	require.EqualValues(t, 2, said().GetStateAt())
}
