package leases

// keepOutcomes and keepLeases bound what is remembered of what has ended.
const (
	keepOutcomes = 4096
	keepLeases   = 1024
)

type outcome struct {
	receipt Receipt
	print   uint64
	state   State
}

// outcomes remembers the latest settled executions, so that a repeated report gets the same answer.
type outcomes struct {
	ring [][]outcome // pages, so that a young run pays for what it uses
	n    uint64
	at   map[uint64]uint64 // execution -> number of its place
}

const outcomePage = 256

func (h *outcomes) slot(n uint64) *outcome {
	i := n % keepOutcomes
	for uint64(len(h.ring)) <= i/outcomePage {
		h.ring = append(h.ring, make([]outcome, outcomePage))
	}
	return &h.ring[i/outcomePage][i%outcomePage]
}

func (h *outcomes) add(r Receipt, print uint64, state State) {
	if h.at == nil {
		h.at = map[uint64]uint64{}
	}
	s := h.slot(h.n)
	if h.n >= keepOutcomes && h.at[s.receipt.Execution] == h.n-keepOutcomes {
		delete(h.at, s.receipt.Execution)
	}
	*s = outcome{receipt: r, print: print, state: state}
	h.at[r.Execution] = h.n
	h.n++
}

func (h *outcomes) find(r Receipt) (outcome, bool) {
	n, ok := h.at[r.Execution]
	if !ok {
		return outcome{}, false
	}
	o := *h.slot(n)
	return o, o.receipt == r
}

type settledLease struct {
	status LeaseStatus
	cause  error
}

// history remembers what became of the latest leases.
type history struct {
	order []uint64
	of    map[uint64]settledLease
}

func (h *history) settled(admission uint64, s LeaseStatus, cause error) {
	if h.of == nil {
		h.of = map[uint64]settledLease{}
	}
	if _, known := h.of[admission]; !known {
		h.order = append(h.order, admission)
		if len(h.order) > keepLeases {
			delete(h.of, h.order[0])
			h.order = h.order[1:]
		}
	}
	h.of[admission] = settledLease{status: s, cause: cause}
}
