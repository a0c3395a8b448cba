package leases

import (
	"fmt"
	"strings"
)

// Params are what a run's ledger is of.
type Params struct {
	Source    Source
	GroupSize int
	// Unowned is ownership="none": what is taken is settled, and a cut counts everything reserved as gone.
	Unowned bool
	// NextEpoch lets a finite source go on for one epoch more at most: see Extend.
	NextEpoch bool
}

// maxGroupSize keeps sample indices (group*GroupSize + slot) far from overflow.
const maxGroupSize = 1 << 20

// Problems lists what cannot work, each with its number and the least that works.
func (p Params) Problems() []string {
	out := p.Source.Problems()
	if p.Source.Stream && p.Unowned {
		out = append(out, "a stream keeps account of every push; leave out ownership=\"none\"")
	}
	if p.GroupSize < 1 || p.GroupSize > maxGroupSize {
		out = append(out, fmt.Sprintf("group_size=%d; it must be between 1 and %d", p.GroupSize, maxGroupSize))
	}
	return out
}

// retry is what a requeued group brings to its next reservation.
type retry struct {
	attempt  uint32
	failures uint8
	requeues uint8
	losses   uint8
}

// Ledger is the run's account of every prompt group: pure, deterministic, and not safe for concurrent use.
type Ledger struct {
	source    Source
	groupSize int
	unowned   bool
	nextEpoch bool

	term     Term
	timeline Timeline
	// former is the timeline of the state that a run was started from, and formerVersion the version announced in it:
	// work of that timeline by no later version is in the past of these weights as well.
	former        Timeline
	formerVersion int64
	counter       uint64 // executions and admissions given in this life
	// learned counts the groups of a stream whose numbers this life has of a former one: those of base and log, or of state bytes those
	// that were reserved when their rollout was committed. What came later to the life that gave the bytes may be of another timeline.
	// From there on the numbers of a former life were in a log that is lost, if in any: they go to whatever prompts arrive.
	learned int64

	// Every group below cursor is in exactly one of settled, live, replay, resting and away; none at or above it is.
	cursor  int64
	beyond  int64 // groups after the end of the source that may be reserved
	settled *ranges
	live    liveSet
	replay  *ranges
	resting map[int64]struct{} // back in the source, kept from being reserved until Wake
	// retries has an entry for a group in replay, resting or away that was reserved before, in this life.
	retries map[int64]retry
	// urgent are groups that are reserved before all others, if they are in replay when their turn comes.
	urgent []int64
	unused []*Group

	counts [states]int64 // live groups by state
	unsent int64         // see Unannounced

	unfinished, finished byVersion // see Due
	reserved             Tally     // left the source and have not gone back
	liveTally            Tally
	totals               totals
	requeued             int64

	// pending are groups that were discarded or failed since the last commit: no log has them yet.
	pending []pendingSettled

	base      *cut
	baseBytes []byte
	log       []Entry
	nextIndex uint64
	// effective are the commits and versions since the base that still count, in the order they took effect.
	effective []*record
	announced versionMark
	last      int64 // last committed rollout, -1 for none
	given     map[int64]bool

	open     map[uint64]*Lease // by admission id
	outcomes outcomes
	history  history
	rows     rowPrints // keyed sources only
	columns  columns
	stream   *stream  // pushed prompts; nil for a source of another kind
	gone     []PushID // see Gone

	// Of a pulled source. keys are the givings that groups go back to the source by; a group without one, of a former life,
	// is given out again from the ledger's own rows. away are the groups that the source has again.
	keys    map[int64]uint64
	away    map[int64]struct{}
	owed    map[int64]struct{} // see Owe; the source's identities
	spare   []uint64           // see LetGoKeys
	drained bool               // see Drained
}

// pendingSettled is one group that waits for the next commit entry to carry it.
type pendingSettled struct {
	group   int64
	failed  bool
	reason  string
	tally   Tally
	rollout int64  // carried by the commit of this rollout or a later one
	entry   uint64 // index of the commit under way that carries it, 0 for none
}

