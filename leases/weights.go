package leases

// Announced is the announced weight version, the last rollout that it contains (-1 for none), the timeline in
// which it was recorded and its digest.
func (l *Ledger) Announced() (version, contains int64, timeline Timeline, digest []byte) {
	a := l.announced
	return a.version, a.contains, a.timeline, a.digest
}

// StartVersion writes the entry of a weight version that contains everything committed so far.
func (l *Ledger) StartVersion(version int64, digest []byte) Entry {
	mark := versionMark{version: version, contains: l.last, timeline: l.timeline, digest: append([]byte(nil), digest...)}
	return l.write(&record{kind: recordVersion, mark: mark})
}

// FinishVersion announces the version of an entry that StartVersion made in this timeline.
func (l *Ledger) FinishVersion(e Entry) error {
	rec, err := decodeEntry(e)
	if err != nil {
		return err
	}
	l.effective = append(l.effective, rec)
	l.announced = rec.mark
	return nil
}
