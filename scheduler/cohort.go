package scheduler

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"slices"
	"sort"

	"outrider/leases"
)

// noGeneration is below every generation that a job gives.
const noGeneration int64 = -1

// cohort is the set of trainer ranks of the highest generation that has attached.
type cohort struct {
	generation int64
	sizes      map[string]int
	ranks      map[leases.Rank]*member
}

func (c *cohort) reset(generation int64) {
	c.generation, c.sizes, c.ranks = generation, map[string]int{}, map[leases.Rank]*member{}
}

func (m *member) rank() leases.Rank { return leases.Rank{Role: m.trainer.Role, Rank: m.trainer.Rank} }

func (c *cohort) remove(m *member) {
	if c.ranks[m.rank()] == m {
		delete(c.ranks, m.rank())
	}
}

// complete reports whether every rank of every role that has attached is here.
func (c *cohort) complete() bool {
	want := 0
	for _, size := range c.sizes {
		want += size
	}
	return want > 0 && len(c.ranks) == want
}

func sortedRoles(sizes map[string]int) []string {
	return slices.Sorted(maps.Keys(sizes))
}

// members returns the ranks here, by role and rank.
func (c *cohort) members() []*member {
	out := make([]*member, 0, len(c.ranks))
	for _, m := range c.ranks {
		out = append(out, m)
	}
	sort.Slice(out, func(i, j int) bool {
		a, b := out[i].rank(), out[j].rank()
		return a.Role < b.Role || a.Role == b.Role && a.Rank < b.Rank
	})
	return out
}

// attachTrainer takes a rank into the cohort. When that makes it complete, what its weights contain is weighed
// against the ledger: the run rewinds to older weights and refuses weights that it cannot prove.
func (s *Scheduler) attachTrainer(m *member, in *TrainerRole) error {
	role := *in
	rank := leases.Rank{Role: role.Role, Rank: role.Rank}
	if role.Generation < s.cohort.generation {
		return fmt.Errorf("%w: %s attaches with generation %d, the cohort is of generation %d: the job has gone on without it", leases.ErrCohortChanged, rank, role.Generation, s.cohort.generation)
	}
	if size, ok := s.cohort.sizes[role.Role]; ok && role.Generation == s.cohort.generation && size != role.WorldSize {
		return fmt.Errorf("%w: %s attaches with world_size=%d, the cohort of generation %d has %d; give a changed cohort a higher generation", leases.ErrConflict, rank, role.WorldSize, role.Generation, size)
	}
	if err := s.weigh(rank, &role); err != nil {
		return err
	}
	if m.trainer != nil {
		s.cohort.remove(m)
	}
	m.trainer, m.stateAt, m.unsaid, m.decided, m.brought = &role, role.StateAt, role.Unsaid, false, false
	if role.Generation > s.cohort.generation {
		for _, old := range s.cohort.members() {
			if old != m {
				s.expel(old, fmt.Errorf("%w: generation %d has begun, %s was of generation %d", leases.ErrCohortChanged, role.Generation, old.rank(), s.cohort.generation))
			}
		}
		s.cohort.reset(role.Generation)
	}
	if old := s.cohort.ranks[rank]; old != nil && old != m {
		s.expel(old, fmt.Errorf("%w: %s has attached in another process", leases.ErrCohortChanged, rank))
	}
	_, declared := s.cohort.sizes[role.Role]
	s.cohort.sizes[role.Role] = role.WorldSize
	s.cohort.ranks[rank] = m
	err := s.weighAll(m)
	if err != nil && !declared {
		delete(s.cohort.sizes, role.Role)
	}
	return err
}

// weighAll takes what a rank brings into account and decides when the cohort is complete.
func (s *Scheduler) weighAll(m *member) error {
	if s.ledger == nil {
		return s.learn()
	}
	if (m.trainer.keeps() || s.cfg.Unowned) && !s.doubtful(m) {
		s.bringLog(m)
	}
	doubts := len(s.replicating)
	s.settleDoubts(m)
	if len(s.replicating) < doubts { // else it is as weigh has found it
		at, err := s.shown(m.rank(), m.trainer)
		if err != nil {
			return err
		}
		m.stateAt = at
	}
	return s.decide()
}

// shown is the last rollout in a rank's weights: what its sidecar's log shows where it kept one, else the rank's own word. What a log,
// the copy of one or a checkpoint show must be of this run as it went. Errors: ErrState.
func (s *Scheduler) shown(rank leases.Rank, role *TrainerRole) (at int64, err error) {
	at = role.StateAt
	if s.cfg.Unowned {
		return at, nil
	}
	switch {
	case role.keeps():
		at, err = s.ledger.Contained(role.Base, role.Log, math.MaxInt64)
	case role.Base != nil && role.State == nil: // else the weights are the checkpoint's, and the copy tells nothing of them
		_, err = s.ledger.Contained(role.Base, role.Log, at)
	}
	if err == nil && role.Base == nil && role.State != nil { // beside a log it is only what the process once began with
		err = s.ledger.Holds(role.State)
	}
	if err != nil {
		return 0, fmt.Errorf("%s: %w", rank, err)
	}
	return at, nil
}

