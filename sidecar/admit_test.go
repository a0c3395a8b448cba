package sidecar

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"outrider/arrowio"
	"outrider/arrowio/arrowtest"
	"outrider/arrowio/flight"
	"outrider/bridge"
	"outrider/bridge/wire"
)

// together counts the fetches under way, and lets none go on before so many are.
type together struct {
	mu        sync.Mutex // guards now and most
	now, most int
	want      int
	enough    chan struct{}
}

func (c *together) enter() {
	c.mu.Lock()
	c.now++
	c.most = max(c.most, c.now)
	if c.now == c.want {
		close(c.enough)
		c.want = 0
	}
	c.mu.Unlock()
	<-c.enough
}

func (c *together) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now--
}

// spread is a shard whose rows are with eight holders of another host, a segment each of group i, and their publication.
func spread(t *testing.T, first uint64, count *together) (*wire.Publication, *wire.Shard) {
	t.Helper()
	counting := func(find flight.Find) flight.Find {
		return func(token string, ticket []byte) (flight.Found, error) {
			count.enter()
			defer count.leave()
			return find(token, ticket)
		}
	}
	publication, shard := &wire.Publication{}, &wire.Shard{}
	for i := range uint64(2 * holdersAtOnce) {
		session := first + i
		publication.Endpoints = append(publication.Endpoints, apart(t, session, testAccess(t), counting, arrowtest.Rollouts(t, 2, int64(i))))
		shard.Locators = append(shard.Locators, &wire.Locator{Segment: &wire.SegmentId{Holder: session, Number: 1}})
	}
	return publication, shard
}

func TestS11_10_AShardIsFetchedFromSomeHoldersAtATimeInItsOrder(t *testing.T) {
	t.Parallel()
	count := &together{want: holdersAtOnce, enough: make(chan struct{})}
	publication, shard := spread(t, 0x111040, count)
	p := &Process{host: "this"}
	t.Cleanup(p.shares.stop)
	ids, fds, err := p.fetchShard(testAccess(t), publication, shard)
	require.NoError(t, err)
	require.Equal(t, holdersAtOnce, count.most)
	for i, fd := range fds {
		require.Equal(t, shard.GetLocators()[i].GetSegment(), ids[i])
		segment, err := arrowio.Open(fd)
		require.NoError(t, err)
		require.Equal(t, []int64{int64(i), int64(i)}, arrowtest.Groups(segment))
		require.NoError(t, segment.Close())
	}
}

func TestS11_10_AShardOfWhichOneHolderIsGoneLeavesNothing(t *testing.T) {
	t.Parallel()
	count := &together{want: 1, enough: make(chan struct{})}
	publication, shard := spread(t, 0x111050, count)
	p := &Process{host: "this"}
	t.Cleanup(p.shares.stop)
	shard.Locators[2].Segment.Number = 9 // of a group that was let go of
	ids, fds, err := p.fetchShard(testAccess(t), publication, shard)
	require.Equal(t, bridge.Revoked, kindOf(err), "take the rollout again")
	require.ErrorContains(t, err, "segment 9 of session 0000000000111052")
	require.Empty(t, ids)
	require.Empty(t, fds)

	publication.Endpoints = publication.GetEndpoints()[:7]
	_, _, err = p.fetchShard(testAccess(t), publication, shard)
	require.Equal(t, bridge.Revoked, kindOf(err))
	require.ErrorContains(t, err, "session 0000000000111057, which held data of rollout 0, is gone")
}
