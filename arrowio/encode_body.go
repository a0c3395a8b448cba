package arrowio

import (
	"errors"
	"fmt"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/bitutil"
	flatbuffers "github.com/google/flatbuffers/go"
)

// errShort: an array's own buffers are shorter than it says, which arrow does not check in all arrays.
var errShort = errors.New("an array is longer than its buffers; build it anew")

// body collects the arrays of one batch.
type body struct {
	pieces  [][]byte
	size    int64
	nodes   [][2]int64 // length, nulls
	buffers [][2]int64 // position, length
}

// encode writes the RecordBatch table (Message.fbs).
func (b *body) encode(fb *flatbuffers.Builder, rows int64) flatbuffers.UOffsetT {
	buffers := pairs(fb, b.buffers)
	nodes := pairs(fb, b.nodes)
	fb.StartObject(5)
	fb.PrependInt64Slot(0, rows, 0)
	fb.PrependUOffsetTSlot(1, nodes, 0)
	fb.PrependUOffsetTSlot(2, buffers, 0)
	return fb.EndObject()
}

// pairs writes a vector of structs of two int64.
func pairs(fb *flatbuffers.Builder, v [][2]int64) flatbuffers.UOffsetT {
	fb.StartVector(16, len(v), 8)
	for _, v0 := range slices.Backward(v) {
		fb.Prep(8, 16)
		fb.PrependInt64(v0[1])
		fb.PrependInt64(v0[0])
	}
	return fb.EndVector(len(v))
}

// buffer appends one buffer and pads it to the boundary.
func (b *body) buffer(p []byte) {
	b.buffers = append(b.buffers, [2]int64{b.size, int64(len(p))})
	if len(p) == 0 {
		return
	}
	pad := padTo(int64(len(p)))
	b.pieces = append(b.pieces, p)
	if pad > 0 {
		b.pieces = append(b.pieces, padding[:pad])
	}
	b.size += int64(len(p) + pad)
}

// array appends an array and its children.
func (b *body) array(p *plan, d arrow.ArrayData) error {
	n, off := int64(d.Len()), int64(d.Offset())
	kind, width := layoutOf(p.typ)
	if kind == shapeNull {
		b.nodes = append(b.nodes, [2]int64{n, n})
		return nil
	}
	nulls, err := b.validity(d)
	if err != nil {
		return err
	}
	switch kind {
	case shapeBits:
		bits, err := bitsOf(bufferOf(d, 1), off, n)
		b.buffer(bits)
		return err
	case shapeFixed:
		data, err := part(bufferOf(d, 1), off*int64(width), n*int64(width))
		b.buffer(data)
		return err
	case shapeBinary:
		offsets, from, to, err := rebased(bufferOf(d, 1), off, n, width)
		if err != nil {
			return err
		}
		b.buffer(offsets)
		data, err := part(bufferOf(d, 2), from, to-from)
		b.buffer(data)
		return err
	case shapeList:
		offsets, from, to, err := rebased(bufferOf(d, 1), off, n, width)
		if err != nil {
			return err
		}
		b.buffer(offsets)
		return sliced(d.Children()[0], from, to, func(c arrow.ArrayData) error { return b.array(p.children[0], c) })
	case shapeTuple:
		w := int64(width)
		return sliced(d.Children()[0], off*w, (off+n)*w, func(c arrow.ArrayData) error { return b.array(p.children[0], c) })
	case shapeStruct:
		for i, child := range d.Children() {
			if err := sliced(child, off, off+n, func(c arrow.ArrayData) error { return b.array(p.children[i], c) }); err != nil {
				return err
			}
		}
		return nil
	}
	return fmt.Errorf("type %s with %d nulls has no layout", p.typ, nulls)
}

// validity appends the field node and the bitmap, which is empty when nothing is null, and returns the nulls.
func (b *body) validity(d arrow.ArrayData) (int64, error) {
	n, off := int64(d.Len()), int64(d.Offset())
	bitmap, nulls := bufferOf(d, 0), int64(0)
	if d.NullN() != 0 && len(bitmap) > 0 {
		if int64(len(bitmap)) < bitutil.BytesForBits(off+n) {
			return 0, errShort
		}
		nulls = n - int64(bitutil.CountSetBits(bitmap, int(off), int(n)))
	}
	b.nodes = append(b.nodes, [2]int64{n, nulls})
	if nulls == 0 {
		b.buffer(nil)
		return 0, nil
	}
	bits, err := bitsOf(bitmap, off, n)
	b.buffer(bits)
	return nulls, err
}

// bufferOf returns the bytes of buffer i, nil when there is none.
func bufferOf(d arrow.ArrayData, i int) []byte {
	if bs := d.Buffers(); i < len(bs) && bs[i] != nil {
		return bs[i].Bytes()
	}
	return nil
}

// part returns n bytes from off on.
func part(b []byte, off, n int64) ([]byte, error) {
	if n == 0 {
		return nil, nil
	}
	if off < 0 || n < 0 || off > int64(len(b))-n {
		return nil, errShort
	}
	return b[off : off+n], nil
}

// bitsOf returns n bits from bit off on, in place when that is a byte's first.
func bitsOf(b []byte, off, n int64) ([]byte, error) {
	if n == 0 {
		return nil, nil
	}
	if int64(len(b)) < bitutil.BytesForBits(off+n) {
		return nil, errShort
	}
	if off%8 == 0 {
		return b[off/8 : off/8+bitutil.BytesForBits(n)], nil
	}
	moved := make([]byte, bitutil.BytesForBits(n))
	bitutil.CopyBitmap(b, int(off), int(n), moved, 0)
	return moved, nil
}

// sliced calls use with the values from … to of an array.
func sliced(d arrow.ArrayData, from, to int64, use func(arrow.ArrayData) error) error {
	if from == 0 && to == int64(d.Len()) {
		return use(d)
	}
	if from < 0 || from > to || to > int64(d.Len()) {
		return errShort
	}
	s := array.NewSliceData(d, from, to)
	defer s.Release()
	return use(s)
}
