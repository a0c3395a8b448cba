package scheduler

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"outrider/leases"
)

const (
	// mostPulled bounds what a pulled source is asked for at once, in groups.
	mostPulled = 256
	// maxFaults failures in a row end the run.
	maxFaults = 5
)

// pull is the conversation with a pulled source: one question at a time, and one return of groups.
type pull struct {
	asked    int              // groups of the question under way, 0 for none
	started  bool             // it was asked in this life
	most     int              // it gave no more when it was asked for more, 0 for not
	back     []uint64         // givings that go back to it, under way
	refused  []uint64         // givings of answers that could not be taken and that it does not have back
	groups   map[uint64]int64 // of what goes back and is the run's, by giving
	faults   int              // in a row
	until    time.Duration    // it is left alone until then
	returns  int              // returns in a row that failed
	failedAt int64            // settlements when one failed last
	again    time.Duration    // when the next is tried without a settlement
	lastErr  error
}

// Pull asks a pulled source for groups: its answer is Scheduler.Pulled. Cursor, where it is not nil, is where the source has to go
// first. The givings in Forget need not be kept.
type Pull struct {
	Groups int
	Cursor []byte
	Forget []uint64
}

// GiveBack returns givings to a pulled source, each once: its answer is Scheduler.GivenBack.
type GiveBack struct{ Keys []uint64 }

func (Pull) effect()     {}
func (GiveBack) effect() {}

// pull gives back what is to go back, and asks for more when something could run and nothing is there.
func (s *Scheduler) pull() {
	if !s.cfg.Source.Pulled {
		return
	}
	s.sendBack()
	p := &s.pulls
	if p.asked > 0 || len(p.refused) > 0 || len(s.holds) > 0 || !s.granting || s.now < p.until || s.ledger.Available() || s.ledger.Drained() || s.paced() {
		return
	}
	if s.ledger.Full() {
		s.sayFull()
		return
	}
	n := s.pullable()
	if n == 0 {
		return
	}
	p.asked = n
	e := Pull{Groups: n, Forget: s.ledger.LetGoKeys()}
	if !p.started {
		e.Cursor = s.ledger.PullCursor()
	}
	p.started = true
	s.emit(e)
}

// pullable is how many groups could go to workers at once.
func (s *Scheduler) pullable() int {
	gs := int64(s.cfg.GroupSize)
	n := min((s.limits.Executing-s.running.samples+s.running.stuck)/gs, s.limits.Retained-s.ledger.Live(), mostPulled)
	free := int64(0)
	for _, m := range s.workers {
		if s.eligible(m) && (s.bytesFree(m.host) || s.starving()) {
			free += max(1, m.free()/gs)
		}
	}
	n = min(n, free)
	if s.pulls.most > 0 {
		n = min(n, int64(s.pulls.most))
	}
	return int(max(n, 0))
}

// sendBack sends out what is to go back to the source.
func (s *Scheduler) sendBack() {
	p := &s.pulls
	if len(p.back) > 0 {
		return
	}
	if p.returns > 0 && s.ledger.Settlements() == p.failedAt && s.now < p.again {
		return
	}
	s.ledger.RetryReturns()
	p.groups = map[uint64]int64{}
	for _, r := range s.ledger.Returns() {
		p.groups[r.Key] = r.Group
		p.back = append(p.back, r.Key)
	}
	p.back = append(p.back, p.refused...)
	if len(p.back) > 0 {
		s.emit(GiveBack{Keys: p.back})
	}
}

// Pulled answers a Pull: what the source gave and where it is now, or why it could not. What cannot be taken goes back to it whole
// before it is asked again.
func (s *Scheduler) Pulled(given []leases.Given, cursor []byte, err error) {
	p := &s.pulls
	if s.dead != nil || s.ledger == nil || p.asked == 0 {
		return
	}
	asked := p.asked
	p.asked = 0
	if err == nil {
		err = s.ledger.CheckGiven(asked, given)
	}
	switch {
	case s.closing != nil:
		s.refuseGiven(given)
	case err != nil:
		s.ledger.Owe(given)
		s.refuseGiven(given)
		if n := len(given); n > 0 && n < asked {
			p.most = n
		}
		p.faults++
		why := strings.TrimPrefix(err.Error(), leases.ErrSource.Error()+": ")
		p.until = s.clock + pause(p.faults)
		s.log(Warn, "the data source gave nothing that can be taken; it is asked again", "asked", asked, "given", len(given), "failures", p.faults, "max_failures", maxFaults, "error", why)
		if p.faults >= maxFaults {
			s.fail(fmt.Errorf("%w: the data source failed %d times in a row, at last with: %s", leases.ErrSource, p.faults, why))
		}
	default:
		p.faults, p.most = 0, 0
		s.appendAll(s.ledger.Take(given, cursor))
	}
	s.pump()
}

func (s *Scheduler) refuseGiven(given []leases.Given) {
	for i := range given {
		s.pulls.refused = append(s.pulls.refused, given[i].Key)
	}
}

// GivenBack answers a GiveBack: all of it has gone back but the givings that failed, with err.
func (s *Scheduler) GivenBack(failed []uint64, err error) {
	p := &s.pulls
	if s.dead != nil || s.ledger == nil || len(p.back) == 0 {
		return
	}
	for _, key := range p.back {
		back := !slices.Contains(failed, key)
		if group, owned := p.groups[key]; owned {
			s.ledger.Returned(group, back)
		} else if back {
			p.refused = slices.DeleteFunc(p.refused, func(k uint64) bool { return k == key })
		}
	}
	p.back, p.groups = nil, nil
	p.returns++
	if len(failed) == 0 {
		p.returns = 0
	} else {
		p.failedAt = s.ledger.Settlements()
		p.again = s.clock + pause(p.returns)
		s.log(Warn, "groups could not go back to the data source; the run keeps them and tries again", "groups", len(failed), "failures", p.returns, "error", err)
		p.lastErr = err
	}
	s.pump()
}

// nextPull tells when the source is to be tried again, by at.
func (s *Scheduler) nextPull(at func(time.Duration)) {
	p := &s.pulls
	if p.until > s.now {
		at(p.until)
	}
	if p.returns > 0 && p.again > s.now {
		at(p.again)
	}
}

// refuseWrong settles a group that a pulled source gave without its own parents as failed. It reports whether it was one.
func (s *Scheduler) refuseWrong(g *leases.Group) bool {
	why := s.ledger.Wrong(g)
	if why == "" {
		return false
	}
	id := g.ID()
	s.ledger.Refuse(g)
	s.countFailed(id, why)
	return true
}

// unreturned is what a closing run still owes to a pulled source: nil, or why it cannot be given.
func (s *Scheduler) unreturned() error {
	n := s.ledger.Count(leases.RollbackFailed) + int64(len(s.pulls.refused))
	if n == 0 {
		return nil
	}
	return fmt.Errorf("%w: %d groups could not go back to the data source: %w; mend it and close again, or close with force: the final state has them, too", leases.ErrSource, n, s.pulls.lastErr)
}
