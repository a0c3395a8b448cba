package sidecar

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"outrider/bridge/wire"
)

const (
	// groupsToAKill and flatSlack are S10.10's own: a kill every so many groups, and what a garbage collector may take in between, in bytes.
	groupsToAKill = 50
	flatSlack     = 16 << 20
	groupsOfLong  = "OUTRIDER_LONG"
)

// footprint is what a sidecar takes of its host.
type footprint struct {
	resident    int64 // bytes
	descriptors int
	segments    int
}

func footprintOf(t *testing.T, pid int) footprint {
	t.Helper()
	statm, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	require.NoError(t, err)
	pages, err := strconv.ParseInt(strings.Fields(string(statm))[1], 10, 64)
	require.NoError(t, err)
	out := footprint{resident: pages * int64(os.Getpagesize())}
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	fds, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, fd := range fds {
		out.descriptors++
		if to, err := os.Readlink(dir + "/" + fd.Name()); err == nil && strings.Contains(to, "/memfd:") {
			out.segments++
		}
	}
	return out
}

// trainNext takes and commits a rollout in one, and lets go of its memory.
func (r *role) trainNext(rollout int64) {
	r.t.Helper()
	answer, fds := r.answer(r.send(&wire.Frame{Member: r.member, Body: &wire.Frame_Next{Next: &wire.Next{Rollout: rollout}}}))
	require.Empty(r.t, answer.GetError().GetMessage())
	require.Len(r.t, answer.GetAdmitted().GetGroups(), 2)
	for _, fd := range fds {
		require.NoError(r.t, unix.Close(fd))
	}
}

// The long run: OUTRIDER_LONG=10000 trains that many groups.
func TestS10_10_MemoryStaysFlatThoughWorkersAreKilled(t *testing.T) {
	t.Parallel()
	total := int64(8 * groupsToAKill)
	if long := os.Getenv(groupsOfLong); long != "" {
		var err error
		total, err = strconv.ParseInt(long, 10, 64)
		require.NoError(t, err)
	}
	owner, address := startOwner(t, testConfig(), 64, false)
	trainer := startTrainer(t, address, -1, nil)
	stays, dies := startWorker(t, address, "stays", 2), startWorker(t, address, "dies", 2)
	sidecars := map[string]*shim{"owner": owner, "trainer": trainer.shim, "worker": stays.shim}
	early, late := map[string]footprint{}, map[string]footprint{}
	kills := 0
	for rollout := range total / 2 {
		stays.finish(1)
		dies.finish(1)
		kill := rollout%(groupsToAKill/2) == groupsToAKill/2-1
		if kill { // what it has finished and what it runs goes elsewhere
			dies.kill()
			kills++
			dies = startWorker(t, address, fmt.Sprintf("dies-%d", kills), 2)
			dies.finish(1)
		}
		trainer.trainNext(rollout)
		if !kill {
			continue
		}
		// As a job does with each checkpoint: what came before need not be kept.
		trainer.must(&wire.Frame{Member: trainer.member, Body: &wire.Frame_GetState{GetState: &wire.GetState{Rollout: rollout}}})
		trainer.must(&wire.Frame{Member: trainer.member, Body: &wire.Frame_Saved{Saved: &wire.Saved{Rollout: rollout}}})
		seen := early
		if rollout >= total/4 {
			seen = late
		}
		for name, one := range sidecars {
			now, most := footprintOf(t, one.cmd.Process.Pid), seen[name]
			seen[name] = footprint{max(now.resident, most.resident), max(now.descriptors, most.descriptors), max(now.segments, most.segments)}
		}
	}
	stats := trainer.stats()
	require.Equal(t, total, stats.GetBooks().GetAcknowledged().GetGroups())
	require.GreaterOrEqual(t, stats.GetRequeued(), int64(kills), "each kill has cost a group")
	for name := range sidecars {
		t.Logf("%s after %d kills: resident %d kB, then %d kB; descriptors %d, then %d; segments %d, then %d", name, kills, early[name].resident>>10, late[name].resident>>10,
			early[name].descriptors, late[name].descriptors, early[name].segments, late[name].segments)
		require.LessOrEqual(t, late[name].resident, early[name].resident+flatSlack, name)
		require.LessOrEqual(t, late[name].descriptors, early[name].descriptors+4, name)
		require.LessOrEqual(t, late[name].segments, early[name].segments+4, name)
	}
}
