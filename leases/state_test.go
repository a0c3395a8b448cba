package leases

import (
	"encoding/binary"
	"hash/crc32"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var stateParams = Params{Source: Source{Len: 50, Epochs: 2, Shuffle: true, Seed: 9, Identity: [32]byte{1, 2, 3}}, GroupSize: 2}

// saved is a run with commits, discards, a failure, versions and disorder below its cursor.
func saved(t testing.TB) *run {
	r := newRun(t, stateParams)
	for rollout := range int64(4) {
		groups := r.complete(6)
		require.NoError(t, r.Discard("zero_std", r.Receipt(groups[1])))
		require.NoError(t, r.Requeue(r.Receipt(groups[3])))
		r.commit(r.OpenLease(rollout, trainer, []*Group{groups[0], groups[4]}, false))
		require.NoError(t, r.FinishVersion(r.StartVersion(rollout+1, rollout, []byte{byte(rollout), 7})))
	}
	g, err := r.Reserve(1)
	require.NoError(t, err)
	_, err = r.Finish(r.Dispatch(g[0], worker), &Outcome{Kind: Failure, Reason: "raised"}, Rules{MaxAttempts: 1})
	require.NoError(t, err)
	r.ok()
	return r
}

// A state that is loaded gives the same bytes again, and the same next reservation.
func TestS7_18_StateIsByteIdenticalAfterALoad(t *testing.T) {
	t.Parallel()
	r := saved(t)
	for rollout := range int64(4) {
		state, err := r.State(rollout)
		require.NoError(t, err)
		loaded, err := New(stateParams, Term{Number: 3, Session: 9}, state)
		require.NoError(t, err)
		require.NoError(t, loaded.Verify())
		again, err := loaded.State(rollout)
		require.NoError(t, err)
		require.Equal(t, state, again)
		got, err := StateRollout(state)
		require.NoError(t, err)
		require.Equal(t, rollout, got)
		require.Equal(t, rollout, loaded.LastRollout())
		other, err := New(stateParams, Term{Number: 4, Session: 2}, state)
		require.NoError(t, err)
		for loaded.Available() {
			require.Equal(t, other.ReserveNext().ID(), loaded.ReserveNext().ID())
		}
	}
}

// Base and log rebuild exactly what the state bytes of the last rollout say.
func TestRestoreFromBaseAndLogEqualsTheState(t *testing.T) {
	t.Parallel()
	r := saved(t)
	want, err := r.State(3)
	require.NoError(t, err)
	for _, base := range []int64{-1, 1, 3} {
		if base >= 0 {
			_, err := r.State(base)
			require.NoError(t, err)
			require.NoError(t, r.Saved(base))
			r.ok()
		}
		state, rollout, _ := r.Base()
		require.Equal(t, base, rollout)
		restored, err := Restore(stateParams, Term{Number: 1, Session: 4}, state, r.Log())
		require.NoError(t, err)
		require.NoError(t, restored.Verify())
		got, err := restored.State(3)
		require.NoError(t, err)
		require.Equal(t, want, got)
		require.Equal(t, r.Timeline(), restored.Timeline())
	}
}

func TestS7_12_DamagedTruncatedNewerOrForeignStateIsRefused(t *testing.T) {
	t.Parallel()
	r := saved(t)
	state, err := r.State(3)
	require.NoError(t, err)
	load := func(p Params, b []byte) error {
		_, err := New(p, Term{Number: 1, Session: 1}, b)
		require.ErrorIs(t, err, ErrState)
		return err
	}
	for i := range state {
		require.ErrorContains(t, load(stateParams, state[:i]), "checksum", "truncated to %d bytes", i)
		damaged := append([]byte(nil), state...)
		damaged[i] ^= 4
		require.ErrorContains(t, load(stateParams, damaged), "checksum", "bit flipped in byte %d", i)
	}
	newer := append([]byte(nil), state[:len(state)-4]...)
	newer[len(stateMagic)] = pullFormat + 1
	require.ErrorContains(t, load(stateParams, resealed(newer)), `field "format": 4 is not known here`)
	require.ErrorContains(t, load(stateParams, resealed(append(state[:len(state)-4:len(state)-4], 0))), `field "end"`)

	for what, change := range map[string]func(*Params){
		"size: 51 rows, the state was made with 50": func(p *Params) { p.Source.Len = 51 },
		"content: identity 00":                      func(p *Params) { p.Source.Identity = [32]byte{} },
		"order: shuffle=false":                      func(p *Params) { p.Source.Shuffle = false },
		"seed: 8, the state was made with 9":        func(p *Params) { p.Source.Seed = 8 },
		"group_size: 3, the state was made with 2":  func(p *Params) { p.GroupSize = 3 },
	} {
		p := stateParams
		change(&p)
		require.ErrorContains(t, load(p, state), what)
	}
	for range 80 {
		r.ReserveNext()
	}
	r.commit(r.OpenLease(4, trainer, nil, false))
	beyond, err := r.State(4)
	require.NoError(t, err)
	short := stateParams
	short.Source.Epochs = 1
	require.ErrorContains(t, load(short, beyond), "raise epochs")
}

func resealed(body []byte) []byte {
	return binary.LittleEndian.AppendUint32(body, crc32.Checksum(body, castagnoli))
}

// A million settled groups with ten thousand gaps below the cursor stay well below a megabyte.
func TestStateOfAMillionGroupsIsSmall(t *testing.T) {
	t.Parallel()
	c := &cut{
		source: Source{Len: 1 << 21, Identity: [32]byte{1}}, groupSize: 8, rollout: 5000, cursor: 1_000_000,
		timeline: Timeline{Number: 1}, announced: versionMark{version: 5000, contains: 5000}, settled: &ranges{},
	}
	for i := range int64(10_000) {
		c.settled.add(i*100+1, i*100+100)
	}
	c.totals.Acknowledged = Tally{Groups: c.settled.len()}
	state := c.encode()
	require.Less(t, len(state), 1<<20)
	loaded, err := decodeState(state)
	require.NoError(t, err)
	require.Equal(t, c.settled.all()[:1000], loaded.settled.all()[:1000])
	t.Logf("%d bytes", len(state))
}

// Any cut survives its encoding.
func TestAnyCutDecodesToItself(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		i := func(name string, low int64) int64 { return rapid.Int64Range(low, 1<<40).Draw(t, name) }
		c := &cut{
			source:    Source{Len: i("len", 1), Shuffle: rapid.Bool().Draw(t, "shuffle"), Seed: rapid.Uint64().Draw(t, "seed")},
			groupSize: int(i("group_size", 1)), unowned: rapid.Bool().Draw(t, "unowned"), rollout: i("rollout", -1), index: rapid.Uint64().Draw(t, "index"),
			timeline: Timeline{Number: rapid.Uint64().Draw(t, "line"), Origin: Term{Number: 3, Session: Session(rapid.Uint64().Draw(t, "origin"))}},
			settled:  &ranges{},
		}
		c.announced = versionMark{version: i("version", 0), contains: min(c.rollout, i("contains", -1)), digest: rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "digest")}
		for range rapid.IntRange(0, 30).Draw(t, "spans") {
			lo := rapid.Int64Range(0, 300).Draw(t, "lo")
			c.settled.add(lo, lo+rapid.Int64Range(1, 20).Draw(t, "n"))
		}
		c.cursor = 320
		c.source.Len = max(c.source.Len, 320)
		discarded := rapid.Int64Range(0, c.settled.len()).Draw(t, "discarded")
		c.totals.Acknowledged = Tally{Groups: c.settled.len() - discarded, Tokens: i("tokens", 0)}
		if discarded > 0 {
			c.totals.discard(rapid.StringN(0, 20, 80).Draw(t, "reason"), Tally{Groups: discarded})
		}
		b := c.encode()
		loaded, err := decodeState(b)
		require.NoError(t, err)
		require.Equal(t, b, loaded.encode())
		require.Equal(t, c.settled.all(), loaded.settled.all())
	})
}
