package simulate

// random is a small generator of its own: the same seed gives the same run on every machine and with every Go.
type random uint64

func (r *random) next() uint64 {
	*r += 0x9e3779b97f4a7c15
	x := uint64(*r)
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// pick chooses 0 <= i < n, each alike.
func (r *random) pick(n int) int { return int(r.next() % uint64(n)) }

// between chooses low <= i <= high.
func (r *random) between(low, high int) int { return low + r.pick(high-low+1) }

// one says yes once in n times.
func (r *random) one(n int) bool { return r.pick(n) == 0 }
