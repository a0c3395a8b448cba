package sidecar

import (
	"errors"
	"fmt"
	"strings"

	"outrider/bridge"
	"outrider/bridge/wire"
	"outrider/leases"
	"outrider/scheduler"
)

// The edge between the wire's messages and the types of scheduler and leases. Nothing is decided here.

func toTerm(t *wire.Term) leases.Term {
	return leases.Term{Number: t.GetNumber(), Session: leases.Session(t.GetSession())}
}

func fromTerm(t leases.Term) *wire.Term {
	return &wire.Term{Number: t.Number, Session: uint64(t.Session)}
}

func toTimeline(t *wire.Timeline) leases.Timeline {
	return leases.Timeline{Number: t.GetNumber(), Origin: toTerm(t.GetOrigin())}
}

func fromTimeline(t leases.Timeline) *wire.Timeline {
	return &wire.Timeline{Number: t.Number, Origin: fromTerm(t.Origin)}
}

func toReceipt(r *wire.Receipt) leases.Receipt {
	return leases.Receipt{
		Timeline: toTimeline(r.GetTimeline()), Group: r.GetGroup(), Attempt: r.GetAttempt(),
		Execution: r.GetExecution(), Worker: leases.Session(r.GetWorker()),
	}
}

func fromReceipt(r leases.Receipt) *wire.Receipt {
	return &wire.Receipt{Timeline: fromTimeline(r.Timeline), Group: r.Group, Attempt: r.Attempt, Execution: r.Execution, Worker: uint64(r.Worker)}
}

// toReceipts spells packed receipts out, in one allocation.
func toReceipts(packed *wire.Receipts) ([]wire.Receipt, error) {
	groups, attempts, executions := packed.GetGroups(), packed.GetAttempts(), packed.GetExecutions()
	if len(groups) != len(attempts) || len(groups) != len(executions) {
		return nil, bridge.NewError(bridge.Data, fmt.Sprintf("outrider: receipts of %d groups, %d attempts and %d executions; give one of each for each", len(groups), len(attempts), len(executions)))
	}
	receipts := make([]wire.Receipt, len(groups))
	for i := range receipts {
		r := &receipts[i]
		r.Timeline, r.Group, r.Attempt, r.Execution, r.Worker = packed.GetTimeline(), groups[i], attempts[i], executions[i], packed.GetWorker()
	}
	return receipts, nil
}

var kinds = map[string]leases.Kind{"success": leases.Success, "retry": leases.Retry, "failure": leases.Failure, "discard": leases.Discard}

func toOutcome(o *wire.Outcome, handle leases.Handle) leases.Outcome {
	sum := o.GetSummary()
	out := leases.Outcome{Kind: kinds[o.GetKind()], Reason: o.GetReason()}
	if out.Kind != leases.Success {
		return out
	}
	out.Slots, out.Parents, out.Failed = sum.GetSlots(), sum.GetParents(), sum.GetFailed()
	out.Aborted, out.Tokens, out.Bytes, out.Handle = int(sum.GetAborted()), sum.GetTokens(), sum.GetBytes(), handle
	for _, column := range o.GetColumns() {
		out.Columns = append(out.Columns, leases.Column{Name: column.GetName(), Type: column.GetType()})
	}
	if print := o.GetPrint(); len(print) == len(out.Row.Schema)+len(out.Row.Content) {
		copy(out.Row.Schema[:], print)
		copy(out.Row.Content[:], print[len(out.Row.Schema):])
	}
	out.HasVersions, out.MinVersion, out.MaxVersion, out.SumVersions = sum.GetHasVersions(), sum.GetMinVersion(), sum.GetMaxVersion(), sum.GetSumVersions()
	return out
}

func fromTally(t leases.Tally) *wire.Count {
	return &wire.Count{Groups: t.Groups, Samples: t.Samples, Tokens: t.Tokens}
}

// errorKinds gives the core's sentinels their name on the wire.
var errorKinds = []struct {
	err  error
	kind bridge.Kind
}{
	{leases.ErrConfig, bridge.Config},
	{leases.ErrState, bridge.State},
	{leases.ErrStale, bridge.Stale},
	{leases.ErrUnknown, bridge.Stale},
	{leases.ErrConflict, bridge.Conflict},
	{leases.ErrNotAdmitted, bridge.NotAdmitted},
	{leases.ErrCohortChanged, bridge.CohortChanged},
	{leases.ErrRefused, bridge.Refused},
	{leases.ErrData, bridge.Data},
	{leases.ErrClosed, bridge.Closed},
	{leases.ErrEndOfRun, bridge.EndOfRun},
	{leases.ErrFailed, bridge.Failed},
	{leases.ErrSource, bridge.Source},
	{leases.ErrReplaced, bridge.OwnerLost},
	{leases.ErrLost, bridge.Revoked},
	{leases.ErrNoWorkers, bridge.NoWorkers},
	{leases.ErrUpdateFailed, bridge.UpdateFailed},
	{leases.ErrNotReady, bridge.Stale},
}

// fromCore names an error of the core; one that has its name keeps it.
func fromCore(err error) error {
	var named *bridge.Error
	if err == nil || errors.As(err, &named) {
		return err
	}
	for _, known := range errorKinds {
		if errors.Is(err, known.err) {
			// The kind says what the sentinel's own words would.
			return bridge.NewError(known.kind, "outrider: "+strings.TrimPrefix(err.Error(), known.err.Error()+": "))
		}
	}
	return bridge.NewError(bridge.Internal, err.Error())
}

// kindOf returns the wire name of an error, Internal when it has none.
func kindOf(err error) bridge.Kind {
	var named *bridge.Error
	if errors.As(err, &named) {
		return named.Kind
	}
	return bridge.Internal
}

var leaseStates = map[scheduler.LeaseState]string{
	scheduler.LeaseOpen: "open", scheduler.LeasePublished: "published", scheduler.LeaseCommitting: "committing",
	scheduler.LeaseCommitted: "committed", scheduler.LeaseRolledBack: "rolled_back",
}

func fromStatus(s scheduler.LeaseStatus) *wire.Frame {
	return &wire.Frame{Body: &wire.Frame_Settled{Settled: &wire.Settled{Admission: s.Admission, Status: leaseStates[s.State], Rollout: s.Rollout, Reason: s.Reason}}}
}
