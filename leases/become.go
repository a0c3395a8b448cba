package leases

// Only the methods of this file write a group's state.

func (l *Ledger) becomeReserved(id int64, r retry) *Group {
	g := l.fresh()
	g.id, g.attempt, g.given, g.failures, g.requeues, g.losses, g.samples = id, r.attempt+1, r.attempt+1, r.failures, r.requeues, r.losses, int32(l.groupSize)
	l.move(g, Reserved)
	l.live.add(g)
	l.reserved.add(g.Tally())
	l.liveTally.add(g.Tally())
	return g
}

func (l *Ledger) becomeExecuting(g *Group, worker Session, execution uint64, version int64) {
	l.move(g, Executing)
	g.worker, g.execution, g.charged = worker, execution, version
	l.unfinished.add(version, 1)
}

func (l *Ledger) becomeTerminal(g *Group, o *Outcome) {
	l.move(g, Terminal)
	l.columns.add(g.id, o.Columns)
	l.reserved.sub(g.Tally())
	l.liveTally.sub(g.Tally())
	g.samples, g.tokens, g.handle = int32(len(o.Slots)), o.Tokens, o.Handle
	g.oldest, g.newest, g.sum = o.MinVersion, o.MaxVersion, o.SumVersions
	if !o.HasVersions {
		g.oldest, g.newest, g.sum = g.charged, g.charged, g.charged*int64(g.samples)
	}
	l.reserved.add(g.Tally())
	l.liveTally.add(g.Tally())
}

// becomeTerminalAgain takes a COMPLETED group its place.
func (l *Ledger) becomeTerminalAgain(g *Group) {
	l.move(g, Terminal)
	l.unfinished.add(g.charged, 1)
}

func (l *Ledger) becomeCompleted(g *Group) {
	l.move(g, Completed)
	l.finished.add(g.oldest, 1)
}

func (l *Ledger) becomeLeased(g *Group, lease *Lease) {
	l.move(g, Leased)
	g.lease = lease
}

func (l *Ledger) becomeAcknowledged(g *Group) {
	l.move(g, Acknowledged)
	l.totals.Acknowledged.add(g.Tally())
	l.settle(g)
}

func (l *Ledger) becomeDiscarded(g *Group, reason string) {
	l.move(g, Discarded)
	l.totals.discard(reason, g.Tally())
	l.settle(g)
}

func (l *Ledger) becomeFailed(g *Group) {
	l.move(g, Failed)
	l.totals.Failed.add(g.Tally())
	l.settle(g)
}

// becomeRequeued returns the pristine rows to the source. failures are the data attempts used up so far, losses the
// executions in a row that were lost.
func (l *Ledger) becomeRequeued(g *Group, failures, losses uint8) {
	g.failures, g.losses = failures, losses
	if l.keys[g.id] != 0 {
		l.becomeReturning(g)
		return
	}
	id := g.id
	l.goBack(g)
	l.replay.add(id, id+1)
}

// becomeReturning leaves a group of a pulled source owned until the source has it back.
func (l *Ledger) becomeReturning(g *Group) {
	l.move(g, Returning)
	g.lease, g.handle = nil, 0
}

// becomeAway ends the record of a group that a pulled source has again.
func (l *Ledger) becomeAway(g *Group) {
	l.away[g.id] = struct{}{}
	delete(l.keys, g.id)
	l.goBack(g)
}

func (l *Ledger) goBack(g *Group) {
	l.move(g, Requeued)
	l.reserved.sub(g.Tally())
	l.requeued++
	l.retries[g.id] = retry{attempt: g.given, failures: g.failures, requeues: g.requeues, losses: g.losses}
	l.forget(g)
}

// settle ends the record of a settled group.
func (l *Ledger) settle(g *Group) {
	l.settled.add(g.id, g.id+1)
	l.forget(g)
}

func (l *Ledger) forget(g *Group) {
	l.liveTally.sub(g.Tally())
	l.live.remove(g)
	*g = Group{}
	l.unused = append(l.unused, g)
}

// fresh returns an empty record. Records are used again, so a run at its bound allocates none.
func (l *Ledger) fresh() *Group {
	if n := len(l.unused); n > 0 {
		g := l.unused[n-1]
		l.unused = l.unused[:n-1]
		return g
	}
	return &Group{}
}
