package scheduler

import (
	"errors"
	"fmt"
	"time"

	"outrider/leases"
)

// Scheduler decides everything that the owner decides. It is not safe for concurrent use: one goroutine feeds
// events in and carries effects out.
type Scheduler struct {
	cfg    Config
	ledger *leases.Ledger // nil while a later life has not learned its base
	term   leases.Term

	// clock is when the present event happened, now the time up to which everything due has been fired.
	clock, now, started time.Duration
	ticking             bool // Advance has been called
	// granting is set once nothing stands between the source and the workers: base known, join window over.
	granting bool

	effects []Effect
	members map[leases.Session]*member
	order   []*member // by attachment
	workers []*member // the workers among them
	hosts   map[string]*host
	pools   map[string]*pool // of engines that are no workers, by name
	cohort  cohort

	running   runningSet
	deadlines list[running] // executions that may go on
	graces    list[running] // executions past their deadline that are to end
	orphans   list[running] // executions of lost workers that may still run on their engines
	losses    uint64        // counts lost workers
	rests     rests
	live      liveness
	// lastChance are groups that rest until the next version is announced.
	lastChance map[int64]struct{}
	// carried are the timelines under which workers may still know executions that the last rewind left alive.
	carried map[uint64][]leases.Timeline
	waiting list[leases.Group] // TERMINAL groups, oldest first
	buffer  buffer
	window  window // of the order Windowed alone
	stages  stages
	trained *leases.Lease // the last that was committed since the last rewind
	// additions are what ranks added to the rows of leases, by admission.
	additions map[uint64]*addition
	arrival   uint64 // counts terminal successes

	takes       []*take
	highest     int64            // rollout that was committed before the run went back, -1 when it never did
	finals      map[int64]*final // taken batches of an unowned run, by rollout
	holds       []*hold          // by acquisition
	nextHold    HoldID
	update      *update
	sent        int64          // highest version whose weights were sent in this life
	replicating []*replication // by log index
	commits     []waitingCommit
	pushes      []*pushing // wait for room
	offers      []*pushing // wait to be reserved; their prompts are pushed
	pulls       pull
	saidFull    bool        // that pushes wait for a saved state
	early       []earlyCall // waiting calls that came before the base was known
	bereft      []bereft
	creditSeq   uint64 // counts credits

	saidWaits    string // what the first waiting take lacked, as last logged, without the numbers in it
	limits       Limits
	saidLimits   bool
	firstFailure string
	stats        Stats // only the counters
	step         Step  // only the counters, since the last one
	stepRequeued int64
	closing      *closing
	ended        bool         // a finite source has settled
	dead         error        // no event has an effect any more
	closed       *CloseReport // of a run that has failed: what Close will answer
}

// New starts one life of the owner. All problems of a configuration come in one error (ErrConfig), problems of
// state bytes as ErrState. What limits are left out is derived: see Limits.
func New(cfg Config) (*Scheduler, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	s := &Scheduler{
		cfg: cfg, term: leases.Term{Session: cfg.Owner}, members: map[leases.Session]*member{}, hosts: map[string]*host{}, pools: map[string]*pool{},
		running: runningSet{list: list[running]{links: byStart}, byID: map[executionID]*running{}}, deadlines: list[running]{links: byClock}, graces: list[running]{links: byClock}, orphans: list[running]{links: byClock}, waiting: list[leases.Group]{links: byArrival}, carried: map[uint64][]leases.Timeline{}, finals: map[int64]*final{}, highest: -1, lastChance: map[int64]struct{}{}, cohort: cohort{generation: noGeneration}, buffer: newBuffer(), stages: newStages(cfg.Stages), additions: map[uint64]*addition{},
	}
	s.relimit()
	if cfg.Recover {
		if cfg.State != nil {
			return s, leases.CheckState(cfg.params(), cfg.State)
		}
		return s, nil
	}
	l, err := leases.New(cfg.params(), s.term, cfg.State)
	if err != nil {
		return nil, err
	}
	s.ledger, s.granting = l, true
	return s, nil
}

