package arrowio

import (
	"encoding/binary"
	"fmt"
)

// flat walks the flatbuffer of one message. Every position and every vector length is checked against the
// bytes that are there before it is used. The first fault sticks: from then on all reads give zero, all
// vectors are empty, so a caller may look at err once after a group of reads.
type flat struct {
	buf  []byte
	base int64  // position of buf in the stream, for errors
	part string // what is being read, for errors
	text int    // bytes of text that may still be copied out: a vector can name one string a million times
	err  error
}

func newFlat(buf []byte, base int64, part string) *flat {
	return &flat{buf: buf, base: base, part: part, text: 4*len(buf) + 1024}
}

func (f *flat) damaged(at int, format string, args ...any) {
	if f.err == nil {
		f.err = &DamagedError{Offset: f.base + int64(at), Part: f.part, Detail: fmt.Sprintf(format, args...)}
	}
}

func (f *flat) unsupported(feature, format string, args ...any) {
	if f.err == nil {
		f.err = &UnsupportedError{Feature: feature, Detail: fmt.Sprintf(format, args...)}
	}
}

// within says whether n bytes at position at lie in the buffer.
func (f *flat) within(at, n int) bool {
	if f.err != nil {
		return false
	}
	if at < 0 || n < 0 || at > len(f.buf)-n {
		f.damaged(at, "%d bytes are needed there, the metadata has %d", n, len(f.buf))
		return false
	}
	return true
}

// follow reads the unsigned offset at a position and returns where it leads, or -1. Whether that lies in the buffer is
// seen where it is read.
func (f *flat) follow(at int) int {
	if !f.within(at, 4) {
		return -1
	}
	off := binary.LittleEndian.Uint32(f.buf[at:])
	if off < 4 {
		f.damaged(at, "an offset of %d leads nowhere", off)
		return -1
	}
	return at + int(off)
}

// table is one flatbuffer table, its vtable checked. A table that is not present has no fields. The size of the table
// that its layout states is not looked at: writers share one layout between tables of different sizes.
type table struct {
	f       *flat
	pos     int
	present bool
	vtable  []byte // field offsets, two bytes each
}

func (f *flat) root() table { return f.tableAt(f.follow(0)) }

func (f *flat) tableAt(pos int) table {
	if pos < 0 || !f.within(pos, 4) {
		return table{f: f}
	}
	vt := int64(pos) - int64(int32(binary.LittleEndian.Uint32(f.buf[pos:])))
	if vt < 0 || vt > int64(len(f.buf)-4) {
		f.damaged(pos, "the table's layout lies at %d, outside the metadata", vt)
		return table{f: f}
	}
	at := int(vt)
	size := int(binary.LittleEndian.Uint16(f.buf[at:]))
	if size < 4 || size%2 != 0 {
		f.damaged(at, "a table layout of %d bytes", size)
		return table{f: f}
	}
	if !f.within(at, size) {
		return table{f: f}
	}
	return table{f: f, pos: pos, present: true, vtable: f.buf[at+4 : at+size]}
}

// at returns the position of a field of the given width, or -1 when it is absent.
func (t table) at(id, width int) int {
	if t.f.err != nil || 2*id+2 > len(t.vtable) {
		return -1
	}
	off := int(binary.LittleEndian.Uint16(t.vtable[2*id:]))
	if off == 0 {
		return -1
	}
	if off < 4 {
		t.f.damaged(t.pos, "field %d lies at %d, in the table's own head", id, off)
		return -1
	}
	if !t.f.within(t.pos+off, width) {
		return -1
	}
	return t.pos + off
}

func (t table) has(id int) bool { return t.at(id, 1) >= 0 }

func (t table) uint8(id int) uint8 {
	if at := t.at(id, 1); at >= 0 {
		return t.f.buf[at]
	}
	return 0
}

func (t table) int16(id int, absent int16) int16 {
	if at := t.at(id, 2); at >= 0 {
		return int16(binary.LittleEndian.Uint16(t.f.buf[at:]))
	}
	return absent
}

func (t table) int32(id int, absent int32) int32 {
	if at := t.at(id, 4); at >= 0 {
		return int32(binary.LittleEndian.Uint32(t.f.buf[at:]))
	}
	return absent
}

func (t table) int64(id int) int64 {
	if at := t.at(id, 8); at >= 0 {
		return int64(binary.LittleEndian.Uint64(t.f.buf[at:]))
	}
	return 0
}

func (t table) bool(id int) bool { return t.uint8(id) != 0 }

// table returns the table in a field; the zero table when it is absent.
func (t table) table(id int) table {
	at := t.at(id, 4)
	if at < 0 {
		return table{f: t.f}
	}
	return t.f.tableAt(t.f.follow(at))
}

// string returns a copy of the text in a field, empty when it is absent.
func (t table) string(id int) string {
	v := t.vector(id, 1)
	if v.n == 0 {
		return ""
	}
	if v.n > t.f.text {
		t.f.damaged(v.pos, "the texts together are longer than the metadata that holds them")
		return ""
	}
	t.f.text -= v.n
	return string(t.f.buf[v.pos : v.pos+v.n])
}

// vector is a checked vector: n elements of equal width from pos on.
type vector struct {
	f      *flat
	pos, n int
	width  int
}

// vector returns the vector in a field; the empty one when it is absent.
func (t table) vector(id, width int) vector {
	empty := vector{f: t.f, width: width}
	at := t.at(id, 4)
	if at < 0 {
		return empty
	}
	pos := t.f.follow(at)
	if pos < 0 || !t.f.within(pos, 4) {
		return empty
	}
	n := int64(binary.LittleEndian.Uint32(t.f.buf[pos:]))
	if n > int64(len(t.f.buf)-pos-4)/int64(width) {
		t.f.damaged(pos, "a vector of %d elements of %d bytes, %d bytes are left", n, width, len(t.f.buf)-pos-4)
		return empty
	}
	return vector{f: t.f, pos: pos + 4, n: int(n), width: width}
}

// table returns element i of a vector of tables.
func (v vector) table(i int) table { return v.f.tableAt(v.f.follow(v.pos + i*v.width)) }

// pair returns the two int64 of element i of a vector of field nodes or buffers.
func (v vector) pair(i int) (int64, int64) {
	b := v.f.buf[v.pos+16*i:]
	return int64(binary.LittleEndian.Uint64(b)), int64(binary.LittleEndian.Uint64(b[8:]))
}
