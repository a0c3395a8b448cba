package script

import (
	"fmt"
	"strings"

	"outrider/leases"
	"outrider/scheduler"
)

// value shows what a waiting call was answered.
func (r *Runner) value(a scheduler.Answer) string {
	if a.Err != nil {
		return "error: " + r.error(a.Err)
	}
	switch v := a.Value.(type) {
	case nil:
		return "done"
	case scheduler.Pushed:
		text := fmt.Sprintf("%d new", v.Fresh)
		if len(v.Gone) > 0 {
			text += ", " + r.letGo(v.Gone)
		}
		return text
	case scheduler.Offered:
		switch a := v.Assignment; {
		case a != nil:
			return fmt.Sprintf("%s: group %d attempt %d version %d", r.receipt(a.Receipt), a.Receipt.Group, a.Receipt.Attempt, a.Version)
		case len(v.Gone) > 0:
			return "not wanted, " + r.letGo(v.Gone)
		}
		return "not wanted"
	case scheduler.Lease:
		r.given[v.Admission] = v
		var text strings.Builder
		fmt.Fprintf(&text, "lease %s rollout %d groups %s", r.admission(v.Admission), v.Rollout, groupIDs(v.Groups))
		for _, g := range v.Groups {
			if g.Samples != int32(r.cfg.GroupSize) {
				fmt.Fprintf(&text, " (group %d has %d samples)", g.Receipt.Group, g.Samples)
			}
		}
		if v.Short {
			text.WriteString(" short")
		}
		if v.Final {
			text.WriteString(" final")
		}
		return text.String()
	case scheduler.Unkept:
		if len(v) == 0 {
			return "kept"
		}
		var names []string
		for _, x := range v {
			names = append(names, r.receipt(x))
		}
		return "not kept: " + strings.Join(names, ",")
	case scheduler.Credited:
		return fmt.Sprintf("%d bytes may be written", v.Bytes)
	case scheduler.LeaseStatus:
		return r.status(v)
	case scheduler.HoldID:
		return "the frontier of " + r.hold(v) + " has ended"
	case scheduler.UpdateStart:
		text := fmt.Sprintf("%s send version %d to [%s]", r.hold(v.Hold), v.Version, r.list(v.Engines))
		if len(v.Digest) > 0 {
			text += " digest " + string(v.Digest)
		}
		return text + r.revoked(v.Revoked)
	case scheduler.UpdateReport:
		return r.report(v)
	case scheduler.RewindReport:
		text := fmt.Sprintf("rewound to rollout %d, timeline %s, version %d, %d groups replay", v.Rollout, r.timeline(v.Timeline), v.Version, v.Replay)
		return text + r.revoked(v.RolledBack)
	case scheduler.CloseReport:
		rollout, err := leases.StateRollout(v.State)
		if err != nil {
			return "closed without state; " + books(v.Books)
		}
		r.states["final"] = checkpoint{rollout: rollout, state: v.State}
		return fmt.Sprintf("closed with the state of rollout %d; %s", rollout, books(v.Books))
	}
	return fmt.Sprintf("%v", a.Value)
}

func (r *Runner) revoked(admissions []uint64) string {
	var out strings.Builder
	for i, a := range admissions {
		if i == 0 {
			out.WriteString(", rolled back:")
		}
		out.WriteString(" " + r.admission(a))
	}
	return out.String()
}

func (r *Runner) status(v scheduler.LeaseStatus) string {
	text := fmt.Sprintf("%s rollout %d %s", r.admission(v.Admission), v.Rollout, v.State)
	if v.Reason != "" {
		text += " (" + r.short(v.Reason) + ")"
	}
	return text
}

func (r *Runner) report(v scheduler.UpdateReport) string {
	return fmt.Sprintf("version %d confirmed by [%s], unconfirmed [%s]%s", v.Version, r.list(v.Confirmed), r.list(v.Unconfirmed), r.revoked(v.Revoked))
}

func tally(t leases.Tally) string { return fmt.Sprintf("%d/%d/%d", t.Groups, t.Samples, t.Tokens) }

