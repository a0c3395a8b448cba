package sidecar

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/common/expfmt"

	"outrider/bridge/wire"
)

// runCollector shows a run's numbers to Prometheus under the names that status and logs use.
type runCollector struct {
	run   string
	stats *wire.Stats
}

func (runCollector) Describe(chan<- *prometheus.Desc) {} // unchecked: reasons of discards are the user's words

func (c runCollector) Collect(out chan<- prometheus.Metric) {
	put := func(kind prometheus.ValueType, name, help string, value float64, labels ...string) {
		pairs := prometheus.Labels{"run": c.run}
		for i := 0; i+1 < len(labels); i += 2 {
			pairs[labels[i]] = labels[i+1]
		}
		out <- prometheus.MustNewConstMetric(prometheus.NewDesc("outrider_"+name, help, nil, pairs), kind, value)
	}
	s := c.stats
	tally := func(account, reason string, count *wire.Count) {
		const help = "The books: reserved = acknowledged + discarded + failed + live. Accounts go back when a run rewinds."
		put(prometheus.GaugeValue, "groups", help, float64(count.GetGroups()), "account", account, "reason", reason)
		put(prometheus.GaugeValue, "samples", help, float64(count.GetSamples()), "account", account, "reason", reason)
		put(prometheus.GaugeValue, "tokens", help, float64(count.GetTokens()), "account", account, "reason", reason)
	}
	tally("reserved", "", s.GetBooks().GetReserved())
	tally("acknowledged", "", s.GetBooks().GetAcknowledged())
	tally("failed", "", s.GetBooks().GetFailed())
	tally("live", "", s.GetBooks().GetLive())
	for reason, count := range s.GetBooks().GetDiscarded() {
		tally("discarded", reason, count)
	}
	for state, groups := range s.GetBooks().GetLiveGroups() {
		put(prometheus.GaugeValue, "live_groups", "Groups by state.", float64(groups), "state", state)
	}
	put(prometheus.GaugeValue, "cursor", "Groups that were ever reserved.", float64(s.GetCursor()))
	put(prometheus.GaugeValue, "replay_groups", "Groups below the cursor that are back in the source.", float64(s.GetReplay()))
	put(prometheus.GaugeValue, "resting_groups", "Groups that wait before they go out again, because their executions were lost one after the other.", float64(s.GetResting()))
	put(prometheus.GaugeValue, "stuck_samples", "Samples that their workers did not end when they were told to.", float64(s.GetStuck()))
	put(prometheus.GaugeValue, "orphan_samples", "Samples that lost workers ran on engines elsewhere, which may run them still.", float64(s.GetOrphans()))
	put(prometheus.GaugeValue, "waiting_for_bytes", "Producers that wait until their host has room.", float64(s.GetWaitingForBytes()))
	put(prometheus.CounterValue, "overdrawn_total", "Groups that went beyond the byte bound because somebody waited for them, in this life of the owner.", float64(s.GetOverdrawn()))
	put(prometheus.CounterValue, "interrupted_executions_total", "Executions lost with their worker or to their deadline, in this life of the owner.", float64(s.GetInterrupted()))
	put(prometheus.CounterValue, "kept_groups_total", "Finished groups that a process beside their worker came to have, in this life of the owner.", float64(s.GetKept()))
	put(prometheus.CounterValue, "rescued_groups_total", "Those of them whose worker was lost before they had settled.", float64(s.GetRescued()))
	lengths := func(name, help string, counts []int64) {
		buckets, total := map[float64]uint64{}, uint64(0)
		for i, n := range counts {
			total += uint64(n)
			buckets[float64(uint64(1)<<i-1)] = total
		}
		desc := prometheus.NewDesc("outrider_"+name, help, nil, prometheus.Labels{"run": c.run})
		out <- prometheus.MustNewConstHistogram(desc, total, math.NaN(), buckets)
	}
	lengths("sampled_group_tokens", "Tokens of the groups that were generated, in this life of the owner.", s.GetSampledTokens())
	lengths("trained_group_tokens", "Tokens of the groups that were trained, in this life of the owner.", s.GetTrainedTokens())
	for times, groups := range s.GetStaleRequeues() {
		put(prometheus.CounterValue, "stale_requeues_groups_total", "Groups, trained or given up, by how often they had been too stale; 5: that often or more.", float64(groups), "times", strconv.Itoa(times))
	}
	bound := func(name string, used, limit int64) {
		put(prometheus.GaugeValue, "bound_used", "What a bound counts.", float64(used), "bound", name)
		put(prometheus.GaugeValue, "bound_limit", "The bound; 0: none.", float64(limit), "bound", name)
	}
	bound("executing", s.GetExecuting(), s.GetExecutingLimit())
	bound("retained", s.GetRetained(), s.GetRetainedLimit())
	bound("completed", s.GetCompleted(), s.GetCompletedLimit())
	bound("bytes", s.GetBytes(), s.GetBytesLimit())
	put(prometheus.GaugeValue, "next_rollout", "The rollout after the last committed one.", float64(s.GetNextRollout()))
	put(prometheus.GaugeValue, "announced_version", "Weight version that the trainer announced.", float64(s.GetAnnouncedVersion()))
	put(prometheus.GaugeValue, "workers", "Attached workers.", float64(s.GetWorkers()))
	put(prometheus.GaugeValue, "trainers", "Attached trainer ranks.", float64(s.GetTrainers()))
	for _, m := range s.GetMembers() {
		rank := []string{"role", m.GetRole(), "name", m.GetName(), "pid", strconv.FormatInt(m.GetPid(), 10), "session", fmt.Sprintf("%016x", m.GetSession())}
		if m.GetEngine() {
			put(prometheus.GaugeValue, "engine_lag_versions", "Versions that an engine's confirmed one is below the announced one; the staleness of data is another number.", float64(s.GetAnnouncedVersion()-m.GetConfirmedVersion()), rank...)
		}
		if m.GetMappedBytes() > 0 {
			put(prometheus.GaugeValue, "mapped_bytes", "What a rank's process has mapped of rollouts.", float64(m.GetMappedBytes()), rank...)
		}
		if m.GetHeldSegments() > 0 {
			put(prometheus.GaugeValue, "held_segments", "Segments that a rank's process has had mapped for longer than held_warning.", float64(m.GetHeldSegments()), rank...)
			put(prometheus.GaugeValue, "held_bytes", "Their bytes.", float64(m.GetHeldBytes()), rank...)
			put(prometheus.GaugeValue, "held_seconds", "For how long it has had the first of them.", m.GetHeldSeconds(), rank...)
		}
	}
	put(prometheus.GaugeValue, "unconfirmed_engines", "Engines that get no work until they confirm the announced version.", float64(s.GetUnconfirmed()))
	put(prometheus.CounterValue, "requeued_groups_total", "Groups that went back to the source, in this life of the owner.", float64(s.GetRequeued()))
	put(prometheus.CounterValue, "stale_outcomes_total", "Outcomes refused because their receipt was void.", float64(s.GetStaleOutcomes()))
	put(prometheus.CounterValue, "evicted_groups_total", "Groups evicted from a full buffer.", float64(s.GetEvicted()))
	put(prometheus.CounterValue, "rewinds_total", "Times the run went back to older weights.", float64(s.GetRewinds()))
	put(prometheus.GaugeValue, "staleness_mean", "Mean staleness of trained groups, in versions.", s.GetStalenessMean())
	put(prometheus.GaugeValue, "staleness_max", "Largest staleness of a trained group, in versions.", float64(s.GetStalenessMax()))
}

// metrics is the run and the owner's process in the Prometheus text format.
func (o *owner) metrics() (string, error) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(runCollector{o.run.GetName(), o.stats()}, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	families, err := registry.Gather()
	if err != nil {
		return "", err
	}
	var text strings.Builder
	for _, family := range families {
		if _, err := expfmt.MetricFamilyToText(&text, family); err != nil {
			return "", err
		}
	}
	return text.String(), nil
}
