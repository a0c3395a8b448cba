package leases

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// readStates fuzzes what reads state bytes: they are refused or mean exactly what they say. The checksum is repaired first: it
// would stop nearly every mutation before a field is read.
func readStates(f *testing.F, states ...[]byte) {
	for _, state := range states {
		f.Add(state[:len(state)-4])
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		b := resealed(bytes.Clone(body))
		c, err := decodeState(b)
		if err != nil {
			require.ErrorIs(t, err, ErrState)
			return
		}
		require.Equal(t, b, c.encode())
		l, err := New(Params{Source: c.source, GroupSize: c.groupSize, Unowned: c.unowned}, Term{Number: 1, Session: 1}, b)
		if err != nil {
			return
		}
		require.NoError(t, l.Verify())
		again, err := l.State(c.rollout)
		require.NoError(t, err)
		if !c.unowned {
			require.Equal(t, b, again)
		}
	})
}

// readEntries fuzzes what reads log entries: they are refused or mean exactly what they say, and a ledger that accepts one holds
// together.
func readEntries(f *testing.F, p Params, r *run) {
	for _, e := range r.Log() {
		f.Add(e.Index, e.Bytes[:len(e.Bytes)-4])
	}
	base, _, _ := r.Base()
	f.Fuzz(func(t *testing.T, index uint64, body []byte) {
		e := Entry{Index: index, Bytes: resealed(bytes.Clone(body))}
		rec, err := decodeEntry(e)
		if err != nil {
			require.ErrorIs(t, err, ErrState)
			return
		}
		require.Equal(t, e.Bytes, rec.encode())
		log := append([]Entry(nil), r.Log()[:min(index-1, uint64(len(r.Log())))]...)
		l, err := Restore(p, Term{Number: 9, Session: 9}, base, append(log, e))
		if err != nil {
			require.ErrorIs(t, err, ErrState)
			return
		}
		require.NoError(t, l.Verify())
	})
}

func FuzzStateBytes(f *testing.F) {
	r := saved(f)
	var states [][]byte
	for rollout := int64(-1); rollout < 4; rollout++ {
		state, err := r.State(rollout)
		require.NoError(f, err)
		states = append(states, state)
	}
	readStates(f, states...)
}

func FuzzLogEntry(f *testing.F) {
	r := saved(f)
	_, err := r.Rewind(2, nil)
	require.NoError(f, err)
	r.start(r.OpenLease(3, trainer, r.complete(1), false))
	lease := r.OpenLeases()[0]
	r.VoidCommit(lease, "nobody has it")
	r.Start()
	readEntries(f, stateParams, r)
}

func FuzzStreamState(f *testing.F) {
	r := pushedRun(f)
	whole, err := r.State(1)
	require.NoError(f, err)
	require.NoError(f, r.Saved(1))
	rest, err := r.State(1)
	require.NoError(f, err)
	given, err := givenRun(f).State(0)
	require.NoError(f, err)
	readStates(f, whole, rest, given)
}

func FuzzStreamEntry(f *testing.F) { readEntries(f, streamParams, pushedRun(f)) }

func FuzzPullEntry(f *testing.F) { readEntries(f, pullParams, givenRun(f)) }