// books shows the accounts as groups/samples/tokens.
func books(b leases.Books) string {
	var text strings.Builder
	fmt.Fprintf(&text, "reserved %s = acknowledged %s", tally(b.Reserved), tally(b.Acknowledged))
	for _, d := range b.Discarded {
		fmt.Fprintf(&text, " + discarded(%s) %s", d.Reason, tally(d.Tally))
	}
	fmt.Fprintf(&text, " + failed %s + live %s", tally(b.Failed), tally(b.Live))
	if !b.Closed() {
		text.WriteString(" DO NOT CLOSE")
	}
	return text.String()
}

func (r *Runner) cmdBooks(*args) {
	b := r.owner.Stats().Books
	r.say("%s", books(b))
}

func (r *Runner) cmdStepStats(*args) {
	v := r.owner.Step()
	r.say("consumed %d, staleness %d in all, at most %d", v.Consumed, v.StalenessSum, v.StalenessMax)
	r.say("evicted full %d stale %d, requeued %d", v.EvictedFull, v.EvictedStale, v.Requeued)
	for _, e := range v.Evictions {
		r.say("%s of group %d by %s, versions %d-%d, %s: %s%s", r.receipt(e.Receipt), e.Receipt.Group, r.session(e.Receipt.Worker), e.MinVersion, e.MaxVersion, e.Reason, e.Became, r.kept(e.Kept))
	}
	r.say("buffered %d, staleness %d in all, at most %d", v.Buffered, v.BufferedSum, v.BufferedMax)
	h := r.owner.Stats()
	r.say("tokens sampled %s, trained %s; too stale %s", histogram(h.SampledTokens[:]), histogram(h.TrainedTokens[:]), histogram(h.StaleRequeues[:]))
}

// kept names the group that has the place of an evicted one.
func (r *Runner) kept(x leases.Receipt) string {
	if x == (leases.Receipt{}) {
		return ""
	}
	return fmt.Sprintf(", %s of %s is kept", r.receipt(x), r.session(x.Worker))
}

// histogram shows the elements that are not 0, as index:count.
func histogram(counts []int64) string {
	var out []string
	for i, n := range counts {
		if n > 0 {
			out = append(out, fmt.Sprintf("%d:%d", i, n))
		}
	}
	if len(out) == 0 {
		return "none"
	}
	return strings.Join(out, " ")
}

func (r *Runner) cmdStats(*args) {
	v := r.owner.Stats()
	r.say("executing %d groups, %s samples", v.Executing, of(v.ExecutingSamples, v.Limits.Executing))
	r.say("terminal %d, completed %d, leased %d; buffered %s, retained %s", v.Terminal, v.Completed, v.Leased, of(v.Buffered, v.Limits.Completed), of(v.Retained, v.Limits.Retained))
	r.say("cursor %d, to replay %d, next rollout %d, version %d, timeline %s", v.Cursor, v.Replay, v.NextRollout, v.Announced, r.timeline(v.Timeline))
	r.say("requeued %d, stale outcomes %d, evicted %d, stale settled %d, overdrawn %d, adopted %d, rewinds %d", v.Requeued, v.StaleOutcomes, v.Evicted, v.StaleSettled, v.Overdrawn, v.Adopted, v.Rewinds)
	if v.Limits.Bytes > 0 {
		r.say("bytes %d of %d on the fullest host, %d wait for room", v.Bytes, v.Limits.Bytes, v.WaitingCredits)
	}
	if v.Stuck+v.Resting+v.Interrupted > 0 {
		r.say("interrupted %d, resting %d, stuck %d samples", v.Interrupted, v.Resting, v.Stuck)
	}
	if v.Orphans > 0 {
		r.say("%d samples of lost workers may still run on their engines", v.Orphans)
	}
	if v.Kept > 0 {
		r.say("kept %d, of them outlived their worker %d", v.Kept, v.Rescued)
	}
	if v.WaitsFor != "" {
		r.say("waits: %s", v.WaitsFor)
	}
	if v.Returning+v.RollbackFailed > 0 {
		r.say("returning %d, rollback failed %d", v.Returning, v.RollbackFailed)
	}
	if v.Unowned {
		r.say("ownership none")
	}
}

// of is a number beside its bound, if that is on.
func of(used, limit int64) string {
	if limit == 0 {
		return fmt.Sprint(used)
	}
	return fmt.Sprintf("%d of %d", used, limit)
}
