package scheduler

// lastIndex is the index of the last entry of a trainer's log, 0 when it is empty.
func lastIndex(log []Entry) uint64 {
	if len(log) == 0 {
		return 0
	}
	return log[len(log)-1].Index
}
