package leases

// byVersion counts groups by a weight version.
type byVersion map[int64]int64

func (b byVersion) add(version, n int64) {
	if b[version] += n; b[version] == 0 {
		delete(b, version)
	}
}

func (b byVersion) upTo(version int64) int64 {
	n := int64(0)
	for v, groups := range b {
		if v <= version {
			n += groups
		}
	}
	return n
}

// Due counts the groups in no lease that go back to a version or an older one: those that are EXECUTING or TERMINAL by the version
// that was announced at their dispatch, those that are COMPLETED by the oldest that they used. It costs as much as there are versions.
func (l *Ledger) Due(version int64) (unfinished, completed int64) {
	return l.unfinished.upTo(version), l.finished.upTo(version)
}