// New starts a ledger in term. With state it goes on from that cut, in a timeline of its own, else from the start of
// the source.
// Errors: ErrConfig, ErrState.
func New(p Params, term Term, state []byte) (*Ledger, error) {
	if problems := p.Problems(); len(problems) > 0 {
		return nil, fmt.Errorf("%w: %s", ErrConfig, strings.Join(problems, "; "))
	}
	if state != nil {
		l, err := Restore(p, term, state, nil)
		if err != nil {
			return nil, err
		}
		// What came after the cut may live on somewhere in the cut's own timeline, so this one needs another.
		l.former, l.formerVersion = l.timeline, l.announced.version
		l.learned = min(l.learned, l.cursor)
		l.timeline = Timeline{Number: l.timeline.Number + 1, Origin: term}
		l.Start()
		return l, nil
	}
	line := Timeline{Number: 1, Origin: term}
	fresh := &cut{
		source: p.Source, groupSize: p.GroupSize, unowned: p.Unowned, rollout: -1, timeline: line,
		announced: versionMark{contains: -1, timeline: line}, settled: &ranges{},
	}
	if p.Source.Stream {
		fresh.stream = newStream()
		fresh.stream.pulled = p.Source.Pulled
	}
	return Restore(p, term, fresh.encode(), nil)
}

// Restore starts a ledger in term from a base and the log since. Every commit in the log that no later entry
// undid counts. Errors: ErrState.
func Restore(p Params, term Term, base []byte, log []Entry) (*Ledger, error) {
	c, err := decodeState(base)
	if err != nil {
		return nil, err
	}
	if err := c.fits(p); err != nil {
		return nil, err
	}
	l := &Ledger{
		source: p.Source, groupSize: p.GroupSize, unowned: p.Unowned, nextEpoch: p.NextEpoch, term: term, timeline: c.timeline,
		unfinished: byVersion{}, finished: byVersion{}, retries: map[int64]retry{}, base: c, baseBytes: base, nextIndex: c.index + 1,
		cursor: c.cursor, given: map[int64]bool{}, open: map[uint64]*Lease{}, keys: map[int64]uint64{}, away: map[int64]struct{}{}, owed: map[int64]struct{}{},
		columns: columns{},
	}
	l.given[c.rollout] = true
	if c.stream != nil {
		l.stream = c.stream.clone()
	}
	if err := l.replayLog(log); err != nil {
		return nil, err
	}
	if err := l.rebuild(); err != nil {
		return nil, err
	}
	l.beyond = max(0, l.cursor-l.total())
	l.learned = l.total()
	return l, nil
}

// replayLog takes the entries since the base in order; undone commits leave no trace but the cursor.
func (l *Ledger) replayLog(log []Entry) error {
	for _, e := range log {
		if e.Index < l.nextIndex {
			continue
		}
		rec, err := decodeEntry(e)
		if err != nil {
			return err
		}
		if rec.index != l.nextIndex {
			return fmt.Errorf("%w: log entry %d is missing: %d follows %d", ErrState, l.nextIndex, rec.index, l.nextIndex-1)
		}
		l.nextIndex++
		l.log = append(l.log, e)
		l.timeline = rec.timeline
		switch rec.kind {
		case recordCommit:
			l.cursor = max(l.cursor, rec.cursor)
			l.effective = append(l.effective, rec)
			l.history.settled(rec.admission, LeaseStatus{Admission: rec.admission, Rollout: rec.rollout, State: LeaseCommitted}, nil)
		case recordVersion:
			l.effective = append(l.effective, rec)
		case recordRewind:
			if rec.rollout < l.base.rollout {
				return fmt.Errorf("%w: log entry %d goes back to rollout %d, below the base of rollout %d: what that had settled cannot be told apart any more", ErrState, rec.index, rec.rollout, l.base.rollout)
			}
			l.forgetAfter(rec.rollout)
		case recordVoid:
			l.drop(func(r *record) bool { return r.index == rec.void }, "never replicated")
		case recordPush:
			if err := l.replayPush(rec); err != nil {
				return err
			}
		case recordPull:
			if err := l.replayPull(rec); err != nil {
				return err
			}
		case recordStreamEnd:
			if l.stream == nil {
				return fmt.Errorf("%w: log entry %d is of a stream, the source is none", ErrState, rec.index)
			}
			l.stream.ended = true
		case recordLife:
		}
	}
	if l.cursor > l.total()+l.source.more(l.nextEpoch) {
		return fmt.Errorf("%w: the log has reserved %d groups, the source has %d", ErrState, l.cursor, l.total())
	}
	return nil
}

