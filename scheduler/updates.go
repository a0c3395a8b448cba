package scheduler

import (
	"fmt"
	"slices"

	"outrider/leases"
)

// update is one weight update, or a rebroadcast of the announced version, between its begin and its record.
type update struct {
	hold    *hold
	version int64
	// contains is the last rollout that was committed when the update began: its weights were made before, whatever is
	// committed while they travel.
	contains int64
	// digest is the trainer's, of the weights that are sent; empty: it gave none.
	digest []byte
	// announced is set when version is the announced one: a rebroadcast, or what an Undo went back to.
	announced bool
	mode      Mode
	waits     bool     // for an engine to send to, as a rebroadcast
	tickets   []Ticket // wait for the start, then for the record
	start     *UpdateStart
	// failed is set once it could not be recorded, until an engine confirms: nobody is known to hold its weights.
	failed bool
	// doubted are the engines that were trusted until its start.
	doubted   []*member
	recording bool
	recorded  bool
	undoing   bool // the rewind is its own
}

func (u *update) fail(s *Scheduler, err error) {
	s.answerAll(u.tickets, nil, err)
	u.tickets = nil
}

// BeginUpdate takes a hold for new weights and waits for its frontier (mode Drain). Answer: UpdateStart. The same
// session asking again for the same version gets the same hold, with the engines that are here by then. digest is that of the weights: an
// engine that confirms another one has failed to load; nil: what the engines say themselves has to agree.
// Errors: ErrConflict (version not above the announced one, or another update stands), ErrClosed.
func (s *Scheduler) BeginUpdate(t Ticket, session leases.Session, version int64, mode Mode, digest []byte) {
	if s.later(t, func() { s.BeginUpdate(t, session, version, mode, digest) }) {
		return
	}
	s.begins(t, session, &update{version: version, mode: mode, digest: slices.Clone(digest)})
}

// Rebroadcast is BeginUpdate for the announced version, to unconfirmed engines only; it waits until there is an engine. Answer: UpdateStart.
// Errors: as BeginUpdate; ErrNoWorkers (none came for JoinTimeout).
func (s *Scheduler) Rebroadcast(t Ticket, session leases.Session) {
	if s.later(t, func() { s.Rebroadcast(t, session) }) {
		return
	}
	s.begins(t, session, &update{announced: true, mode: InFlight, waits: true})
}

func (s *Scheduler) begins(t Ticket, session leases.Session, begun *update) {
	if err := s.openErr(); err != nil {
		s.answer(t, nil, err)
		return
	}
	announced := s.ledger.Version()
	if begun.announced {
		_, _, _, begun.digest = s.ledger.Announced()
		begun.version = announced
	}
	version := begun.version
	switch u := s.update; {
	case u != nil && u.hold.session == session && u.version == version && u.announced == begun.announced && slices.Equal(u.digest, begun.digest) && !u.recording:
		s.startAgain(u, t)
		return
	case u != nil && u.hold.session == session && !u.recording:
		// Its own update failed and was left: a new one takes its place.
		s.endHold(u.hold, fmt.Errorf("%w: another update of the same session has begun", leases.ErrStale))
	case u != nil:
		s.answer(t, nil, fmt.Errorf("%w: session %s is updating to version %d (hold %d); wait until that is recorded or released", leases.ErrConflict, u.hold.session, u.version, u.hold.id))
		return
	}
	if !begun.announced && version <= announced {
		s.answer(t, nil, fmt.Errorf("%w: version %d is not above the announced version %d; rebroadcast that, or announce a higher one", leases.ErrConflict, version, announced))
		return
	}
	h, err := s.acquire(session, fmt.Sprintf("weights of version %d", version))
	if err != nil {
		s.answer(t, nil, err)
		return
	}
	begun.hold, begun.contains, begun.tickets = h, s.ledger.LastRollout(), []Ticket{t}
	s.update = begun
	if s.lacksEngine(begun) {
		s.log(Warn, "a rebroadcast waits for the first engine", "version", version)
	}
	if o := s.before(h); o != nil {
		s.log(Info, "an update waits for the end of a hold", "version", version, "hold", o.id, "reason", o.reason)
	}
	s.pump()
}

