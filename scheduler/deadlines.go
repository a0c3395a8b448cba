package scheduler

import "outrider/leases"

// wait puts an execution into a list of those that wait for one same span of time, so that the oldest is due first.
func (e *running) wait(in *list[running]) {
	e.unclock()
	e.clock = in
	in.push(e)
}

// unclock takes an execution off the list that it waits in, if any.
func (e *running) unclock() {
	if e.clock != nil {
		e.clock.remove(e)
		e.clock = nil
	}
}

// expire cancels the executions that are past their deadline, and gives up those that were not ended in the grace.
func (s *Scheduler) expire() {
	if s.closing != nil {
		return
	}
	t := &s.cfg.Times
	for e := s.deadlines.first; e != nil && s.now >= e.since+t.ExecutionDeadline; e = s.deadlines.first {
		if e.waitsToWrite() {
			s.restart(e) // others keep it waiting
			continue
		}
		s.log(Warn, "execution is past its deadline and is cancelled", "group", e.receipt.Group, "worker", e.m.session, "name", e.m.name,
			"samples", e.charged, "execution_deadline", t.ExecutionDeadline, "cancel_grace", t.CancelGrace)
		s.emit(Cancel{Session: e.m.session, Receipt: e.receipt})
		e.cancelled, e.overdue, e.since = true, true, s.now
		e.wait(&s.graces)
	}
	s.expireOrphans()
	for e := s.graces.first; e != nil && s.now >= e.since+t.CancelGrace; e = s.graces.first {
		e.unclock()
		s.stick(e)
	}
}

// restart begins an execution's deadline anew.
func (s *Scheduler) restart(e *running) {
	e.since = s.clock
	e.wait(&s.deadlines)
}

// stick makes an execution void that its worker did not end when it was told to: its group goes elsewhere, its samples
// stay charged to the worker until they are proven over. Nothing waits for them: neither a hold, nor the executing bound.
func (s *Scheduler) stick(e *running) {
	m := e.m
	if e.group != nil {
		g := e.group
		s.ungroup(e)
		s.interrupt(g)
	}
	e.stuck = true
	s.running.stuck += e.charged
	m.stuck += e.charged
	s.log(Warn, "execution is void: its worker did not end it", "group", e.receipt.Group, "worker", m.session, "name", m.name,
		"stuck", m.stuck, "slots", m.worker.Slots)
	if m.mostlyStuck() && !m.saidStuck {
		m.saidStuck = true
		s.log(Warn, "worker gets no work: more than half of its slots are stuck; restart it", "worker", m.session, "name", m.name,
			"stuck", m.stuck, "slots", m.worker.Slots)
	}
	s.checkDrained(m)
}

// mostlyStuck reports whether so much of a worker is stuck that it gets no work.
func (m *member) mostlyStuck() bool {
	return m.worker.Slots > 0 && 2*m.stuck > int64(m.worker.Slots)
}

// unstick follows a change of what is stuck: a worker that has its slots back is reported again the next time.
func (m *member) unstick(samples int64) {
	m.stuck -= samples
	m.saidStuck = m.saidStuck && m.mostlyStuck()
}

// CancelGroups asks the workers of EXECUTING groups to end them, and returns how many were asked. A group goes elsewhere
// only when its worker says that its execution has ended, or is lost; a result that was there already counts. Groups
// that do not run are left alone; a second call asks for nothing.
func (s *Scheduler) CancelGroups(groups []int64, reason string) (int, error) {
	if err := s.openErr(); err != nil {
		return 0, err
	}
	asked := 0
	for _, id := range groups {
		g := s.ledger.Find(id)
		if g == nil || g.State() != leases.Executing {
			continue
		}
		if e := s.running.find(s.ledger.Receipt(g)); !e.cancelled {
			e.cancelled = true
			asked++
			s.log(Info, "cancel", "group", id, "worker", e.m.session, "reason", reason)
			s.emit(Cancel{Session: e.m.session, Receipt: e.receipt})
		}
	}
	return asked, nil
}
