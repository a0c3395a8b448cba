package leases

import (
	"bytes"
	"fmt"
	"strings"
)

const (
	stateMagic  = "OUTRSTAT"
	stateFormat = 1
	// streamFormat has what was pushed at its end.
	streamFormat = 2
	// pullFormat has the cursor of a framework's own data source as well.
	pullFormat = 3
)

// cut is the run's state at one rollout: what the state bytes hold (docs/state.md).
type cut struct {
	source    Source
	groupSize int
	unowned   bool
	rollout   int64 // last rollout whose groups count as acknowledged, -1 for none
	cursor    int64 // first group never reserved
	index     uint64
	timeline  Timeline // in which that rollout was committed
	announced versionMark
	totals    totals
	settled   *ranges
	stream    *stream // nil unless the source is one
}

func (c *cut) format() byte {
	switch {
	case c.stream == nil:
		return stateFormat
	case c.stream.pulled:
		return pullFormat
	}
	return streamFormat
}

func (c *cut) encode() []byte {
	w := &writer{b: make([]byte, 0, 256+4*c.settled.spanCount())}
	w.raw([]byte(stateMagic))
	w.raw([]byte{c.format()})
	w.raw(c.source.Identity[:])
	w.int(c.source.Len)
	w.int(c.source.Epochs)
	w.bool(c.source.Shuffle)
	w.uint(c.source.Seed)
	w.int(int64(c.groupSize))
	w.bool(c.unowned)
	w.int(c.rollout)
	w.int(c.cursor)
	w.uint(c.index)
	w.line(c.timeline)
	w.mark(c.announced)
	w.tally(c.totals.Acknowledged)
	w.tally(c.totals.Failed)
	w.uint(uint64(len(c.totals.Discarded)))
	for _, d := range c.totals.Discarded {
		w.bytes([]byte(d.Reason))
		w.tally(d.Tally)
	}
	w.uint(uint64(c.settled.spanCount()))
	at := int64(0)
	c.settled.spans(func(lo, hi int64) bool {
		w.uint(uint64(lo - at))
		w.uint(uint64(hi - lo))
		at = hi
		return true
	})
	if c.stream != nil {
		c.stream.write(w, c.settled)
	}
	return w.seal()
}

// decodeState reads bytes that nobody vouches for: it refuses or returns a cut that encodes to exactly b.
func decodeState(b []byte) (*cut, error) {
	r := unseal(b, "state")
	head := r.raw("magic", uint64(len(stateMagic))+1)
	if r.err != nil {
		return nil, r.err
	}
	if string(head[:len(stateMagic)]) != stateMagic {
		r.fail("magic", "%q is not a run's state", head[:len(stateMagic)])
		return nil, r.err
	}
	format := head[len(stateMagic)]
	if format < stateFormat || format > pullFormat {
		r.fail("format", "%d is not known here (%d to %d are): use the Outrider that wrote it, or a later one", format, stateFormat, pullFormat)
		return nil, r.err
	}
	c := &cut{settled: &ranges{}}
	c.source.Stream, c.source.Pulled = format != stateFormat, format == pullFormat
	copy(c.source.Identity[:], r.raw("identity", 32))
	c.source.Len, c.source.Epochs = r.int("len", 1), r.int("epochs", 0)
	c.source.Shuffle, c.source.Seed = r.bool("shuffle"), r.uint("seed")
	c.groupSize, c.unowned = int(r.int("group_size", 1)), r.bool("unowned")
	c.rollout, c.cursor, c.index = r.int("rollout", -1), r.int("cursor", 0), r.uint("index")
	c.timeline, c.announced = r.line("timeline"), r.mark("announced")
	c.totals.Acknowledged, c.totals.Failed = r.tally("acknowledged"), r.tally("failed")
	for range r.count("discarded", 4) {
		c.totals.Discarded = append(c.totals.Discarded, ReasonTally{Reason: string(r.bytes("discarded")), Tally: r.tally("discarded")})
	}
	if most := c.source.total() + c.source.more(true); r.err == nil && c.cursor > most {
		r.fail("cursor", "%d is beyond the source's %d groups", c.cursor, most)
	}
	// An unowned run commits nothing, so its versions contain more than any commit says.
	if r.err == nil && !c.unowned && c.announced.contains > c.rollout {
		r.fail("announced", "it contains rollout %d, the state is of rollout %d", c.announced.contains, c.rollout)
	}
	at := int64(0)
	for i := range r.count("settled", 2) {
		gap, length := r.uint("settled"), r.uint("settled")
		if r.err != nil {
			break
		}
		left := uint64(c.cursor - at)
		if length == 0 || gap > left || length > left-gap || i > 0 && gap == 0 {
			r.fail("settled", "range %d is empty, touches the one before it, or goes beyond the cursor %d", i, c.cursor)
			break
		}
		at += int64(gap)
		c.settled.add(at, at+int64(length))
		at += int64(length)
	}
	if c.source.Stream && r.err == nil {
		c.stream = readStream(&r, c.source.Pulled, c.cursor, c.settled)
	}
	if sum := c.totals.sum(); r.err == nil && sum.Groups != c.settled.len() {
		r.fail("settled", "%d groups, the tallies count %d", c.settled.len(), sum.Groups)
	}
	if err := r.end(); err != nil {
		return nil, err
	}
	if !bytes.Equal(c.encode(), b) {
		r.fail("encoding", "not the canonical one")
	}
	return c, r.err
}

// fits refuses a cut of another source or group size and says all that differs.
func (c *cut) fits(p Params) error {
	differs := p.Source.differs(c.source)
	if p.GroupSize != c.groupSize {
		differs = append(differs, fmt.Sprintf("group_size: %d, the state was made with %d", p.GroupSize, c.groupSize))
	}
	if len(differs) > 0 {
		return fmt.Errorf("%w: the source differs from the saved one in %s; start with the same rows and options, or without state", ErrState, strings.Join(differs, "; in "))
	}
	if c.cursor > p.Source.total()+p.Source.more(p.NextEpoch) {
		return fmt.Errorf("%w: epochs=%d gives %d groups, the state has already reserved %d; raise epochs (or go on with last_batch=\"next_epoch\", if it was that)", ErrState, p.Source.Epochs, p.Source.total(), c.cursor)
	}
	return nil
}

// StateRollout returns the rollout of the cut that state bytes hold.
func StateRollout(state []byte) (int64, error) {
	c, err := decodeState(state)
	if err != nil {
		return 0, err
	}
	return c.rollout, nil
}

// CheckState refuses state bytes that are damaged or of another source or group size.
func CheckState(p Params, state []byte) error {
	c, err := decodeState(state)
	if err != nil {
		return err
	}
	return c.fits(p)
}
