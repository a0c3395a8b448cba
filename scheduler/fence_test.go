package scheduler_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"outrider/scheduler/script"
)

// policies are all orders with every way to treat what is too old, what does not fit, and what is charged.
func policies(each func(policy string)) {
	for _, order := range []string{"fifo", "lifo", "windowed window=3", "freshest"} {
		for _, stale := range []string{"max-staleness=-1", "max-staleness=0 stale=requeue", "max-staleness=1 stale=drop", "max-staleness=1 pace"} {
			for _, full := range []string{"block", "evict"} {
				for _, submission := range []string{"sample", "group"} {
					each(fmt.Sprintf("order=%s %s full=%s submission=%s", order, stale, full, submission))
				}
			}
		}
	}
}

// play runs lines of a story; none breaks a promise.
func play(t *testing.T, r *script.Runner, lines ...string) string {
	t.Helper()
	out := ""
	for _, line := range lines {
		said := r.Line(line)
		require.NotContains(t, said, "usage", line)
		require.NotContains(t, said, "BROKEN", line)
		out += said
	}
	return out
}

// finish ends the oldest n executions of a worker.
func finish(t *testing.T, r *script.Runner, worker string, n int) (out string) {
	t.Helper()
	running := r.View(worker).Running
	for _, x := range running[:min(n, len(running))] {
		out += play(t, r, "success "+x.Name)
	}
	return out
}

// A cut is taken while groups are finished, buffered, leased and executing; a run that starts from it, with the trainer's checkpoint,
// trains what is left: each prompt is in the trainer's weights once, by its own lineage, unless the books say that it was discarded.
func TestS7_17_ACutTrainsEveryPromptOnceUnderEveryOrderAndPolicy(t *testing.T) {
	t.Parallel()
	policies(func(policy string) {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			for leased := range 3 { // nothing, taken, published and admitted
				for ended := range 7 {
					r, rows := script.New(), 12
					line := fmt.Sprintf("owner len=%d epochs=1 group-size=2 batch=2 executing=10 %s", rows, policy)
					play(t, r, line, "worker w1 slots=10", "trainer t1", "train t1 update")
					if leased > 0 {
						finish(t, r, "w1", 2)
						taken := play(t, r, "take t1 rollout=1") + finish(t, r, "w1", 2)
						if leased > 1 && strings.Contains(taken, "lease a2") {
							play(t, r, "publish a2", "admit a2 t1")
						}
					}
					finish(t, r, "w1", ended)
					play(t, r, "state 0 as=c of=t1", line+" state=c", "worker w1 slots=10", "trainer t1 checkpoint=c")
					for rollout := int64(1); r.View("t1").At < rollout-1 || !strings.Contains(play(t, r, "train t1 update"), "end of run"); rollout++ {
						require.Less(t, rollout, int64(2*rows))
					}
					play(t, r, "proof t1 over")
				}
			}
		})
	})
}

// A fence needs no place that only what it keeps out could free: with every bound met, a hold, an update and another hold behind it
// are reached when what runs has ended, and by nothing else.
func TestS8_12_AFenceIsReachedByTheEndOfWhatRuns(t *testing.T) {
	t.Parallel()
	policies(func(policy string) {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			bounds := "completed=2 retained=5"
			if strings.Contains(policy, "windowed") || strings.Contains(policy, "pace") { // a batch waits for certain groups
				bounds = "completed=4 retained=4"
			}
			for ended := range 9 {
				r := script.New()
				play(t, r, fmt.Sprintf("owner len=40 group-size=2 batch=1 executing=4 bytes=300 frees %s %s", bounds, policy),
					"worker w1 slots=4 engine", "worker w2 slots=4", "trainer t1", "client d1")
				for i := range ended {
					finish(t, r, []string{"w1", "w2"}[i%2], 1)
				}
				if ended%3 == 1 {
					play(t, r, "take t1 rollout=0") // a lease is open while the fence waits
				}
				play(t, r, "hold d1 reason=evaluation", "frontier h1", "update t1 version=1 mode=drain", "hold d1 reason=after", "frontier h2")
				for _, worker := range []string{"w1", "w2"} {
					for len(r.View(worker).Running) > 0 {
						finish(t, r, worker, 1)
					}
				}
				require.NotContains(t, play(t, r, "frontier h1"), "waits")
				require.Contains(t, play(t, r, "release h1"), "h3 send version 1 to [w1]")
				require.Contains(t, play(t, r, "confirm w1 version=1", "record h3"), "the frontier of h2 has ended")
				play(t, r, "release h2", "train t1 to=5 update", "proof t1")
			}
		})
	})
}
