package scheduler

import "outrider/leases"

// Stats is what a status screen shows. Taking it costs the same at any number of groups.
type Stats struct {
	Term        leases.Term
	Timeline    leases.Timeline
	Announced   int64
	NextRollout int64
	Unowned     bool
	// Recovering is set while a later life waits for its base or its join window.
	Recovering bool
	Closing    bool
	// Groups by state.
	Reserved, Executing, Terminal, Completed, Leased int64
	// Used and Limits of the bounds; a derived limit shows its present value. Bytes is of the fullest host.
	ExecutingSamples, Retained, Buffered, Bytes int64
	Limits                                      Limits
	Books                                       leases.Books
	Workers, Engines, Unconfirmed, Trainers     int
	OpenLeases, WaitingTakes, Holds             int
	// Counters over this life of the owner.
	StaleOutcomes, Requeued, Evicted, StaleSettled, Rewinds, Overdrawn, Dispatched int64
	// Staleness of consumed groups over this life: sum, count and maximum.
	StalenessSum, StalenessCount, StalenessMax int64
}
