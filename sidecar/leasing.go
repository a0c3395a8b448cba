package sidecar

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"outrider/bridge/wire"
	"outrider/leases"
	"outrider/scheduler"
)

// publication remembers both names of a publication: the wire's digest, which ranks check, and the ledger's.
type publication struct {
	digest []byte
	ledger [32]byte
}

func (o *owner) take(a *attached, take *wire.Take, reply reply) {
	rollout := take.GetRollout()
	key := takeKey{a.session, rollout}
	then := answering(reply, o.leased)
	if alone := take.GetAlone(); alone != nil {
		then = answering(reply, func(lease scheduler.Lease) (*wire.Frame, error) { return o.leasedAlone(alone, lease) })
	}
	ticket := o.ticket(func(value any, err error) {
		delete(o.takes, key)
		then(value, err)
	})
	o.takes[key] = ticket
	o.scheduler.Take(ticket, a.session, rollout)
}

// leased says where the data of a lease is.
func (o *owner) leased(lease scheduler.Lease) (*wire.Frame, error) {
	out, at := leaseOf(lease), places{}
	for _, group := range lease.Groups {
		summary := o.data[group.Handle].summary
		if n := len(group.Columns); n > 0 {
			summary = o.data[group.Columns[n-1].Handle].summary // with what all stages added
		}
		out.Groups = append(out.Groups, &wire.LeasedGroup{
			Group: group.Receipt.Group, Attempt: group.Receipt.Attempt, Row: o.source.Row(group.Receipt.Group), Locator: o.locate(&at, group.Handle, group.Columns, o.data[group.Handle].locator), Summary: summary, Staleness: lease.Announced - group.MinVersion,
		})
	}
	out.Endpoints = at.endpoints
	return &wire.Frame{Body: &wire.Frame_Lease{Lease: out}}, nil
}

// leasedAlone publishes a lease to one rank and says what that needs to fetch the rows; it knows what it publishes, so
// the ledger's own digest names the publication.
func (o *owner) leasedAlone(alone *wire.Alone, lease scheduler.Lease) (*wire.Frame, error) {
	out, at := leaseOf(lease), places{}
	out.Groups = make([]*wire.LeasedGroup, len(lease.Groups))
	groups := make([]wire.LeasedGroup, len(lease.Groups)) // one allocation for all
	shard := make([]scheduler.RowRange, len(lease.Groups))
	for i, group := range lease.Groups {
		shard[i] = scheduler.RowRange{Group: group.Receipt.Group, Handle: group.Handle, Rows: group.Samples}
		out.Groups[i] = &groups[i]
		groups[i].Group, groups[i].Attempt, groups[i].Locator = group.Receipt.Group, group.Receipt.Attempt, o.locate(&at, group.Handle, group.Columns, o.data[group.Handle].locator)
	}
	out.Endpoints = at.endpoints
	published, err := o.scheduler.Publish(lease.Admission, scheduler.PublishRequest{
		Shards: [][]scheduler.RowRange{shard}, Roles: []scheduler.RoleSize{{Role: alone.GetRole(), WorldSize: 1}}, Generation: int64(alone.GetGeneration()),
	})
	if err != nil {
		// It is nobody's: the caller asks again, as when a lease is revoked on the way to him.
		_, _ = o.scheduler.Rollback(lease.Admission, err.Error())
		return nil, err
	}
	out.Published = published.Digest[:]
	o.publications[lease.Admission] = &publication{digest: out.GetPublished(), ledger: published.Digest}
	return &wire.Frame{Body: &wire.Frame_Lease{Lease: out}}, nil
}

// leaseOf is a lease on the wire, without its groups.
func leaseOf(lease scheduler.Lease) *wire.Lease {
	return &wire.Lease{Admission: lease.Admission, Rollout: lease.Rollout, Short: lease.Short}
}