// drop takes entries out of force and records what became of their admissions.
func (l *Ledger) drop(gone func(*record) bool, reason string) {
	kept := l.effective[:0]
	for _, r := range l.effective {
		if !gone(r) {
			kept = append(kept, r)
			continue
		}
		if r.kind == recordCommit {
			l.history.settled(r.admission, LeaseStatus{Admission: r.admission, Rollout: r.rollout, State: LeaseRolledBack, Reason: reason}, nil)
		}
	}
	l.effective = kept
}

func (l *Ledger) forgetAfter(rollout int64) {
	l.drop(func(r *record) bool {
		return r.kind == recordCommit && r.rollout > rollout || r.kind == recordVersion && r.mark.contains > rollout
	}, fmt.Sprintf("rewound to rollout %d", rollout))
}

// rebuild computes everything that follows from base and effective entries. What is live stays so.
func (l *Ledger) rebuild() error {
	c, err := l.at(l.lastEffective())
	if err != nil {
		return err
	}
	l.settled, l.totals, l.announced, l.last = c.settled, c.totals, c.announced, c.rollout
	l.reserved = l.totals.sum()
	l.reserved.add(l.liveTally)
	l.replay, l.resting, l.urgent = l.settled.gaps(l.cursor), map[int64]struct{}{}, nil
	for _, g := range l.Groups() {
		l.replay.remove(g.id, g.id+1)
	}
	for id := range l.away {
		l.replay.remove(id, id+1)
	}
	l.recountUnsent()
	return nil
}

func (l *Ledger) lastEffective() int64 {
	last := l.base.rollout
	for _, r := range l.effective {
		if r.kind == recordCommit {
			last = max(last, r.rollout)
		}
	}
	return last
}

// at computes the cut at a rollout from the base and the effective entries up to it.
func (l *Ledger) at(rollout int64) (*cut, error) {
	c := *l.base
	c.stream, c.source, c.settled, c.totals = l.stream, l.source, l.base.settled.clone(), l.base.totals.clone()
	for _, r := range l.effective {
		switch {
		case r.kind == recordVersion && r.mark.contains <= rollout:
			c.announced = r.mark
		case r.kind == recordCommit && r.rollout <= rollout:
			if r.rollout <= c.rollout {
				return nil, fmt.Errorf("%w: log entry %d commits rollout %d after rollout %d", ErrState, r.index, r.rollout, c.rollout)
			}
			c.rollout, c.index, c.cursor, c.timeline = r.rollout, r.index, max(c.cursor, r.cursor), r.timeline
			n := int64(len(r.groups))
			added := addAll(c.settled, r.groups)
			c.totals.Acknowledged.add(r.tally)
			for _, o := range r.others {
				n += int64(len(o.groups))
				added += addAll(c.settled, o.groups)
				if o.failed {
					c.totals.Failed.add(o.tally)
				} else {
					c.totals.discard(o.reason, o.tally)
				}
			}
			if added != n || c.totals.sum().Groups != c.settled.len() {
				return nil, fmt.Errorf("%w: log entry %d (rollout %d) settles a group that was settled before it", ErrState, r.index, r.rollout)
			}
		}
	}
	return &c, nil
}

func addAll(r *ranges, groups []int64) int64 {
	n := int64(0)
	for _, g := range groups {
		n += r.add(g, g+1)
	}
	return n
}
