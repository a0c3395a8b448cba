package leases

// Tally counts groups with their samples and tokens.
type Tally struct{ Groups, Samples, Tokens int64 }

// ReasonTally counts what was discarded for one reason.
type ReasonTally struct {
	Reason string
	Tally  Tally
}

// Books are the run's accounts. They close when
// Reserved = Acknowledged + sum(Discarded) + Failed + Live, in groups, samples and tokens.
type Books struct {
	// Reserved counts groups that left the source and have not gone back to it.
	Reserved     Tally
	Acknowledged Tally
	// Discarded is ordered by reason.
	Discarded []ReasonTally
	Failed    Tally
	// Live counts groups that are RESERVED, EXECUTING, TERMINAL, COMPLETED or LEASED.
	Live Tally
	// Requeued counts reservations that went back to the source, over this life of the owner.
	Requeued int64
}
