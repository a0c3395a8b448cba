package scheduler

import (
	"fmt"
	"slices"

	"outrider/leases"
)

// A rank may add columns to the rows that it has admitted; the other ranks that read those rows read them. They are no part of any
// group: what is acknowledged, replayed or saved is as without them. They go with the lease when it is rolled back, with their rank's
// session, and when a later rollout is committed.

// AddRequest is one rank's word that its sidecar has columns for the rows of shards that it admitted.
type AddRequest struct {
	Admission uint64
	Session   leases.Session
	// Shards are in the order in which their rows follow each other in the segment.
	Shards []int
	// Columns are their names.
	Columns []string
	// Handle is the segment, as the session itself numbers it.
	Handle leases.Handle
	Rows   int64
}

// Added are the rows of one shard in a segment that a rank added.
type Added struct {
	Data
	First, Rows int64
}

// addition is what ranks have added under one publication.
type addition struct {
	lease   *leases.Lease
	pub     *leases.Publication
	columns []addedColumn
}

type addedColumn struct {
	name  string
	shard int
	at    Added
}

func (a *addition) find(name string, shard int) *addedColumn {
	i := slices.IndexFunc(a.columns, func(c addedColumn) bool { return c.name == name && c.shard == shard })
	if i < 0 {
		return nil
	}
	return &a.columns[i]
}

// AddColumns takes note of columns; the same word again changes nothing.
// Errors: ErrNotAdmitted (by that session), ErrData (another number of rows), ErrConflict (a name that is taken), ErrStale (rolled
// back, or a later rollout is committed), ErrUnknown, ErrRefused (a run without leases).
func (s *Scheduler) AddColumns(add AddRequest) error {
	a, err := s.addition(add.Admission, add.Session, add.Shards)
	if err != nil {
		return err
	}
	rows := int64(0)
	fresh := make([]addedColumn, 0, len(add.Shards)*len(add.Columns))
	for _, shard := range add.Shards {
		at := Added{Data: Data{Holder: add.Session, Handle: add.Handle}, First: rows, Rows: shardRows(a.pub, shard)}
		for _, name := range add.Columns {
			if c := a.find(name, shard); c != nil && c.at != at {
				return fmt.Errorf("%w: column %q of shard %d of admission %d was added by session %s; a column is added once: give another name", leases.ErrConflict, name, shard, add.Admission, c.at.Holder)
			} else if c == nil {
				fresh = append(fresh, addedColumn{name, shard, at})
			}
		}
		rows += at.Rows
	}
	if rows != add.Rows {
		return fmt.Errorf("%w: columns %q of admission %d have %d rows, shards %v have %d; give one value a row", leases.ErrData, add.Columns, add.Admission, add.Rows, add.Shards, rows)
	}
	a.columns = append(a.columns, fresh...)
	s.additions[add.Admission] = a
	return nil
}

// AddedColumn says where the rows of shards have a column that ranks added, shard by shard.
// Errors: as of AddColumns; ErrUnknown also where nobody has added it.
func (s *Scheduler) AddedColumn(admission uint64, session leases.Session, shards []int, name string) ([]Added, error) {
	a, err := s.addition(admission, session, shards)
	if err != nil {
		return nil, err
	}
	all := make([]Added, len(shards))
	for i, shard := range shards {
		c := a.find(name, shard)
		if c == nil {
			return nil, fmt.Errorf("%w: no rank has added a column %q to shard %d of admission %d; read it after the rank that adds it", leases.ErrUnknown, name, shard, admission)
		}
		all[i] = c.at
	}
	return all, nil
}

// addition is what was added to a lease that a session has admitted shards of.
func (s *Scheduler) addition(admission uint64, session leases.Session, shards []int) (*addition, error) {
	if err := s.readyErr(); err != nil {
		return nil, err
	}
	if s.cfg.Unowned {
		return nil, fmt.Errorf("%w: admission %d is of a run without leases, whose ranks share no batch; run with ownership=leases", leases.ErrRefused, admission)
	}
	lease, status, err := s.ledger.FindLease(admission)
	switch {
	case err != nil:
		return nil, err
	case lease != nil:
	case s.trained != nil && s.trained.Admission == admission:
		lease = s.trained
	case status.State == LeaseCommitted:
		return nil, fmt.Errorf("%w: rollout %d is committed, and so is a later one; columns are added and read before that", leases.ErrStale, status.Rollout)
	default:
		return nil, s.ledger.Settlement(status)
	}
	m := s.members[session]
	if m == nil || m.trainer == nil || len(shards) == 0 || !lease.Holds(m.rank(), session, shards) {
		return nil, fmt.Errorf("%w: session %s has not admitted shards %v of admission %d; admit them first", leases.ErrNotAdmitted, session, shards, admission)
	}
	if a := s.additions[admission]; a != nil && a.pub == lease.Publication() {
		return a, nil
	}
	return &addition{lease: lease, pub: lease.Publication()}, nil
}

func shardRows(pub *leases.Publication, shard int) (rows int64) {
	for _, part := range pub.Request.Shards[shard] {
		rows += int64(part.Rows)
	}
	return rows
}

// outliveCommit keeps what was added to a lease that is committed, and to those of later rollouts.
func (s *Scheduler) outliveCommit(lease *leases.Lease) {
	s.trained = lease
	for admission, a := range s.additions {
		if a.lease.Rollout < lease.Rollout {
			delete(s.additions, admission)
		}
	}
}

// dropAdded forgets what a session added, which is lost with it.
func (s *Scheduler) dropAdded(session leases.Session) {
	for _, a := range s.additions {
		a.columns = slices.DeleteFunc(a.columns, func(c addedColumn) bool { return c.at.Holder == session })
	}
}
