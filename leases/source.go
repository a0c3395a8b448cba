package leases

// Source describes an ordered supply of prompt groups by what a run would consume of it.
type Source struct {
	// Len is the number of rows (one row = one prompt) in one epoch, at least 1.
	Len int64
	// Epochs bounds the run; 0 is endless.
	Epochs int64
	// Shuffle orders each epoch by a permutation of its own, computed from Seed and the epoch.
	Shuffle bool
	Seed    uint64
	// Identity is a digest of the rows' content. A moved file with equal content has an equal identity.
	Identity [32]byte
}
