package simulate

import (
	"flag"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"outrider/scheduler/script"
)

var (
	seeds = flag.Int("simulate.seeds", 2000, "how many seeds to run")
	first = flag.Uint64("simulate.first", 1, "the first of them")
)

const lanes = 8

// S3.16, S10.01–S10.03, S10.05: whatever happens, no group is trained twice, none is lost, no bound is passed, and the run ends.
func TestS3_16_RunsEndWithEveryGroupOnce(t *testing.T) {
	t.Parallel()
	for lane := range lanes {
		t.Run(fmt.Sprint(lane), func(t *testing.T) {
			t.Parallel()
			for i := lane; i < *seeds; i += lanes {
				seed := *first + uint64(i)
				got := Run(seed, []int{50, 200, 400}[seed%3])
				require.Empty(t, got.Failure, "seed %d, %d of %d events:\n%s", seed, got.Kept, got.Drawn, got.Script)
			}
		})
	}
}

func TestOneSeedIsOneRun(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		r, again := random(seed), random(seed)
		s, same := drawSettings(&r), drawSettings(&again)
		require.Equal(t, s, same)
		drawn := []occurrence{{draw(&r, s.calm), 7}, {draw(&r, s.calm), 8}, {draw(&r, s.calm), 9}}
		a, b := play(s, drawn, true), play(s, drawn, true)
		require.Equal(t, a.script(seed), b.script(seed))
		played, differ, err := script.Play(a.script(seed))
		require.NoError(t, err)
		require.Empty(t, differ, "the script of a seed plays as the seed did")
		require.Equal(t, a.script(seed), played)
	}
}