// weigh refuses weights that the ledger can never prove, before anything changes. A session whose sidecar survived
// (it brings base and log) contains the commits of its log that were answered, whatever it says.
func (s *Scheduler) weigh(rank leases.Rank, role *TrainerRole) error {
	if s.ledger == nil {
		return nil
	}
	at, err := s.shown(rank, role)
	if err != nil {
		return err
	}
	role.StateAt = at
	last := s.ledger.LastRollout()
	if s.cfg.Unowned {
		s.ledger.SkipTo(role.StateAt)
		return nil
	}
	switch {
	case role.StateAt > max(last, s.doubted(rank, role)):
		return fmt.Errorf("%w: %s has weights of rollout %d, the last committed one is %d: they are from another run or a later state; start the run with the state of that checkpoint", leases.ErrState, rank, role.StateAt, last)
	case role.StateAt < last && s.cfg.Policy.RefuseRewind:
		return fmt.Errorf("%w: %s has weights of rollout %d, the last committed one is %d, and rewind=\"refuse\"; load the checkpoint of rollout %d or allow rewinding", leases.ErrRefused, rank, role.StateAt, last, last)
	case role.StateAt < last:
		return s.ledger.CanRewind(role.StateAt)
	}
	return nil
}

// bringLog gives a rank's sidecar base and log. A new process gets all that is decided in one piece, so that no part
// of it can ever speak for weights that it does not hold, and from the run's base on, so that a rewind to any rollout that
// the run can go back to is one that its log can tell of; one that kept a log gets what that lacks.
func (s *Scheduler) bringLog(m *member) {
	m.brought = true
	to := []leases.Session{m.session}
	state, rollout, index := s.ledger.Base()
	log := m.trainer.Log
	has := false // the log is known to have all up to the entry that is looked at
	if m.trainer.keeps() {
		if _, own, err := leases.LastTerm(m.trainer.Base, nil); err == nil && own >= index {
			index, has = own, true
			m.appended = max(m.appended, index)
		} else {
			s.emit(SetBase{Sessions: to, R: rollout, Index: index, State: state})
		}
	} else {
		log = nil // a copy is not the sidecar's
		decided := s.ledger.NextIndex() - 1
		if len(s.replicating) > 0 {
			decided = s.replicating[0].entry.Index - 1
		}
		for _, e := range s.ledger.Log() {
			if e.Index <= decided {
				log = append(log, e)
			}
		}
		s.emit(SetBase{Sessions: to, R: rollout, Index: index, State: state, Log: log})
	}
	m.baseIndex = index
	for _, e := range s.ledger.Log() {
		switch {
		case e.Index > index && !sameEntry(log, e):
			s.emit(Append{Sessions: to, Entry: e})
			has = false
		case has:
			m.appended = max(m.appended, e.Index)
		}
	}
}

// decide rewinds the run to what a newly complete cohort's weights contain.
func (s *Scheduler) decide() error {
	if !s.cohort.complete() || s.cfg.Unowned {
		return nil
	}
	s.settleGone()
	all := s.cohort.members()
	undecided := false
	for _, m := range all {
		undecided = undecided || !m.decided
		if first := all[0]; m.stateAt != first.stateAt {
			return fmt.Errorf("%w: %s has weights of rollout %d, %s of rollout %d; load the same checkpoint in every rank", leases.ErrConflict, first.rank(), first.stateAt, m.rank(), m.stateAt)
		}
	}
	if !undecided {
		return nil
	}
	at, last := all[0].stateAt, s.ledger.LastRollout()
	if at < last {
		if s.cfg.Policy.RefuseRewind {
			return fmt.Errorf("%w: the trainers have weights of rollout %d, the last committed one is %d, and rewind=\"refuse\"; load the checkpoint of rollout %d or allow rewinding", leases.ErrRefused, at, last, last)
		}
		if len(s.replicating) > 0 {
			s.failReplications(fmt.Errorf("%w: the cohort came back with weights of rollout %d", leases.ErrStale, at))
		}
		if at == -1 {
			s.log(Warn, "the trainer starts with fresh weights: every acknowledged group replays from the start", "commits", last+1)
		}
		if err := s.rewind(at, nil, nil); err != nil {
			return err
		}
	}
	for _, m := range all {
		m.decided = true
		s.bringLate()
		// They have said what they had to say.
		m.trainer.Base, m.trainer.Log, m.trainer.State = nil, nil, nil
	}
	return nil
}

// doubtful reports whether a commit is in doubt that another session of this rank admitted. Its entry in this session's log
// would speak for weights that never saw the batch, so the session gets no log before that is decided.
func (s *Scheduler) doubtful(m *member) bool {
	return slices.ContainsFunc(s.replicating, func(r *replication) bool {
		if r.lease == nil {
			return false
		}
		by, required := r.lease.AdmittedBy(m.rank())
		return required && by != m.session
	})
}

// bringLate gives base and log to ranks that have been weighed and whose log nothing in doubt would falsify any more.
func (s *Scheduler) bringLate() {
	for _, m := range s.cohort.members() {
		if m.decided && !m.brought && !s.doubtful(m) {
			s.bringLog(m)
		}
	}
}

