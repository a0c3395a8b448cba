package leases

import "fmt"

// Announced is the announced weight version, the last rollout that it contains (-1 for none), the timeline in
// which it was recorded and its digest.
func (l *Ledger) Announced() (version, contains int64, timeline Timeline, digest []byte) {
	a := l.announced
	return a.version, a.contains, a.timeline, a.digest
}

// DigestAt is the digest of the newest version that contains exactly what was committed up to a rollout, as far back as the base; nil
// when there is none or it was recorded without.
func (l *Ledger) DigestAt(rollout int64) (version int64, digest []byte) {
	if l.announced.contains == rollout {
		return l.announced.version, l.announced.digest
	}
	for _, r := range l.effective {
		if r.kind == recordVersion && r.mark.contains == rollout {
			version, digest = r.mark.version, r.mark.digest
		}
	}
	return version, digest
}

// Version is the announced weight version.
func (l *Ledger) Version() int64 { return l.announced.version }

// StartVersion writes the entry of a weight version that contains everything committed up to a rollout.
func (l *Ledger) StartVersion(version, contains int64, digest []byte) Entry {
	mark := versionMark{version: version, contains: contains, timeline: l.timeline, digest: append([]byte(nil), digest...)}
	return l.write(&record{kind: recordVersion, mark: mark})
}

// FinishVersion announces the version of an entry that StartVersion made. Errors: ErrStale (the run has rewound since
// to a rollout that the version goes beyond: no log counts it).
func (l *Ledger) FinishVersion(e Entry) error {
	rec, err := decodeEntry(e)
	if err != nil {
		return err
	}
	if rec.mark.contains > l.last {
		return fmt.Errorf("%w: version %d contains rollout %d and the run has rewound to rollout %d; announce the version that the trainer has now", ErrStale, rec.mark.version, rec.mark.contains, l.last)
	}
	l.effective = append(l.effective, rec)
	l.announced = rec.mark
	l.recountUnsent()
	return nil
}

// Unannounced is the number of committed groups that the announced weights do not contain. Of commits that the base holds nothing
// is known any more: they count as contained.
func (l *Ledger) Unannounced() int64 { return l.unsent }

func (l *Ledger) recountUnsent() {
	l.unsent = 0
	for _, r := range l.effective {
		if r.kind == recordCommit && r.rollout > l.announced.contains {
			l.unsent += int64(len(r.groups))
		}
	}
}