// startUpdate answers who waits for the fence once it stands. Open leases are weighed against the new version
// before any weights are sent.
func (s *Scheduler) startUpdate() {
	u := s.update
	if u.start != nil || !s.mayBegin(u.hold, u.mode == Drain) || s.lacksEngine(u) {
		return
	}
	_, contains, _, _ := s.ledger.Announced()
	start := UpdateStart{Hold: u.hold.id, Version: u.version, Rollout: u.contains}
	if u.announced {
		start.Digest, start.Rollout = u.digest, contains
	} else {
		start.Revoked = s.revoke(u.version)
	}
	u.start = &start
	s.chooseEngines(u, func(m *member) bool { return u.announced && s.current(m) })
	s.sent = max(s.sent, u.version)
	s.answerAll(u.tickets, start, nil)
	u.tickets = nil
}

// lacksEngine reports whether an update has nobody to send to yet: at the start of a job its engines may come after its driver. Runs whose
// workers need no weights have no engines.
func (s *Scheduler) lacksEngine(u *update) bool {
	return u.waits && u.start == nil && !s.ended && !slices.ContainsFunc(s.order, (*member).engine) &&
		!slices.ContainsFunc(s.workers, func(m *member) bool { return m.uses == nil })
}

// startAgain answers who asks again for an update: its answer was lost, or not every engine has confirmed. The weights go to the engines
// that are here by now.
func (s *Scheduler) startAgain(u *update, t Ticket) {
	if u.start == nil {
		u.tickets = append(u.tickets, t)
		return
	}
	s.chooseEngines(u, func(m *member) bool { return s.confirmed(u, m) || u.announced && s.current(m) })
	s.answer(t, *u.start, nil)
}

// chooseEngines names the engines that the weights of an update go to: those that it named before, and the others but for whom has them.
func (s *Scheduler) chooseEngines(u *update, has func(*member) bool) {
	var engines []leases.Session
	for _, m := range s.order {
		before := slices.Contains(u.start.Engines, m.session)
		if !m.engine() || !before && has(m) {
			continue
		}
		engines = append(engines, m.session)
		if !before {
			if !m.suspect {
				u.doubted = append(u.doubted, m)
			}
			m.suspect = true
		}
	}
	u.start.Engines = engines
}

// revoke rolls back the open leases with a group that version makes too stale.
func (s *Scheduler) revoke(version int64) []uint64 {
	var out []uint64
	for _, lease := range s.ledger.OpenLeases() {
		if lease.State() == leases.LeaseCommitting || s.cfg.Policy.MaxStaleness == NoBound {
			continue
		}
		for _, g := range lease.Groups {
			if s.staleAt(g, version) {
				oldest, _, _ := g.Versions()
				why := fmt.Errorf("%w: admission %d of rollout %d was revoked: version %d makes group %d (oldest version %d) staler than max_staleness=%d; take the rollout again",
					leases.ErrStale, lease.Admission, lease.Rollout, version, g.ID(), oldest, s.cfg.Policy.MaxStaleness)
				out = append(out, lease.Admission)
				s.stats.StaleSettled++
				s.rollback(lease, fmt.Sprintf("too stale for version %d", version), why)
				break
			}
		}
	}
	return out
}

func (s *Scheduler) findUpdate(id HoldID) (*update, error) {
	if u := s.update; u != nil && u.hold.id == id {
		return u, nil
	}
	return nil, fmt.Errorf("%w: hold %d is not that of an update (recorded, released, or of a former life of the owner); begin the update again", leases.ErrStale, id)
}

// confirmed reports whether an engine has confirmed the update's version since the weights were sent.
func (s *Scheduler) confirmed(u *update, m *member) bool {
	return !m.suspect && m.confirmed == u.version && m.confirmedIn == s.ledger.Timeline()
}

// digest is that of an update's weights: the trainer's word, else the one that the engines name which confirmed and name one.
// Of engines that contradict each other nobody could say which is right: none of them counts.
func (s *Scheduler) digest(u *update) (digest []byte, contradicted []*member) {
	if len(u.digest) > 0 {
		return u.digest, nil
	}
	var named []*member
	for _, m := range s.order {
		if m.engine() && s.confirmed(u, m) && len(m.digest) > 0 {
			named = append(named, m)
		}
	}
	for _, m := range named {
		if !slices.Equal(m.digest, named[0].digest) {
			return nil, named
		}
		digest = m.digest
	}
	return digest, nil
}

