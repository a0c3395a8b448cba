package scheduler

import (
	"fmt"
	"slices"

	"outrider/leases"
)

// EngineRole is a member that holds serving weights for workers in other processes: a server behind a router, say.
type EngineRole struct {
	// Name is what workers say that they use. Engines that share one are replicas: work may go to any of them.
	Name string
	// Confirmed and Timeline are as in WorkerRole.
	Confirmed int64
	Timeline  leases.Timeline
}

// pool is the engines of one name, with the workers that use them.
type pool struct {
	name    string
	engines []*member
	workers []*member
	// orphans counts the samples that may still run here for workers that are gone.
	orphans int64
	// capacity is how many samples the workers run together. It does not shrink while there are orphans: those fill the
	// places that the lost workers left, so a worker that takes the place of one does not double the load.
	capacity int64
}

func (s *Scheduler) pool(name string) *pool {
	p := s.pools[name]
	if p == nil {
		p = &pool{name: name}
		s.pools[name] = p
	}
	return p
}

func (s *Scheduler) attachEngine(m *member, e *EngineRole) {
	if m.serves == nil {
		m.serves = s.pool(e.Name)
		m.serves.engines = append(m.serves.engines, m)
	}
	m.confirmed, m.confirmedIn = e.Confirmed, e.Timeline
}

// unpool takes a member that leaves out of its pool.
func (s *Scheduler) unpool(m *member) {
	same := func(o *member) bool { return o == m }
	if p := m.uses; p != nil {
		p.workers = slices.DeleteFunc(p.workers, same)
	}
	if p := m.serves; p != nil {
		p.engines = slices.DeleteFunc(p.engines, same)
		s.endQuiet(p) // the others may have said quiet
	}
}

// resizePools follows a change of who is attached, of slots, or of orphans, and returns what all pools together may run.
func (s *Scheduler) resizePools(places func(*member) int64) (all int64) {
	for _, p := range s.pools {
		if len(p.engines)+len(p.workers) == 0 && p.orphans == 0 {
			delete(s.pools, p.name)
			continue
		}
		slots := int64(0)
		for _, m := range p.workers {
			slots += places(m)
		}
		if p.orphans == 0 || slots > p.capacity {
			p.capacity = slots
		}
		all += p.capacity
	}
	return all
}

// crowded reports whether the orphans of a worker's engines leave no room there for one more group.
func (s *Scheduler) crowded(m *member) bool {
	p := m.uses
	if p == nil || p.orphans == 0 {
		return false
	}
	charged := p.orphans
	for _, w := range p.workers {
		charged += w.charged
	}
	return charged+int64(s.cfg.GroupSize) > p.capacity
}

// orphan leaves an execution whose worker is gone on the account of its engines, where its requests may still run: until
// they say quiet, or OrphanTTL has passed. Frontiers wait for it.
func (s *Scheduler) orphan(e *running) {
	if e.group != nil {
		s.ungroup(e)
	}
	s.unpromise(e)
	e.lost = s.losses
	e.m.uses.orphans += e.charged
	e.since = s.clock
	e.wait(&s.orphans)
}

// reclaim ends the orphans of a session that is back: what it still runs is in its inventory.
func (s *Scheduler) reclaim(session leases.Session) {
	for e := range s.orphans.all() {
		if e.receipt.Worker == session {
			s.end(e)
		}
	}
}

// endQuiet ends the orphans of a pool of which every engine has said quiet since they were lost. It returns how many
// samples that were.
func (s *Scheduler) endQuiet(p *pool) int64 {
	if len(p.engines) == 0 {
		return 0
	}
	quiet := p.engines[0].quiet
	for _, m := range p.engines {
		quiet = min(quiet, m.quiet)
	}
	before := p.orphans
	for e := range s.orphans.all() {
		if e.m.uses == p && e.lost <= quiet {
			s.end(e)
		}
	}
	return before - p.orphans
}

// Quiet says that nothing runs on an engine any more for workers that are gone. It returns how many samples that frees:
// those that are charged to the engines of its name, as soon as all of them have said so. Errors: ErrUnknown.
func (s *Scheduler) Quiet(session leases.Session) (int64, error) {
	if s.dead != nil {
		return 0, s.dead
	}
	m := s.members[session]
	if m == nil || m.serves == nil {
		return 0, fmt.Errorf("%w: session %s is no attached engine; a worker that holds its weights itself reports what it runs", leases.ErrUnknown, session)
	}
	m.quiet = s.losses
	freed := s.endQuiet(m.serves)
	if freed > 0 {
		s.log(Info, "engine is quiet", "engine", m.serves.name, "samples", freed)
		s.relimit()
		s.pump()
	}
	return freed, nil
}

// expireOrphans gives up waiting for engines that did not say quiet in time.
func (s *Scheduler) expireOrphans() {
	ttl, samples := s.cfg.Times.OrphanTTL, int64(0)
	name := ""
	for e := s.orphans.first; e != nil && s.now >= e.since+ttl; e = s.orphans.first {
		samples += e.charged
		name = e.m.uses.name
		s.end(e)
	}
	if samples > 0 {
		s.log(Warn, "work of lost workers is taken for over: its engine has not said quiet", "engine", name, "samples", samples, "orphan_ttl", ttl)
		s.relimit()
	}
}

// runsOn reports whether what a worker runs is made by exactly this version, recorded in a timeline: by its own weights, or
// by those of every engine that it may use.
func (s *Scheduler) runsOn(m *member, version int64, in leases.Timeline) bool {
	if m.uses == nil {
		return s.serves(m, version, in)
	}
	for _, e := range m.uses.engines {
		if !s.serves(e, version, in) {
			return false
		}
	}
	return len(m.uses.engines) > 0
}

// weightless reports whether nobody confirms weights for what a worker runs.
func (m *member) weightless() bool { return !m.engine() && m.uses == nil }

// confirmedBy is the highest version that the engines of a worker have confirmed.
func (m *member) confirmedBy() int64 {
	newest := m.confirmed
	if m.uses != nil {
		for _, e := range m.uses.engines {
			newest = max(newest, e.confirmed)
		}
	}
	return newest
}

// poolsWait says which engines keep workers from work: those that are not there, and those with orphans. Empty when none does.
func (s *Scheduler) poolsWait() string {
	for _, m := range s.workers {
		switch p := m.uses; {
		case p == nil:
		case len(p.engines) == 0:
			return fmt.Sprintf("no engine %q is attached, which %d workers use: make outrider.Engine(run, %q) in the process that holds its weights", p.name, len(p.workers), p.name)
		case p.orphans > 0:
			return fmt.Sprintf("%d samples of lost workers may still run on engine %q: let it say quiet, or orphan_ttl=%s ends them", p.orphans, p.name, s.cfg.Times.OrphanTTL)
		}
	}
	return ""
}

func (s *Scheduler) verifyPools() error {
	orphans := map[*pool]int64{}
	for e := range s.running.all() {
		if e.lost > 0 {
			orphans[e.m.uses] += e.charged
			if e.group != nil || e.clock != &s.orphans {
				return fmt.Errorf("scheduler: execution %d is orphaned and has group or deadline", e.receipt.Execution)
			}
		}
	}
	for _, p := range s.pools {
		if p.orphans != orphans[p] {
			return fmt.Errorf("scheduler: engine %s has %d orphaned samples, recounted %d", p.name, p.orphans, orphans[p])
		}
		delete(orphans, p)
	}
	if len(orphans) > 0 {
		return fmt.Errorf("scheduler: %d forgotten engines have orphans", len(orphans))
	}
	return nil
}
