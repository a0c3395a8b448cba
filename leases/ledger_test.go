package leases

import "testing"

func TestSmoke(t *testing.T) {
	l, err := New(Params{Source: Source{Len: 10}, GroupSize: 4}, Term{1, 9}, nil)
	if err != nil {
		t.Fatal(err)
	}
	gs, _ := l.Reserve(3)
	for _, g := range gs {
		r := l.Dispatch(g, 5)
		_, err := l.Finish(r, &Outcome{Kind: Success, Slots: []int32{0, 1, 2, 3}, Handle: 1, Digest: [32]byte{1}}, 3)
		if err != nil {
			t.Fatal(err)
		}
		l.Complete(g)
	}
	lease := l.OpenLease(0, 7, gs, false)
	if err := l.Verify(); err != nil {
		t.Fatal(err)
	}
	p, err := l.Publish(lease.Admission, PublishRequest{Roles: []RoleSize{{"actor", 1}}, Shards: [][]RowRange{{{0, 1, 0, 4}, {1, 1, 0, 4}, {2, 1, 0, 4}}}}, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Admit(AdmitRequest{Admission: lease.Admission, Digest: p.Digest, Role: "actor", Session: 7}); err != nil {
		t.Fatal(err)
	}
	le, _, err := l.StartCommit(lease.Admission)
	if err != nil {
		t.Fatal(err)
	}
	l.FinishCommit(le)
	if err := l.Verify(); err != nil {
		t.Fatal(err)
	}
	b, err := l.State(0)
	if err != nil {
		t.Fatal(err)
	}
	l2, err := New(Params{Source: Source{Len: 10}, GroupSize: 4}, Term{1, 9}, b)
	if err != nil {
		t.Fatal(err)
	}
	b2, _ := l2.State(0)
	if string(b) != string(b2) {
		t.Fatal("differ")
	}
	if _, err := l.Rewind(-1); err != nil {
		t.Fatal(err)
	}
	if err := l.Verify(); err != nil {
		t.Fatal(err)
	}
}
