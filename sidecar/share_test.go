package sidecar

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"outrider/arrowio/arrowtest"
	"outrider/arrowio/flight"
	"outrider/bridge"
	"outrider/bridge/wire"
)

// counted is a holder of another host with segments 1 and 2 of a session, and the number of fetches from it.
func counted(t *testing.T, session uint64) (*wire.Endpoint, *atomic.Int32) {
	t.Helper()
	count := &atomic.Int32{}
	counting := func(find flight.Find) flight.Find {
		return func(token string, ticket []byte) (flight.Found, error) {
			count.Add(1)
			return find(token, ticket)
		}
	}
	return apart(t, session, testAccess(t), counting, arrowtest.Rollouts(t, 2, 3, 4), arrowtest.Rollouts(t, 2, 5)), count
}

// inodes names the memory behind descriptors, and closes them.
func inodes(t *testing.T, fds []int) []uint64 {
	t.Helper()
	var all []uint64
	for _, fd := range fds {
		var st unix.Stat_t
		require.NoError(t, unix.Fstat(fd, &st))
		all = append(all, st.Ino)
		require.NoError(t, unix.Close(fd))
	}
	return all
}

func TestS11_19_EightSidecarsOfAHostFetchASegmentOnce(t *testing.T) {
	t.Parallel()
	const session = 0x1119
	from, count := counted(t, session)
	ids := []*wire.SegmentId{{Holder: session, Number: 1}, {Holder: session, Number: 2}}
	access, ranks := testAccess(t), make([]*Process, 8)
	got := make([][]int, len(ranks))
	failed := make([]error, len(ranks))
	var all sync.WaitGroup
	for i := range ranks {
		ranks[i] = &Process{host: "this"}
		t.Cleanup(ranks[i].shares.stop)
		all.Add(1)
		go func() {
			defer all.Done()
			got[i], failed[i] = ranks[i].fetch(access, from, ids, 4)
		}()
	}
	all.Wait()
	var memory []uint64
	for i := range ranks {
		require.NoError(t, failed[i])
		if these := inodes(t, got[i]); i == 0 {
			memory = these
		} else {
			require.Equal(t, memory, these, "rank %d", i)
		}
	}
	require.EqualValues(t, len(ids), count.Load())

	t.Run("a commit ends the need", func(t *testing.T) {
		for _, rank := range ranks {
			rank.shares.committed(3)
		}
		fds, err := ranks[5].fetch(testAccess(t), from, ids, 4)
		require.NoError(t, err)
		require.Equal(t, memory, inodes(t, fds))
		for _, rank := range ranks {
			rank.shares.committed(4)
			for _, own := range rank.shares.byName {
				require.Empty(t, own.landed)
			}
		}
	})
	t.Run("a share that nobody asks is given up", func(t *testing.T) {
		for _, rank := range ranks {
			rank.shares.committed(5)
			rank.shares.committed(6)
			require.Empty(t, rank.shares.byName)
		}
	})
	t.Run("another takes over when the one that fetched has ended", func(t *testing.T) {
		before := count.Load()
		for _, rank := range ranks {
			fds, err := rank.fetch(testAccess(t), from, ids[:1], 7)
			require.NoError(t, err)
			inodes(t, fds)
			rank.shares.stop()
		}
		require.EqualValues(t, len(ranks), count.Load()-before)
	})
}

func TestS11_19_AShareAnswersNobodyWithoutTheToken(t *testing.T) {
	t.Parallel()
	const session = 0x111901
	from, _ := counted(t, session)
	p := &Process{host: "this"}
	t.Cleanup(p.shares.stop)
	ids := []*wire.SegmentId{{Holder: session, Number: 1}}
	fds, err := p.fetch(testAccess(t), from, ids, 1)
	require.NoError(t, err)
	inodes(t, fds)
	_, err = askShare(shareName(testRun.GetToken(), session), "another", ids, 1)
	require.Equal(t, bridge.Refused, kindOf(err))
}
