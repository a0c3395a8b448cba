package arrowio

import (
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
)

// batch reads the arrays of one record batch or dictionary batch. Each array is checked before it is built:
// arrow's own constructors panic on what does not fit.
type batch struct {
	root    *memory.Buffer // the whole stream
	at      int64          // position of the body in the stream
	size    int64          // bytes of the body
	nodes   vector         // length and null count of each array, depth first
	buffers vector         // position in the body and length of each buffer, in the same order
	node    int            // next node
	buffer  int            // next buffer
	left    int64          // bytes of the body that no buffer has claimed yet
	dicts   map[*dictionary]*array.Data
	part    string // column that is being read
	where   int64  // position in the stream of the buffer read last
	err     error

	arrays []*array.Data    // all that were built, held once until release
	slices []*memory.Buffer // likewise
}

// newBatch reads the header of a record batch (Message.fbs, RecordBatch): 0 length, 1 nodes, 2 buffers, 3 compression.
func newBatch(root *memory.Buffer, m *message, header table, dicts map[*dictionary]*array.Data) (*batch, int64, error) {
	f := header.f
	if !header.present {
		f.damaged(0, "a dictionary batch without data")
	}
	rows := header.int64(0)
	nodes, buffers := header.vector(1, 16), header.vector(2, 16)
	if header.has(3) {
		f.unsupported("compression", "codec number %d", header.table(3).uint8(0))
	}
	if rows < 0 {
		f.damaged(header.pos, "a batch of %d rows", rows)
	}
	if f.err != nil {
		return nil, 0, f.err
	}
	b := &batch{root: root, at: m.bodyAt, size: m.body, left: m.body, where: m.bodyAt, nodes: nodes, buffers: buffers, dicts: dicts}
	return b, rows, nil
}

// release lets go of everything that was built; what is still wanted has been retained by its user.
func (b *batch) release() {
	for _, d := range b.arrays {
		d.Release()
	}
	for _, s := range b.slices {
		s.Release()
	}
	b.arrays, b.slices = nil, nil
}

func (b *batch) damaged(format string, args ...any) {
	if b.err == nil {
		b.err = &DamagedError{Offset: b.where, Part: b.part, Detail: fmt.Sprintf(format, args...)}
	}
}

// array builds the next array, of column c, and its children. Nil after a fault.
func (b *batch) array(c *column) *array.Data {
	length, nulls := b.nextNode()
	if b.err != nil {
		return nil
	}
	kind, width := layoutOf(c.typ)
	if kind == shapeNull {
		return b.built(c, length, nil, nil, length, nil)
	}
	valid, nulls := b.validity(length, nulls)
	buffers := []*memory.Buffer{valid}
	var limits []byte // offsets
	switch kind {
	case shapeBits:
		buffers = append(buffers, b.sized(length/8+min(length%8, 1), 1))
	case shapeFixed:
		buffers = append(buffers, b.sized(length, int64(width)))
	case shapeBinary:
		offsets := b.offsets(length, int64(width))
		bytes := b.nextBuffer()
		buffers = append(buffers, offsets, bytes)
		if b.err == nil {
			b.checkOffsets(offsets, length, width, int64(bytes.Len()))
		}
	case shapeList:
		offsets := b.offsets(length, int64(width))
		buffers = append(buffers, offsets)
		if b.err == nil {
			limits = offsets.Bytes()
		}
	}
	if b.err != nil {
		return nil
	}
	if c.dict != nil {
		return b.encoded(c, length, buffers, nulls)
	}
	children := make([]arrow.ArrayData, 0, len(c.children))
	for _, child := range c.children {
		d := b.array(child)
		if b.err != nil {
			return nil
		}
		children = append(children, d)
	}
	b.checkChildren(c, kind, width, length, limits, children)
	if b.err != nil {
		return nil
	}
	return b.built(c, length, buffers, children, nulls, nil)
}

// built makes the array's data, which the batch holds until release.
func (b *batch) built(c *column, length int64, buffers []*memory.Buffer, children []arrow.ArrayData, nulls int64, dict *array.Data) *array.Data {
	if len(buffers) == 0 {
		buffers = []*memory.Buffer{nil}
	}
	d := array.NewData(c.typ, int(length), buffers, children, int(nulls), 0)
	if dict != nil {
		d.SetDictionary(dict)
	}
	b.arrays = append(b.arrays, d)
	return d
}