func (s *Scheduler) report(u *update) UpdateReport {
	out := UpdateReport{Version: u.version, Ended: s.ended}
	if u.start == nil {
		return out
	}
	out.Revoked = u.start.Revoked
	_, contradicted := s.digest(u)
	confirmed := func(m *member) bool { return s.confirmed(u, m) && !slices.Contains(contradicted, m) }
	for _, session := range u.start.Engines {
		m := s.members[session]
		switch {
		case m == nil:
		case confirmed(m):
			out.Confirmed = append(out.Confirmed, session)
		default:
			out.Unconfirmed = append(out.Unconfirmed, session)
		}
	}
	// An engine that came meanwhile and has loaded the version, for example the next life of one that died in the load, counts.
	for _, m := range s.order {
		if !u.announced && m.engine() && confirmed(m) && !slices.Contains(u.start.Engines, m.session) {
			out.Confirmed = append(out.Confirmed, m.session)
		}
	}
	return out
}

// UpdateStatus says which engines have confirmed so far. Errors: ErrStale (no such update).
func (s *Scheduler) UpdateStatus(id HoldID) (UpdateReport, error) {
	if s.dead != nil {
		return UpdateReport{}, s.dead
	}
	u, err := s.findUpdate(id)
	if err != nil {
		return UpdateReport{}, err
	}
	return s.report(u), nil
}

// Record announces the update's version: the entry goes to the trainers' logs, then the hold ends.
// Answer: UpdateReport. Errors: ErrStale (no such update, recorded before), ErrConflict (its frontier has not ended, it is being undone),
// ErrUpdateFailed (no engine confirmed; the hold stays).
func (s *Scheduler) Record(t Ticket, id HoldID) {
	if err := s.record(t, id); err != nil {
		s.answer(t, nil, err)
	}
	s.pump()
}

func (s *Scheduler) record(t Ticket, id HoldID) error {
	if err := s.openErr(); err != nil {
		return err
	}
	u, err := s.findUpdate(id)
	switch {
	case err != nil:
		return err
	case u.start == nil:
		return fmt.Errorf("%w: version %d cannot be recorded: what ran when hold %d was taken has not ended, or an earlier hold stands", leases.ErrConflict, u.version, id)
	case u.undoing:
		return fmt.Errorf("%w: version %d is being undone: wait for the answer to that, then record hold %d", leases.ErrConflict, u.version, id)
	case u.recording:
		u.tickets = append(u.tickets, t)
		return nil
	}
	if _, contradicted := s.digest(u); contradicted != nil {
		for _, m := range contradicted {
			s.log(Warn, "engines contradict each other about the weights", "engine", m.session, "version", u.version, "digest", string(m.digest))
			m.suspect = true
		}
	}
	report := s.report(u)
	if len(report.Confirmed) == 0 && len(u.start.Engines) > 0 && !s.anyCurrent(u) && !s.ended {
		u.failed = true
		s.log(Warn, "update failed", "version", u.version, "engines", len(u.start.Engines), "hold", id)
		return u.failure()
	}
	u.tickets = append(u.tickets, t)
	if u.announced {
		s.finishRecord(u)
		return nil
	}
	s.announce(u)
	return nil
}

// announce gives the update's version to the trainers' logs; it counts when they have it.
func (s *Scheduler) announce(u *update) {
	report := s.report(u)
	u.recording = true
	digest, _ := s.digest(u)
	entry := s.ledger.StartVersion(u.version, u.contains, digest)
	s.replicate(&replication{entry: entry, done: func() {
		if err := s.ledger.FinishVersion(entry); err != nil {
			s.undone(u, err)
			return
		}
		s.log(Info, "announced", "version", u.version, "confirmed", len(report.Confirmed), "unconfirmed", len(report.Unconfirmed))
		s.emit(Announced{Version: u.version})
		s.wakeFirst()
		s.finishRecord(u)
	}})
}

// lack says why nothing goes on under an update that failed, failure is the error of that.
func (u *update) lack() string {
	return fmt.Sprintf("no engine of %d has confirmed version %d; the run stays held: send it again, rebroadcast, rewind or close", len(u.start.Engines), u.version)
}

func (u *update) failure() error { return fmt.Errorf("%w: %s", leases.ErrUpdateFailed, u.lack()) }