func (o *owner) publish(publish *wire.Publish) (*wire.Frame, error) {
	request := scheduler.PublishRequest{Generation: int64(publish.GetGeneration())}
	out := &wire.Publication{Admission: publish.GetAdmission(), Shards: publish.GetShards(), Roles: publish.GetRoles(), Generation: publish.GetGeneration()}
	var at places
	content := sha256.New()
	for i, shard := range publish.GetShards() {
		ranges := make([]scheduler.RowRange, 0, len(shard.GetLocators()))
		if len(shard.GetGroups()) != len(shard.GetLocators()) {
			return nil, fmt.Errorf("%w: shard %d of admission %d has %d groups and %d locators; give one group for each locator", leases.ErrRefused, i, publish.GetAdmission(), len(shard.GetGroups()), len(shard.GetLocators()))
		}
		for j, locator := range shard.GetLocators() {
			handle, first, ok := o.find(locator)
			if !ok {
				if err := o.scheduler.Unsettled(publish.GetAdmission()); err != nil {
					return nil, err
				}
				return nil, fmt.Errorf("%w: shard %d of admission %d names rows that nobody holds (group %d); give the locators of its lease", leases.ErrRefused, i, publish.GetAdmission(), shard.GetGroups()[j])
			}
			ranges = append(ranges, scheduler.RowRange{Group: shard.GetGroups()[j], Handle: handle, FirstRow: int32(first), Rows: int32(locator.GetRows())})
			shard.Locators[j] = o.locate(&at, handle, o.scheduler.Columns(shard.GetGroups()[j]), locator)
		}
		request.Shards = append(request.Shards, ranges)
		data, err := proto.MarshalOptions{Deterministic: true}.Marshal(shard)
		if err != nil {
			return nil, err
		}
		content.Write(data)
	}
	out.Endpoints = at.endpoints
	content.Sum(request.Content[:0])
	for role, size := range publish.GetRoles() {
		request.Roles = append(request.Roles, scheduler.RoleSize{Role: role, WorldSize: int(size)})
	}
	slices.SortFunc(request.Roles, func(a, b scheduler.RoleSize) int { return strings.Compare(a.Role, b.Role) })
	published, err := o.scheduler.Publish(publish.GetAdmission(), request)
	if err != nil {
		return nil, err
	}
	out.Rollout, out.Timeline, out.Term = published.Rollout, fromTimeline(published.Timeline), fromTerm(o.scheduler.Term())
	if out.Digest, err = publicationDigest(out); err != nil {
		return nil, err
	}
	o.publications[out.GetAdmission()] = &publication{digest: out.GetDigest(), ledger: published.Digest}
	return &wire.Frame{Body: &wire.Frame_Publication{Publication: out}}, nil
}

// find gives the data that a locator lies in, and the locator's first row within it.
func (o *owner) find(locator *wire.Locator) (leases.Handle, int64, bool) {
	for _, handle := range o.bySegment[keyOf(locator.GetSegment())] {
		have := o.data[handle].locator
		if first := locator.GetFirstRow() - have.GetFirstRow(); first >= 0 && locator.GetRows() > 0 && first+locator.GetRows() <= have.GetRows() {
			return handle, first, true
		}
	}
	return 0, 0, false
}

func (o *owner) admit(a *attached, admit *wire.Admit) error {
	admission := admit.GetPublication().GetAdmission()
	if o.publications[admission] == nil {
		if _, err := o.scheduler.LeaseStatus(admission); err != nil {
			return err
		}
		return fmt.Errorf("%w: admission %d is not published in this term; publish it again or take the rollout again", leases.ErrStale, admission)
	}
	return o.scheduler.Admit(o.proof(a, admit))
}

// proof translates a rank's word that it holds what was published.
func (o *owner) proof(a *attached, admit *wire.Admit) scheduler.AdmitRequest {
	admission := admit.GetPublication().GetAdmission()
	var digest [32]byte // one that nothing has: the ledger refuses it and says what it expected
	if known := o.publications[admission]; known != nil && bytes.Equal(known.digest, admit.GetPublication().GetDigest()) {
		digest = known.ledger
	}
	request := scheduler.AdmitRequest{
		Admission: admission, Digest: digest, Role: admit.GetRole(), Rank: int(admit.GetRank()), Generation: int64(admit.GetGeneration()), Session: a.session,
	}
	for _, shard := range admit.GetShards() {
		request.Shards = append(request.Shards, int(shard))
	}
	return request
}

func (o *owner) commit(a *attached, commit *wire.Commit, reply reply) {
	ticket := o.ticket(func(value any, err error) {
		status, _ := value.(scheduler.LeaseStatus)
		reply(fromStatus(status), err)
	})
	if admit := commit.GetAdmit(); admit != nil {
		o.scheduler.CommitAdmitted(ticket, o.proof(a, admit))
		return
	}
	o.scheduler.Commit(ticket, commit.GetAdmission())
}
