package leases

import "bytes"

// Entry is one record of the commit log, as the trainers keep it.
type Entry struct {
	// Index rises by one per entry over the whole run.
	Index uint64
	// Bytes is opaque to everybody but the ledger.
	Bytes []byte
}

type recordKind uint8

const (
	recordCommit recordKind = iota + 1
	recordVersion
	recordRewind
	recordVoid
	recordLife
	recordPush
	recordStreamEnd
	recordPull
)

// record is a decoded entry. Only the fields of its kind are used.
type record struct {
	index    uint64
	kind     recordKind
	term     Term
	timeline Timeline

	// Commit.
	rollout   int64
	admission uint64
	cursor    int64
	groups    []int64 // ascending
	tally     Tally
	others    []settled

	// Version.
	mark versionMark

	// Rewind uses rollout: the last one that still counts.

	// Void: the index of the commit that never was.
	void uint64

	// Push and pull: consecutive groups from first on; source is where a pulled source is after giving them.
	first  int64
	pushes []Push
	source []byte
}

// settled is what was discarded for one reason, or failed, since the commit before.
type settled struct {
	failed bool
	reason string
	groups []int64 // ascending
	tally  Tally
}

// versionMark is one announced weight version.
type versionMark struct {
	version  int64
	contains int64 // last rollout that the weights contain, -1 for none
	timeline Timeline
	digest   []byte
}

const (
	entryMagic  = "OL"
	entryFormat = 1
)

func (rec *record) encode() []byte {
	w := &writer{b: make([]byte, 0, 64+2*len(rec.groups))}
	w.raw([]byte(entryMagic))
	w.raw([]byte{entryFormat, byte(rec.kind)})
	w.uint(rec.index)
	w.term(rec.term)
	w.line(rec.timeline)
	switch rec.kind {
	case recordCommit:
		w.int(rec.rollout)
		w.uint(rec.admission)
		w.int(rec.cursor)
		w.groups(rec.groups)
		w.tally(rec.tally)
		w.uint(uint64(len(rec.others)))
		for _, o := range rec.others {
			w.bool(o.failed)
			w.bytes([]byte(o.reason))
			w.groups(o.groups)
			w.tally(o.tally)
		}
	case recordVersion:
		w.mark(rec.mark)
	case recordRewind:
		w.int(rec.rollout)
	case recordVoid:
		w.uint(rec.void)
	case recordPush, recordPull:
		writePushes(w, rec)
	case recordLife, recordStreamEnd:
	}
	return w.seal()
}

func decodeEntry(e Entry) (*record, error) {
	r := unseal(e.Bytes, "log entry")
	head := r.raw("magic", uint64(len(entryMagic))+2)
	if r.err != nil {
		return nil, r.err
	}
	if string(head[:len(entryMagic)]) != entryMagic {
		r.fail("magic", "%q is not a log entry", head[:len(entryMagic)])
		return nil, r.err
	}
	if head[2] != entryFormat {
		r.fail("format", "%d is not known here (%d is): use the Outrider that wrote it, or a later one", head[2], entryFormat)
		return nil, r.err
	}
	rec := &record{kind: recordKind(head[3]), index: r.uint("index"), term: r.term("term"), timeline: r.line("timeline")}
	switch rec.kind {
	case recordCommit:
		rec.rollout, rec.admission, rec.cursor = r.int("rollout", 0), r.uint("admission"), r.int("cursor", 0)
		rec.groups, rec.tally = r.groups("groups", rec.cursor), r.tally("tally")
		for range r.count("settled", 4) {
			o := settled{failed: r.bool("settled.failed"), reason: string(r.bytes("settled.reason"))}
			o.groups, o.tally = r.groups("settled.groups", rec.cursor), r.tally("settled.tally")
			rec.others = append(rec.others, o)
		}
	case recordVersion:
		rec.mark = r.mark("version")
	case recordRewind:
		rec.rollout = r.int("rollout", -1)
	case recordVoid:
		rec.void = r.uint("void")
	case recordPush, recordPull:
		readPushes(&r, rec)
	case recordLife, recordStreamEnd:
	default:
		r.fail("kind", "%d is not known here", rec.kind)
	}
	if err := r.end(); err != nil {
		return nil, err
	}
	if rec.index != e.Index {
		r.fail("index", "%d came as entry %d", rec.index, e.Index)
	} else if !bytes.Equal(rec.encode(), e.Bytes) {
		r.fail("encoding", "not the canonical one")
	}
	return rec, r.err
}

// write gives rec the next index and keeps it for trainers that join later.
func (l *Ledger) write(rec *record) Entry {
	rec.index, rec.term, rec.timeline = l.nextIndex, l.term, l.timeline
	l.nextIndex++
	e := Entry{Index: rec.index, Bytes: rec.encode()}
	l.log = append(l.log, e)
	return e
}

// Log returns the entries since the base. The caller must not change them.
func (l *Ledger) Log() []Entry { return l.log }

// Base returns the base state, the rollout of its cut and the index of the last entry that it includes.
func (l *Ledger) Base() (state []byte, rollout int64, index uint64) {
	return l.baseBytes, l.base.rollout, l.base.index
}

// LastTerm orders logs: of two logs, the one whose last entry has the later term, then the higher index, has every
// entry that was ever answered. An empty log gives the zero term and the base's index.
func LastTerm(base []byte, log []Entry) (Term, uint64, error) {
	if n := len(log); n > 0 {
		rec, err := decodeEntry(log[n-1])
		if err != nil {
			return Term{}, 0, err
		}
		return rec.term, rec.index, nil
	}
	c, err := decodeState(base)
	if err != nil {
		return Term{}, 0, err
	}
	return Term{}, c.index, nil
}
