package leases

import "math/bits"

// feistelRounds of a balanced Feistel network mix an epoch's order. Four rounds suffice for a pseudorandom
// permutation when the round function is one (M. Luby and C. Rackoff, "How to construct pseudorandom permutations
// from pseudorandom functions", 1988); the two more make up for the round function being a mere mixer.
const feistelRounds = 6

// permute returns the row at position of the permutation of 0..n-1 that belongs to (seed, epoch). It needs no
// memory: a Feistel network over the next even number of bits is a permutation of a domain smaller than 4n, and
// walking along its cycle until the value is below n restricts it to n (J. Black and P. Rogaway, "Ciphers with
// arbitrary finite domains", 2002). The expected walk is shorter than 4 steps.
func permute(n, position int64, seed, epoch uint64) int64 {
	if n <= 1 {
		return 0
	}
	half := uint(bits.Len64(uint64(n-1))+1) / 2
	mask := uint64(1)<<half - 1
	key := mix(seed ^ mix(epoch+1))
	x := uint64(position)
	for {
		left, right := x>>half, x&mask
		for round := range uint64(feistelRounds) {
			left, right = right, left^(mix(key+right*(2*feistelRounds)+round)&mask)
		}
		if x = left<<half | right; x < uint64(n) {
			return int64(x)
		}
	}
}

// mix is the output function of SplitMix64 (G. Steele, D. Lea, C. Flood, "Fast splittable pseudorandom number
// generators", 2014), with its increment and D. Stafford's variant 13 of the multipliers.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
