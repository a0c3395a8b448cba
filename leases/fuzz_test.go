package leases

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// Hostile state bytes are refused or mean exactly what they say. The checksum is repaired first: it would stop
// nearly every mutation before a field is read.
func FuzzStateBytes(f *testing.F) {
	r := saved(f)
	for rollout := int64(-1); rollout < 4; rollout++ {
		state, err := r.State(rollout)
		require.NoError(f, err)
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

// Hostile log entries are refused or mean exactly what they say, and a ledger that accepts one holds together.
func FuzzLogEntry(f *testing.F) {
	r := saved(f)
	_, err := r.Rewind(2, nil)
	require.NoError(f, err)
	r.start(r.OpenLease(3, trainer, r.complete(1), false))
	lease := r.OpenLeases()[0]
	r.VoidCommit(lease, "nobody has it")
	r.Start()
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
		l, err := Restore(stateParams, Term{Number: 9, Session: 9}, base, append(log, e))
		if err != nil {
			require.ErrorIs(t, err, ErrState)
			return
		}
		require.NoError(t, l.Verify())
	})
}

// Hostile bytes of a stream's state are refused or mean exactly what they say.
func FuzzStreamState(f *testing.F) {
	r := pushedRun(f)
	state, err := r.State(1)
	require.NoError(f, err)
	f.Add(state[:len(state)-4])
	require.NoError(f, r.Saved(1))
	state, err = r.State(1)
	require.NoError(f, err)
	f.Add(state[:len(state)-4])
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

// Hostile log entries of a stream are refused or mean exactly what they say.
func FuzzStreamEntry(f *testing.F) {
	r := pushedRun(f)
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
		l, err := Restore(streamParams, Term{Number: 9, Session: 9}, base, append(log, e))
		if err != nil {
			require.ErrorIs(t, err, ErrState)
			return
		}
		require.NoError(t, l.Verify())
	})
}