// learn finds base and log of a later life once a complete cohort has shown what it has.
func (s *Scheduler) learn() error {
	if !s.cohort.complete() {
		return nil
	}
	ledger, err := s.witness()
	if err != nil {
		return err
	}
	s.ledger = ledger
	said := len(s.effects)
	if err := s.learned(); err != nil {
		// Nobody is to hear of a ledger that is not the run's.
		s.ledger, s.effects = nil, s.effects[:said]
		for _, m := range s.cohort.members() {
			m.decided, m.brought = false, false
		}
		return err
	}
	s.becomeKnown()
	return nil
}

// learned weighs the cohort against the ledger that it was found in.
func (s *Scheduler) learned() error {
	all := s.cohort.members()
	for _, m := range all {
		at, err := s.shown(m.rank(), m.trainer)
		if err != nil {
			return err
		}
		m.stateAt = at
		if last := s.ledger.LastRollout(); m.stateAt > last && !s.cfg.Unowned {
			return fmt.Errorf("%w: %s has weights of rollout %d, the ledger that was found ends at %d; pass state= of that checkpoint, or start fresh with state_at=-1", leases.ErrState, m.rank(), m.stateAt, last)
		}
	}
	s.log(Info, "base learned", "next_rollout", s.ledger.LastRollout()+1, "timeline", s.ledger.Timeline(), "term", s.term)
	for _, m := range all {
		if m.trainer.keeps() || s.cfg.Unowned {
			s.bringLog(m)
		}
		if s.cfg.Unowned {
			s.ledger.SkipTo(m.stateAt)
		}
	}
	return s.decide()
}

// witness chooses the best evidence of the run's account: the log that has every entry that was ever answered, else
// state bytes from the checkpoint, else the word of all ranks that they start fresh.
func (s *Scheduler) witness() (*leases.Ledger, error) {
	var best *TrainerRole
	var bestTerm leases.Term
	var bestIndex uint64
	var state []byte
	at := int64(-1)
	for _, m := range s.cohort.members() {
		at = max(at, m.trainer.StateAt)
		if m.trainer.State != nil && state == nil {
			state = m.trainer.State
		}
		if m.trainer.Base == nil {
			continue
		}
		term, index, err := leases.LastTerm(m.trainer.Base, m.trainer.Log)
		if err != nil {
			return nil, fmt.Errorf("base and log of %s: %w", m.rank(), err)
		}
		// A base without a log has no term to compare: what it stands for was decided, so its index alone tells.
		later := bestTerm.Less(term) || bestTerm == term && bestIndex < index
		if none := (leases.Term{}); term == none || bestTerm == none {
			later = bestIndex < index
		}
		if best == nil || later {
			best, bestTerm, bestIndex = m.trainer, term, index
		}
	}
	if best != nil {
		ledger, err := leases.Restore(s.cfg.params(), s.term, best.Base, best.Log)
		if err == nil {
			ledger.Start()
		}
		return ledger, err
	}
	if at >= 0 && state == nil {
		state = s.cfg.State
	}
	if at >= 0 && state == nil {
		return nil, fmt.Errorf("%w: the trainers say that their weights contain rollout %d and nobody has the run's base: no ledger can prove it; pass state= of that checkpoint, or start fresh with state_at=-1", leases.ErrState, at)
	}
	if at < 0 {
		state = nil
	}
	return leases.New(s.cfg.params(), s.term, state)
}

// becomeKnown goes on with what waited for the base.
func (s *Scheduler) becomeKnown() {
	s.newTimeline()
	for _, m := range s.workers {
		inventory := m.inventory
		m.inventory = nil
		for _, r := range s.reconcile(m, inventory) {
			s.emit(Cancel{Session: m.session, Receipt: r})
		}
	}
	early := s.early
	s.early = nil
	for _, call := range early {
		call.again()
	}
	s.releaseBereft()
}

func (s *Scheduler) newTimeline() {
	version := s.ledger.Version()
	s.emit(NewTimeline{Timeline: s.ledger.Timeline(), Version: version, LastRollout: s.ledger.LastRollout()})
}

// closeWindow ends the time in which inventories are adopted before the rest is replayed.
func (s *Scheduler) closeWindow() {
	if s.granting || s.ledger == nil || s.now < s.started+s.cfg.JoinWindow {
		return
	}
	s.granting = true
	s.log(Info, "join window over", "adopted", s.stats.Adopted, "live", s.ledger.Live())
}

// earlyCall waits for the base of a later life.
type earlyCall struct {
	ticket Ticket
	again  func()
}

// later keeps a waiting call until the base is known; false when it is.
func (s *Scheduler) later(t Ticket, again func()) bool {
	if s.ledger != nil || s.dead != nil {
		return false
	}
	s.early = append(s.early, earlyCall{t, again})
	return true
}

// sameEntry reports whether a log has exactly this entry.
func sameEntry(log []Entry, e Entry) bool {
	i := sort.Search(len(log), func(i int) bool { return log[i].Index >= e.Index })
	return i < len(log) && log[i].Index == e.Index && bytes.Equal(log[i].Bytes, e.Bytes)
}
