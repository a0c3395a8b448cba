package scheduler

import "outrider/leases"

// Lease answers a Take: one batch, owned by the session that took it until commit or rollback.
type Lease struct {
	// Admission identifies the lease for ever; unique over all lives of the owner.
	Admission uint64
	Rollout   int64
	Timeline  leases.Timeline
	// Groups are ordered by group.
	Groups []LeasedGroup
	// Short marks the last batch of a finite source when it has fewer than BatchGroups groups.
	Short bool
	// Announced is the weight version that was announced when the lease was made.
	Announced int64
	// Final is set with ownership="none": there is nothing to commit or to roll back.
	Final bool
}

// LeasedGroup is one group of a lease.
type LeasedGroup struct {
	Receipt leases.Receipt
	Handle  leases.Handle
	// Holder is the session that holds the data.
	Holder  leases.Session
	Samples int32
	Tokens  int64
	// MinVersion and MaxVersion are the oldest and newest weight version used.
	MinVersion, MaxVersion int64
}

// RowRange is some rows of one group's data.
type RowRange struct {
	Group    int64
	Handle   leases.Handle
	FirstRow int32
	Rows     int32
}

// PublishRequest fixes who reads what of a lease.
type PublishRequest struct {
	// Shards have the ordered locators of each shard; every group of the lease must occur, no other may.
	Shards [][]RowRange
	// Roles are the required roles with their world sizes (ranks 0..size-1 must each admit).
	Roles      []RoleSize
	Generation int64
	// Content is a digest over the data that the shards name, made by the caller.
	Content [32]byte
}

// RoleSize is a required role.
type RoleSize struct {
	Role      string
	WorldSize int
}

// Publication is the immutable identity of a published lease.
type Publication struct {
	Admission uint64
	Rollout   int64
	Timeline  leases.Timeline
	Request   PublishRequest
	// Digest is over everything above; an admission must repeat it.
	Digest [32]byte
}

// AdmitRequest is one rank's word that it holds exactly its shard.
type AdmitRequest struct {
	Admission uint64
	// Digest is the Publication's.
	Digest     [32]byte
	Role       string
	Rank       int
	Generation int64
	Session    leases.Session
}

// LeaseState is where a lease is in its life.
type LeaseState uint8

// States of a lease. An OPEN lease that was published is PUBLISHED.
const (
	LeaseOpen LeaseState = iota + 1
	LeasePublished
	LeaseCommitting
	LeaseCommitted
	LeaseRolledBack
)

// LeaseStatus answers a status question and a Commit or Rollback.
type LeaseStatus struct {
	Admission uint64
	Rollout   int64
	State     LeaseState
	// Reason is why it was rolled back.
	Reason string
}

// HoldID names a hold.
type HoldID uint64

// Mode says whether a weight update waits for its frontier.
type Mode uint8

const (
	// Drain waits until what ran when the hold was taken has ended.
	Drain Mode = iota
	// InFlight does not wait: samples record the versions they used.
	InFlight
)

// UpdateStart answers BeginUpdate, Rebroadcast and Undo: the fence stands, send the weights.
type UpdateStart struct {
	Hold    HoldID
	Version int64
	// Digest is the recorded digest of Version, when it is an announced one.
	Digest []byte
	// Engines are to load Version and confirm it.
	Engines []leases.Session
	// Revoked lists leases that the version would have made too stale, rolled back before this answer.
	Revoked []uint64
	// Rollout is the last rollout that the weights contain, -1 for none.
	Rollout int64
}

// UpdateReport answers UpdateStatus and Record.
type UpdateReport struct {
	Version     int64
	Confirmed   []leases.Session
	Unconfirmed []leases.Session
	Revoked     []uint64
}

// RewindReport answers Rewind.
type RewindReport struct {
	// Rollout is the last rollout that counts now.
	Rollout  int64
	Timeline leases.Timeline
	// Version is the announced version now.
	Version int64
	// Replay counts the groups that go back to the source: acknowledged, discarded and failed ones.
	Replay int64
	// RolledBack lists the leases that were open.
	RolledBack []uint64
}

// CloseReport answers Close.
type CloseReport struct {
	Books leases.Books
	// State is the final state, of the last committed rollout.
	State []byte
}
