package leases

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// writer appends fields of the state and log formats (docs/state.md).
type writer struct{ b []byte }

func (w *writer) uint(v uint64)   { w.b = binary.AppendUvarint(w.b, v) }
func (w *writer) int(v int64)     { w.b = binary.AppendVarint(w.b, v) }
func (w *writer) raw(v []byte)    { w.b = append(w.b, v...) }
func (w *writer) bytes(v []byte)  { w.uint(uint64(len(v))); w.raw(v) }
func (w *writer) term(t Term)     { w.uint(t.Number); w.uint(uint64(t.Session)) }
func (w *writer) line(t Timeline) { w.uint(t.Number); w.term(t.Origin) }
func (w *writer) tally(t Tally)   { w.int(t.Groups); w.int(t.Samples); w.int(t.Tokens) }
func (w *writer) mark(m versionMark) {
	w.int(m.version)
	w.int(m.contains)
	w.line(m.timeline)
	w.bytes(m.digest)
}

func (w *writer) bool(v bool) {
	if v {
		w.b = append(w.b, 1)
	} else {
		w.b = append(w.b, 0)
	}
}

// groups writes ascending group ids as differences.
func (w *writer) groups(ids []int64) {
	w.uint(uint64(len(ids)))
	last := int64(0)
	for _, id := range ids {
		w.uint(uint64(id - last))
		last = id
	}
}

// seal appends the checksum over everything before it.
func (w *writer) seal() []byte {
	return binary.LittleEndian.AppendUint32(w.b, crc32.Checksum(w.b, castagnoli))
}

// reader takes fields from bytes that nobody vouches for. The first problem sticks; every count is bounded by the
// bytes that are left before anything is allocated for it.
type reader struct {
	b    []byte
	what string
	err  error
}

// unseal checks the checksum and returns a reader over what it covers.
func unseal(b []byte, what string) reader {
	r := reader{what: what}
	if len(b) < 4 {
		r.fail("checksum", "%d bytes are too few", len(b))
		return r
	}
	body := b[:len(b)-4]
	if got, want := crc32.Checksum(body, castagnoli), binary.LittleEndian.Uint32(b[len(b)-4:]); got != want {
		r.fail("checksum", "it is %08x, the bytes give %08x: they are damaged", want, got)
		return r
	}
	r.b = body
	return r
}

func (r *reader) fail(field, format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: %s: field %q: %s", ErrState, r.what, field, fmt.Sprintf(format, args...))
		r.b = nil
	}
}

func (r *reader) uint(field string) uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.fail(field, "truncated")
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) int(field string, low int64) int64 {
	v, n := binary.Varint(r.b)
	if n <= 0 {
		r.fail(field, "truncated")
		return 0
	}
	if v < low {
		r.fail(field, "%d is below %d", v, low)
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) raw(field string, n uint64) []byte {
	if n > uint64(len(r.b)) {
		r.fail(field, "%d bytes announced, %d left", n, len(r.b))
		return nil
	}
	v := r.b[:n]
	r.b = r.b[n:]
	return v
}

func (r *reader) bytes(field string) []byte { return r.raw(field, r.uint(field)) }

func (r *reader) bool(field string) bool {
	v := r.raw(field, 1)
	if len(v) == 1 && v[0] > 1 {
		r.fail(field, "%d is neither 0 nor 1", v[0])
	}
	return len(v) == 1 && v[0] == 1
}

// count reads a number of items that need at least size bytes each.
func (r *reader) count(field string, size int) int {
	n := r.uint(field)
	if n > uint64(len(r.b)/size) {
		r.fail(field, "%d items announced, %d bytes left", n, len(r.b))
		return 0
	}
	return int(n)
}

func (r *reader) groups(field string, end int64) []int64 {
	n := r.count(field, 1)
	out := make([]int64, 0, n)
	last := int64(0)
	for i := range n {
		d := r.uint(field)
		if r.err != nil {
			return nil
		}
		if d >= uint64(end-last) || i > 0 && d == 0 {
			r.fail(field, "not ascending, or beyond %d", end)
			return nil
		}
		last += int64(d)
		out = append(out, last)
	}
	return out
}

func (r *reader) term(field string) Term {
	return Term{Number: r.uint(field), Session: Session(r.uint(field))}
}

func (r *reader) line(field string) Timeline {
	return Timeline{Number: r.uint(field), Origin: r.term(field)}
}

func (r *reader) tally(field string) Tally {
	return Tally{Groups: r.int(field, 0), Samples: r.int(field, 0), Tokens: r.int(field, 0)}
}

func (r *reader) mark(field string) versionMark {
	return versionMark{
		version: r.int(field, 0), contains: r.int(field, -1), timeline: r.line(field),
		digest: append([]byte(nil), r.bytes(field)...),
	}
}

// end checks that nothing is left and returns the first problem.
func (r *reader) end() error {
	if len(r.b) > 0 {
		r.fail("end", "%d bytes are left over", len(r.b))
	}
	return r.err
}
