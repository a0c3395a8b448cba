// Package sidecar is the Go process beside one Ray actor: how it starts, what it holds, when it leaves.
//
//	     shim (Python)
//	       │ frames + fds
//	┌──────▼───────┐  Join, Report, Take, …   ┌───────────────┐
//	│ Process      │─────────────────────────▶│ owner         │   in the sidecar of the actor that owns the run;
//	│  members     │◀─────────────────────────│  scheduler    │   the Process there dials it like any other
//	└──────┬───────┘  Grant, Append, Release  └───────────────┘
//	       │ fds on the same host, Arrow Flight between hosts (far.go)
//	other sidecars
//
// Two goroutines own all state: the Process's loop owns its members (sessions with an owner, segments, terminal receipts, commit
// logs), the owner's loop owns the scheduler. Readers and senders around them only move frames. Everything else that decides
// lives in the packages scheduler and leases.
//
// A sidecar is tied to its parent: it leaves when the socket closes or the parent's pidfd fires, whichever is first, and no promise
// depends on what it does on the way out. What must survive is held by others: the owner's ledger by the trainers' sidecars (base
// and log), a worker's running and finished work by the worker's sidecar, which tells the next life of the owner.
package sidecar
