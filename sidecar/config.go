package sidecar

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"outrider/arrowio"
	"outrider/bridge"
	"outrider/bridge/wire"
	"outrider/leases"
	"outrider/scheduler"
)

// schedulerConfig translates what the user asked for. A word that is not known is refused here, a number that cannot work by the scheduler.
func schedulerConfig(own *wire.Own, table *arrowio.Segment, session uint64) (scheduler.Config, error) {
	c := own.GetConfig()
	source, err := sourceOf(c.GetSource(), table)
	if err != nil {
		return scheduler.Config{}, err
	}
	words := wordReader{}
	config := scheduler.Config{
		Source:       source,
		GroupSize:    int(c.GetGroupSize()),
		BatchGroups:  int(c.GetBatchGroups()),
		BatchSamples: int64(c.GetBatchSamples()), BatchTokens: int64(c.GetBatchTokens()),
		Waiting: c.GetSource().GetWaiting(),
		Limits: scheduler.Limits{
			Executing: int64(c.GetExecuting()), Retained: int64(c.GetRetained()), Completed: int64(c.GetCompleted()), Bytes: int64(c.GetBytes()),
		},
		Policy: scheduler.Policy{
			Submission: pick(&words, "submission", c.GetSubmission(), map[string]scheduler.Submission{"sample": scheduler.BySample, "group": scheduler.ByGroup}),
			Order:      pick(&words, "order", c.GetOrder(), map[string]scheduler.Order{"fifo": scheduler.FIFO, "lifo": scheduler.LIFO, "windowed": scheduler.Windowed, "freshest": scheduler.Freshest}),
			Window:     c.GetWindow(),
			Pace:       c.GetPace(),

			BatchesPerUpdate: int(c.GetBatchesPerUpdate()),

			Last:         pick(&words, "last_batch", c.GetLastBatch(), map[string]scheduler.Last{"": scheduler.LastShort, "short": scheduler.LastShort, "drop": scheduler.LastDrop, "next_epoch": scheduler.LastNextEpoch}),
			MaxStaleness: c.GetMaxStaleness(),
			Stale:        pick(&words, "stale", c.GetStale(), map[string]scheduler.Stale{"requeue": scheduler.StaleRequeue, "drop": scheduler.StaleDrop}),
			Full:         pick(&words, "full", c.GetFull(), map[string]scheduler.Full{"block": scheduler.FullBlock, "evict": scheduler.FullEvict}),
			MaxAttempts:  int(c.GetMaxAttempts()),
			MaxRequeues:  int(c.GetMaxRequeues()),
			MaxFailed:    maxFailed(c.GetMaxFailed(), failingShareOf(source)),
			WaitCommit:   pick(&words, "commit_order", c.GetCommitOrder(), map[string]bool{"": false, "refuse": false, "wait": true}),
			RefuseRewind: pick(&words, "rewind", c.GetRewind(), map[string]bool{"allow": false, "refuse": true}),
		},
		Stages:     c.GetStages(),
		Unowned:    pick(&words, "ownership", c.GetOwnership(), map[string]bool{"leases": false, "none": true}),
		Owner:      leases.Session(session),
		Recover:    own.GetRecover(),
		JoinWindow: time.Duration(c.GetJoinWindowMs()) * time.Millisecond,
		Verify:     os.Getenv("OUTRIDER_VERIFY") == "all",
	}
	times := c.GetTimes()
	config.Times = scheduler.Times{
		ExecutionDeadline: span(times.GetExecutionDeadline()), CancelGrace: span(times.GetCancelGrace()), StartDeadline: span(times.GetStartDeadline()),
		OrphanTTL:   span(times.GetOrphanTtl()),
		JoinTimeout: span(times.GetJoinTimeout()), StallWarning: span(times.GetStallWarning()), HeldWarning: span(times.GetHeldWarning()),
	}
	if len(own.GetState()) > 0 {
		config.State = own.GetState()
	}
	if len(words.problems) > 0 {
		return config, bridge.NewError(bridge.Config, "outrider: "+strings.Join(words.problems, "; "))
	}
	return config, nil
}

// span reads a limit in time: 0 is the default, anything negative none.
func span(ms int64) time.Duration {
	if ms < 0 {
		return scheduler.Never
	}
	return time.Duration(ms) * time.Millisecond
}

// fromSpan is a limit in time as the wire has it, in ms; negative: none.
func fromSpan(limit time.Duration) int64 {
	if limit < 0 {
		return -1
	}
	return max(1, limit.Milliseconds())
}

// streamShare stands for the size of a stream where a share of the source is meant: nobody knows how long it will be.
const streamShare = 10_000

func failingShareOf(source leases.Source) int64 {
	if source.Stream {
		return streamShare
	}
	return source.Len
}

// maxFailed turns the share of the source that may fail into groups, at least 1.
func maxFailed(share float64, rows int64) int64 { return max(1, int64(share*float64(rows))) }

// wordReader collects the words that are not known, so that all are said at once.
type wordReader struct{ problems []string }

func pick[T any](r *wordReader, name, word string, known map[string]T) T {
	value, ok := known[word]
	if !ok {
		all := make([]string, 0, len(known))
		for k := range known {
			all = append(all, fmt.Sprintf("%q", k))
		}
		slices.Sort(all)
		r.problems = append(r.problems, fmt.Sprintf("%s=%q is not known; use %s", name, word, strings.Join(all, " or ")))
	}
	return value
}
