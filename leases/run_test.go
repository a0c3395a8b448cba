package leases

import (
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	worker  Session = 5
	trainer Session = 7
)

// run drives a ledger through the usual life, verifying after every step.
type run struct {
	*Ledger
	t testing.TB
}

func newRun(t testing.TB, p Params) *run {
	t.Helper()
	l, err := New(p, Term{Session: 1}, nil)
	require.NoError(t, err)
	return &run{Ledger: l, t: t}
}

func (r *run) ok() {
	r.t.Helper()
	require.NoError(r.t, r.Verify())
}

// outcome is a success with one sample per slot.
func (r *run) outcome(group int64) *Outcome {
	o := &Outcome{Kind: Success, Handle: Handle(group + 1), Tokens: 10, Bytes: 100, Digest: [32]byte{1, byte(group)}}
	for slot := range r.groupSize {
		o.Slots = append(o.Slots, int32(slot))
	}
	return o
}

// complete takes up to n groups as far as COMPLETED.
func (r *run) complete(n int) []*Group {
	r.t.Helper()
	groups, err := r.Reserve(n)
	require.NoError(r.t, err)
	for _, g := range groups {
		receipt := r.Dispatch(g, worker)
		_, err := r.Finish(receipt, r.outcome(g.ID()), Rules{MaxAttempts: 3})
		require.NoError(r.t, err)
		r.Complete(g)
	}
	r.ok()
	return groups
}

func (r *run) publish(lease *Lease) *Publication {
	r.t.Helper()
	var shard []RowRange
	for _, g := range lease.Groups {
		shard = append(shard, RowRange{Group: g.ID(), Handle: g.Handle(), Rows: g.Samples()})
	}
	p, err := r.Publish(lease.Admission, PublishRequest{Shards: [][]RowRange{shard}, Roles: []RoleSize{{Role: "actor", WorldSize: 1}}}, false)
	require.NoError(r.t, err)
	return p
}

// start takes a lease as far as COMMITTING.
func (r *run) start(lease *Lease) Entry {
	r.t.Helper()
	p := r.publish(lease)
	require.NoError(r.t, r.Admit(AdmitRequest{Admission: lease.Admission, Digest: p.Digest, Role: "actor", Session: trainer}))
	_, entry, err := r.StartCommit(lease.Admission)
	require.NoError(r.t, err)
	r.ok()
	return entry
}

func (r *run) commit(lease *Lease) {
	r.t.Helper()
	r.start(lease)
	r.FinishCommit(lease)
	r.ok()
}