// Withdraw ends a session's own update of which it has sent nothing, whether that waits or has just begun: its engines go on with
// the weights that they have. Errors: ErrStale (there is none, or it is being recorded).
func (s *Scheduler) Withdraw(session leases.Session) error {
	if err := s.openErr(); err != nil {
		return err
	}
	u := s.update
	if u == nil || u.hold.session != session || u.recording || u.undoing {
		return fmt.Errorf("%w: session %s has no update that could be withdrawn", leases.ErrStale, session)
	}
	for _, m := range u.doubted {
		m.suspect = false
	}
	s.endHold(u.hold, fmt.Errorf("%w: it was withdrawn", leases.ErrStale))
	s.pump()
	return nil
}

// heirless records an update whose session ended after every engine had confirmed: nothing is left to be done for it but
// that, unless it is being undone. It reports whether it did; else the update has failed.
func (s *Scheduler) heirless(u *update) bool {
	if u.start == nil || u.announced || u.recording || u.undoing || s.openErr() != nil {
		return false
	}
	report := s.report(u)
	if len(report.Confirmed) == 0 || len(report.Unconfirmed) > 0 {
		return false
	}
	s.log(Warn, "recording an update whose session ended: every engine has confirmed it", "version", u.version)
	s.announce(u)
	return true
}

// outdate ends an update that stands while the run goes back below the weights that it brings, or to other ones.
func (s *Scheduler) outdate(rollout int64) {
	if u := s.update; u != nil && !u.recording && !u.undoing {
		s.endHold(u.hold, fmt.Errorf("%w: the run went back to rollout %d while version %d was being sent; announce what the trainer has now", leases.ErrStale, rollout, u.version))
	}
}

// undone ends an update whose version was undone while it was on its way to the logs.
func (s *Scheduler) undone(u *update, err error) {
	if s.update == u {
		s.endHold(u.hold, err)
	}
	u.fail(s, err)
}

// anyCurrent reports whether an engine that the rebroadcast did not concern serves the announced version.
func (s *Scheduler) anyCurrent(u *update) bool {
	if !u.announced {
		return false
	}
	for _, m := range s.order {
		if m.engine() && s.current(m) {
			return true
		}
	}
	return false
}

// finishRecord answers and ends the hold. A session that ended meanwhile has taken its hold with it.
func (s *Scheduler) finishRecord(u *update) {
	report := s.report(u)
	s.answerAll(u.tickets, report, nil)
	u.tickets, u.recorded = nil, true
	if s.update == u {
		s.endHold(u.hold, nil)
	}
}

// Undo goes back from a failed update: the run rewinds to the rollout that the announced version contains and the
// hold becomes one for the announced version, to every engine that is unconfirmed then. Answer: UpdateStart; end it by
// Record or Release. Errors: ErrStale, ErrState (that rollout is below the saved base).
func (s *Scheduler) Undo(t Ticket, id HoldID) {
	if err := s.undo(t, id); err != nil {
		s.answer(t, nil, err)
	}
	s.pump()
}

func (s *Scheduler) undo(t Ticket, id HoldID) error {
	if err := s.openErr(); err != nil {
		return err
	}
	u, err := s.findUpdate(id)
	switch {
	case err != nil:
		return err
	case u.recording:
		return fmt.Errorf("%w: version %d is being recorded", leases.ErrConflict, u.version)
	case u.announced:
		s.startAgain(u, t)
		return nil
	case u.undoing:
		u.tickets = append(u.tickets, t) // the logs have not taken the rewind yet
		return nil
	}
	announced, contains, _, digest := s.ledger.Announced()
	ready := func() {
		if s.update != u {
			s.answer(t, nil, fmt.Errorf("%w: hold %d ended while the run rewound to rollout %d", leases.ErrStale, id, contains))
			return
		}
		u.version, u.digest, u.announced, u.mode, u.start, u.failed = announced, digest, true, InFlight, nil, false
		u.tickets = append(u.tickets, t)
		s.startUpdate()
	}
	if contains == s.ledger.LastRollout() {
		ready()
		return nil
	}
	u.undoing = true
	err = s.rewind(contains, []Ticket{t}, func(RewindReport) {
		u.undoing = false
		ready()
	})
	u.undoing = u.undoing && err == nil
	return err
}
