package main

import (
	"context"
	"encoding/binary"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"outrider/leases"
	"outrider/python/bench/rival/pb"
	"outrider/scheduler"
)

const (
	groupSize   = 8
	batchGroups = 64
	retained    = 1024
	completed   = 512

	worker  leases.Session = 1
	trainer leases.Session = 2
)

// owner is one worker's and one trainer's service over the core.
type owner struct {
	pb.UnimplementedRivalServer

	granted chan leases.Receipt

	mu      sync.Mutex // guards what follows
	core    *scheduler.Scheduler
	ticket  scheduler.Ticket
	waiting map[scheduler.Ticket]chan scheduler.Answer
	handle  leases.Handle
	rows    map[leases.Handle][]byte
}

func newOwner() (*owner, error) {
	core, err := scheduler.New(scheduler.Config{
		Source:    leases.Source{Len: 1 << 20},
		GroupSize: groupSize, BatchGroups: batchGroups, Owner: 3,
		Limits: scheduler.Limits{Executing: groupSize * retained, Retained: retained, Completed: completed},
		Policy: scheduler.Policy{MaxStaleness: scheduler.NoBound},
	})
	if err != nil {
		return nil, err
	}
	o := &owner{
		granted: make(chan leases.Receipt, retained), core: core,
		waiting: map[scheduler.Ticket]chan scheduler.Answer{}, rows: map[leases.Handle][]byte{},
	}
	core.Advance(0)
	for _, member := range []scheduler.Member{
		{Session: worker, Host: "here", Name: "worker", Worker: &scheduler.WorkerRole{Slots: groupSize * retained}},
		{Session: trainer, Host: "here", Name: "trainer", Trainer: &scheduler.TrainerRole{Role: "trainer", WorldSize: 1, Generation: 1, StateAt: -1}},
	} {
		if _, err := core.Attach(member); err != nil {
			return nil, err
		}
	}
	o.effects()
	return o, nil
}

// effects carries out what the core wants; under mu.
func (o *owner) effects() {
	for effects := o.core.Effects(); len(effects) > 0; effects = o.core.Effects() {
		for _, effect := range effects {
			switch e := effect.(type) {
			case scheduler.Grant:
				o.granted <- e.Assignment.Receipt // never more than are retained
			case scheduler.Release:
				delete(o.rows, e.Handle)
			case scheduler.Append:
				// The log lives in this process: it has the entry at once.
				for _, session := range e.Sessions {
					o.core.Appended(session, e.Entry.Index)
				}
			case scheduler.Answer:
				o.waiting[e.Ticket] <- e
				delete(o.waiting, e.Ticket)
			}
		}
	}
}

// wait makes a call of the core that is answered by an effect, and waits for the answer.
func (o *owner) wait(ctx context.Context, call func(scheduler.Ticket)) (any, error) {
	answer := make(chan scheduler.Answer, 1)
	o.mu.Lock()
	o.ticket++
	o.waiting[o.ticket] = answer
	call(o.ticket)
	o.effects()
	o.mu.Unlock()
	select {
	case got := <-answer:
		return got.Value, got.Err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Reserve waits for one group and takes along what else is there.
func (o *owner) Reserve(ctx context.Context, request *pb.ReserveRequest) (*pb.Reserved, error) {
	out := &pb.Reserved{}
	select {
	case receipt := <-o.granted:
		out.Receipts = append(out.Receipts, fromReceipt(receipt))
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	for len(out.GetReceipts()) < int(request.GetMost()) {
		select {
		case receipt := <-o.granted:
			out.Receipts = append(out.Receipts, fromReceipt(receipt))
		default:
			return out, nil
		}
	}
	return out, nil
}

// Complete ends executions with success.
func (o *owner) Complete(_ context.Context, request *pb.CompleteRequest) (*pb.Completed, error) {
	out := &pb.Completed{Errors: make([]string, len(request.GetResults()))}
	o.mu.Lock()
	defer o.mu.Unlock()
	for i, result := range request.GetResults() {
		o.handle++
		o.rows[o.handle] = result.GetRows()
		outcome := leases.Outcome{
			Kind: leases.Success, Slots: slots, Handle: o.handle, Bytes: int64(len(result.GetRows())), Tokens: 16 * groupSize,
		}
		binary.LittleEndian.PutUint64(outcome.Digest[:], uint64(o.handle))
		if err := o.core.Terminal(o.receipt(result.GetReceipt()), outcome); err != nil {
			out.Errors[i] = err.Error()
			delete(o.rows, o.handle)
		}
	}
	o.effects()
	return out, nil
}

// Take leases a batch and hands it out, which publishes and admits it: one call where three would do the same.
func (o *owner) Take(ctx context.Context, request *pb.TakeRequest) (*pb.Taken, error) {
	value, err := o.wait(ctx, func(t scheduler.Ticket) { o.core.Take(t, trainer, request.GetRollout()) })
	if err != nil {
		return nil, status.Error(codes.FailedPrecondition, err.Error())
	}
	lease := value.(scheduler.Lease)
	out := &pb.Taken{Admission: lease.Admission, Groups: make([]*pb.Result, len(lease.Groups))}
	shard := make([]scheduler.RowRange, len(lease.Groups))
	o.mu.Lock()
	defer o.mu.Unlock()
	for i, group := range lease.Groups {
		shard[i] = scheduler.RowRange{Group: group.Receipt.Group, Handle: group.Handle, Rows: group.Samples}
		out.Groups[i] = &pb.Result{Receipt: fromReceipt(group.Receipt), Rows: o.rows[group.Handle]}
	}
	publication, err := o.core.Publish(lease.Admission, scheduler.PublishRequest{
		Shards: [][]scheduler.RowRange{shard}, Roles: []scheduler.RoleSize{{Role: "trainer", WorldSize: 1}}, Generation: 1,
	})
	if err == nil {
		err = o.core.Admit(scheduler.AdmitRequest{
			Admission: lease.Admission, Digest: publication.Digest, Role: "trainer", Generation: 1, Session: trainer,
		})
	}
	if err != nil {
		return nil, status.Error(codes.FailedPrecondition, err.Error())
	}
	o.effects()
	return out, nil
}

// Commit accepts a batch for training.
func (o *owner) Commit(ctx context.Context, request *pb.CommitRequest) (*pb.Committed, error) {
	if _, err := o.wait(ctx, func(t scheduler.Ticket) { o.core.Commit(t, request.GetAdmission()) }); err != nil {
		return nil, status.Error(codes.FailedPrecondition, err.Error())
	}
	return &pb.Committed{}, nil
}

var slots = []int32{0, 1, 2, 3, 4, 5, 6, 7}

func fromReceipt(r leases.Receipt) *pb.Receipt {
	return &pb.Receipt{Timeline: r.Timeline.Number, Group: r.Group, Attempt: r.Attempt, Execution: r.Execution, Worker: uint64(r.Worker)}
}

// receipt is exact in what a rewind would change: this service never rewinds, so its timeline has one origin.
func (o *owner) receipt(r *pb.Receipt) leases.Receipt {
	return leases.Receipt{
		Timeline: leases.Timeline{Number: r.GetTimeline(), Origin: o.core.Term()},
		Group:    r.GetGroup(), Attempt: r.GetAttempt(), Execution: r.GetExecution(), Worker: leases.Session(r.GetWorker()),
	}
}
