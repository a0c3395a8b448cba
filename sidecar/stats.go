package sidecar

import (
	"bytes"
	"cmp"
	"os"
	"slices"
	"strconv"
	"strings"

	"outrider/bridge/wire"
	"outrider/leases"
	"outrider/scheduler"
)

// stats translates the present numbers; its cost grows with the members, not with what is retained.
func (o *owner) stats() *wire.Stats {
	s := o.scheduler.Stats()
	out := &wire.Stats{
		Books: fromBooks(s.Books, s), NextRollout: s.NextRollout, AnnouncedVersion: s.Announced, Timeline: fromTimeline(s.Timeline), Term: fromTerm(s.Term),
		Executing: s.ExecutingSamples, ExecutingLimit: s.Limits.Executing, Retained: s.Retained, RetainedLimit: s.Limits.Retained,
		Completed: s.Buffered, CompletedLimit: s.Limits.Completed, Bytes: s.Bytes, BytesLimit: s.Limits.Bytes,
		Holds: int64(s.Holds), Workers: int64(s.Workers), Trainers: int64(s.Trainers), Requeued: s.Requeued, StaleOutcomes: s.StaleOutcomes, Evicted: s.Evicted,
		StalenessMax: s.StalenessMax, Rewinds: s.Rewinds, ResidentBytes: residentBytes(), Ownership: "leases",
		Unconfirmed: int64(s.Unconfirmed), Recovering: s.Recovering, Cursor: s.Cursor, Replay: s.Replay, Stuck: s.Stuck, Orphans: s.Orphans, Resting: s.Resting, Interrupted: s.Interrupted, WaitsFor: s.WaitsFor, Members: o.memberStats(),
		WaitingForBytes: int64(s.WaitingCredits), Kept: s.Kept, Rescued: s.Rescued, Overdrawn: s.Overdrawn,
		SampledTokens: trim(s.SampledTokens[:]), TrainedTokens: trim(s.TrainedTokens[:]), StaleRequeues: trim(s.StaleRequeues[:]),
	}
	if s.Unowned {
		out.Ownership = "none"
	}
	if s.StalenessCount > 0 {
		out.StalenessMean = float64(s.StalenessSum) / float64(s.StalenessCount)
	}
	return out
}

// trim leaves the empty end of a histogram out.
func trim(counts []int64) []int64 {
	n := len(counts)
	for n > 0 && counts[n-1] == 0 {
		n--
	}
	return counts[:n]
}

func fromStep(s scheduler.Step) *wire.StepStats {
	mean := func(sum, n int64) float64 { return float64(sum) / float64(max(n, 1)) }
	return &wire.StepStats{
		Consumed: s.Consumed, ConsumedStalenessMean: mean(s.StalenessSum, s.Consumed), ConsumedStalenessMax: s.StalenessMax,
		EvictedFull: s.EvictedFull, EvictedStale: s.EvictedStale, Requeued: s.Requeued,
		Buffered: s.Buffered, BufferedStalenessMean: mean(s.BufferedSum, s.Buffered), BufferedStalenessMax: s.BufferedMax,
		Evictions: fromEvictions(s.Evictions),
	}
}

func fromEvictions(all []scheduler.Eviction) []*wire.Eviction {
	out := make([]*wire.Eviction, len(all))
	for i, e := range all {
		out[i] = &wire.Eviction{Receipt: fromReceipt(e.Receipt), Reason: e.Reason, MinVersion: e.MinVersion, MaxVersion: e.MaxVersion, Became: strings.ToLower(e.Became.String())}
		if e.Kept != (leases.Receipt{}) {
			out[i].Kept = fromReceipt(e.Kept)
		}
	}
	return out
}

func fromBooks(b leases.Books, s scheduler.Stats) *wire.Books {
	out := &wire.Books{
		Reserved: fromTally(b.Reserved), Acknowledged: fromTally(b.Acknowledged), Failed: fromTally(b.Failed), Live: fromTally(b.Live),
		Discarded:  map[string]*wire.Count{},
		LiveGroups: map[string]int64{"reserved": s.Reserved, "executing": s.Executing, "terminal": s.Terminal, "completed": s.Completed, "leased": s.Leased, "returning": s.Returning, "rollback_failed": s.RollbackFailed},
	}
	for _, discarded := range b.Discarded {
		out.Discarded[discarded.Reason] = fromTally(discarded.Tally)
	}
	return out
}

// residentBytes is this process's resident memory; 0 where the kernel does not say.
func residentBytes() int64 {
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	fields := bytes.Fields(data)
	if len(fields) < 2 {
		return 0
	}
	pages, err := strconv.ParseInt(string(fields[1]), 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}

// memberStats lists everybody attached, by session.
func (o *owner) memberStats() []*wire.MemberStats {
	known := map[leases.Session]scheduler.MemberStats{}
	for _, w := range o.scheduler.MemberStats() {
		known[w.Session] = w
	}
	out := make([]*wire.MemberStats, 0, len(o.attached))
	for session, a := range o.attached {
		w := known[session]
		out = append(out, &wire.MemberStats{
			Name: a.join.GetName(), Role: roleOf(a.join), Session: uint64(session), Executing: w.Executing, Slots: w.Slots, ConfirmedVersion: w.Confirmed, Confirmed: w.Current, Stuck: w.Stuck, Orphans: w.Orphans,
			Pid: a.join.GetPid(), Engine: w.Engine, MappedBytes: w.Mapped.Bytes, HeldSegments: w.Mapped.HeldSegments, HeldBytes: w.Mapped.HeldBytes, HeldSeconds: w.Mapped.HeldFor.Seconds(),
		})
	}
	slices.SortFunc(out, func(a, b *wire.MemberStats) int { return cmp.Compare(a.GetSession(), b.GetSession()) })
	return out
}