// Effects returns what is to be carried out since the last call, in order. The caller owns the slice.
func (s *Scheduler) Effects() []Effect {
	out := s.effects
	s.effects = nil
	return out
}

// Term returns this owner's term.
func (s *Scheduler) Term() leases.Term { return s.term }

// NextRollout is the rollout after the last committed one. Errors: ErrNotReady.
func (s *Scheduler) NextRollout() (int64, error) {
	if s.ledger == nil {
		return 0, s.notReady("next_rollout")
	}
	return s.ledger.LastRollout() + 1, nil
}

func (s *Scheduler) emit(e Effect) { s.effects = append(s.effects, e) }

func (s *Scheduler) answer(t Ticket, v any, err error) {
	if err != nil {
		v = nil
	}
	s.emit(Answer{Ticket: t, Value: v, Err: err})
}

// answerAll gives everybody who waits for one thing the same answer.
func (s *Scheduler) answerAll(tickets []Ticket, v any, err error) {
	for _, t := range tickets {
		s.answer(t, v, err)
	}
}

func (s *Scheduler) log(level Level, msg string, kv ...any) {
	s.emit(Log{Level: level, Msg: msg, KV: kv})
}

// die ends this life at once: a later one exists, or the run is closed. With closed the run has failed, and waits for a Close.
func (s *Scheduler) die(err error, closed *CloseReport) {
	said := err
	if said == nil {
		said = fmt.Errorf("%w: the run is closed", leases.ErrClosed)
	}
	for _, t := range s.takes {
		t.fail(s, said)
	}
	for _, r := range s.replicating {
		r.fail(s, said)
	}
	for _, h := range s.holds {
		s.answerAll(h.waiters, nil, said)
	}
	if s.update != nil {
		s.update.fail(s, said)
	}
	s.failPushes(said, nil)
	for _, e := range s.early {
		s.answer(e.ticket, nil, said)
	}
	s.failCredits(said)
	s.failCommits(said)
	s.takes, s.replicating, s.holds, s.update, s.early = nil, nil, nil, nil, nil
	s.dead, s.closed = said, closed
	s.emit(Ended{Err: err, Answers: closed != nil})
}

// closedErr refuses calls after the end of this life.
func (s *Scheduler) closedErr() error { return s.dead }

// openErr refuses calls that need a ledger and a run that goes on.
func (s *Scheduler) openErr() error {
	switch {
	case s.dead != nil:
		return s.dead
	case s.ledger == nil:
		return s.notReady("this call")
	case s.closing != nil:
		return s.closing.why("closing")
	}
	return nil
}

func (s *Scheduler) notReady(what string) error {
	return fmt.Errorf("%w: %s has to wait: this life of the owner has not learned the run's base; it does when every trainer rank has attached", leases.ErrNotReady, what)
}

func (s *Scheduler) endOfRun() error {
	if s.cfg.Source.Pulled {
		return fmt.Errorf("%w: the data source has no more, and every group of it has settled", leases.ErrEndOfRun)
	}
	if s.cfg.Source.Stream {
		return fmt.Errorf("%w: the stream has ended, and every group of it has settled", leases.ErrEndOfRun)
	}
	return fmt.Errorf("%w: every group of the source has settled (%d rows, %d epochs)", leases.ErrEndOfRun, s.cfg.Source.Len, s.cfg.Source.Epochs)
}

// must is for ledger calls whose preconditions this package has just established.
func (s *Scheduler) must(err error) {
	if err != nil {
		panic(fmt.Sprintf("scheduler: %v", err))
	}
}

// refused reports whether err says that nothing has changed and that the execution goes on.
func refused(err error) bool {
	return errors.Is(err, leases.ErrRefused) || errors.Is(err, leases.ErrConflict)
}
