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
	// Short marks a batch below the size that was asked for: the last one of a finite source, one that lost groups without
	// getting others, or one with as many groups as it may have and not as many tokens.
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
	Holder leases.Session
	// Columns are the column segments that stages added, in order.
	Columns []Data
	Samples int32
	Tokens  int64
	// MinVersion and MaxVersion are the oldest and newest weight version used.
	MinVersion, MaxVersion int64
}

// Types of a lease's life that belong to the ledger.
type (
	// RowRange is some rows of one group's data.
	RowRange = leases.RowRange
	// RoleSize is a required role.
	RoleSize = leases.RoleSize
	// PublishRequest fixes who reads what of a lease.
	PublishRequest = leases.PublishRequest
	// Publication is the immutable identity of a published lease.
	Publication = leases.Publication
	// AdmitRequest is one rank's word that it holds exactly its shard.
	AdmitRequest = leases.AdmitRequest
	// LeaseState is where a lease is in its life.
	LeaseState = leases.LeaseState
	// LeaseStatus answers a status question and a Commit or Rollback.
	LeaseStatus = leases.LeaseStatus
	// Entry is one record of the commit log.
	Entry = leases.Entry
)

// States of a lease.
const (
	LeaseOpen       = leases.LeaseOpen
	LeasePublished  = leases.LeasePublished
	LeaseCommitting = leases.LeaseCommitting
	LeaseCommitted  = leases.LeaseCommitted
	LeaseRolledBack = leases.LeaseRolledBack
)

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
	// Ended: everything of a finite source has settled. The version needs no engine.
	Ended bool
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
