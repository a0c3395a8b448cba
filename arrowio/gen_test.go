package arrowio

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/bitutil"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/stretchr/testify/require"
)

// gen makes random types and arrays: nulls, offsets that do not begin at 0, values that no row uses, slices.
type gen struct {
	*rand.Rand
	plain bool // no slices and no odd offsets, which the stock writer gets wrong
}

func newGen(seed uint64) *gen { return &gen{Rand: rand.New(rand.NewPCG(seed, 7))} }

// leafTypes are all supported types without children.
func leafTypes() []arrow.DataType {
	p, f, b := arrow.PrimitiveTypes, arrow.FixedWidthTypes, arrow.BinaryTypes
	return []arrow.DataType{
		arrow.Null, f.Boolean, p.Int8, p.Int16, p.Int32, p.Int64, p.Uint8, p.Uint16, p.Uint32, p.Uint64,
		f.Float16, p.Float32, p.Float64, b.Binary, b.String, b.LargeBinary, b.LargeString,
		&arrow.FixedSizeBinaryType{ByteWidth: 3}, &arrow.FixedSizeBinaryType{ByteWidth: 16}, f.Date32, f.Date64,
		f.Time32s, f.Time32ms, f.Time64us, f.Time64ns, f.Timestamp_s, f.Timestamp_ns, &arrow.TimestampType{Unit: arrow.Millisecond, TimeZone: "Europe/Zürich"},
		f.Duration_ms, f.Duration_ns, f.MonthInterval, f.DayTimeInterval, f.MonthDayNanoInterval,
		&arrow.Decimal128Type{Precision: 38, Scale: -2}, &arrow.Decimal256Type{Precision: 76, Scale: 10},
	}
}

func (g *gen) typ(depth int) arrow.DataType {
	if depth <= 0 || g.IntN(3) == 0 {
		leaves := leafTypes()
		return leaves[g.IntN(len(leaves))]
	}
	switch g.IntN(6) {
	case 0:
		return arrow.ListOf(g.typ(depth - 1))
	case 1:
		return arrow.LargeListOf(g.typ(depth - 1))
	case 2:
		return arrow.FixedSizeListOf(int32(1+g.IntN(3)), g.typ(depth-1))
	case 3:
		fields := make([]arrow.Field, g.IntN(4))
		for i := range fields {
			fields[i] = arrow.Field{Name: fmt.Sprintf("f%d", i), Type: g.typ(depth - 1), Nullable: true}
		}
		return arrow.StructOf(fields...)
	case 4:
		return arrow.MapOf(arrow.BinaryTypes.String, g.typ(depth-1))
	default:
		index := []arrow.DataType{arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Uint16, arrow.PrimitiveTypes.Int64}
		return &arrow.DictionaryType{IndexType: index[g.IntN(len(index))], ValueType: g.leafValue()}
	}
}

// leafValue is a type that the stock reader takes as values of a dictionary.
func (g *gen) leafValue() arrow.DataType {
	types := []arrow.DataType{arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Float32, arrow.BinaryTypes.Binary}
	return types[g.IntN(len(types))]
}

// array makes n values of a type; share is that of nulls in percent.
func (g *gen) array(t arrow.DataType, n, share int) arrow.Array {
	before, after := g.IntN(11), g.IntN(3)
	if g.plain {
		before, after = 0, 0
	}
	d := g.data(t, before+n+after, share)
	defer d.Release()
	whole := array.MakeFromData(d)
	if before+after == 0 {
		return whole
	}
	defer whole.Release()
	return array.NewSlice(whole, int64(before), int64(before+n))
}

func (g *gen) data(t arrow.DataType, n, share int) *array.Data {
	kind, width := layoutOf(t)
	valid, nulls := g.bitmap(n, share)
	buffers := []*memory.Buffer{valid}
	var children []arrow.ArrayData
	child := func(t arrow.DataType, n, share int) {
		a := g.array(t, n, share)
		d := a.Data()
		d.Retain()
		a.Release()
		children = append(children, d)
	}
	switch kind {
	case shapeNull:
		buffers, nulls = []*memory.Buffer{nil}, n
	case shapeBits:
		buffers = append(buffers, memory.NewBufferBytes(g.bytes(int(bitutil.BytesForBits(int64(n))))))
	case shapeFixed:
		buffers = append(buffers, memory.NewBufferBytes(g.fixed(t, n, width)))
	case shapeBinary:
		offsets, last := g.offsets(n, width, 9)
		buffers = append(buffers, offsets, memory.NewBufferBytes(g.letters(last+g.IntN(5))))
	case shapeList:
		offsets, last := g.offsets(n, width, 4)
		buffers = append(buffers, offsets)
		elem, childShare := t.(arrow.NestedType).Fields()[0].Type, share
		if m, ok := t.(*arrow.MapType); ok {
			s := g.array(m.KeyType(), last, 0)
			items := g.array(m.ItemType(), last, share)
			entries := array.NewData(elem, last, []*memory.Buffer{nil}, []arrow.ArrayData{s.Data(), items.Data()}, 0, 0)
			s.Release()
			items.Release()
			children = append(children, entries)
		} else {
			child(elem, last+g.slack(), childShare)
		}
	case shapeTuple:
		child(t.(*arrow.FixedSizeListType).Elem(), n*width, share)
	case shapeStruct:
		for _, f := range t.(*arrow.StructType).Fields() {
			child(f.Type, n, share)
		}
	}
	d := array.NewData(t, n, buffers, children, nulls, 0)
	for _, c := range children {
		c.Release()
	}
	if dt, ok := t.(*arrow.DictionaryType); ok {
		values := g.array(dt.ValueType, 1+g.IntN(100), 0)
		size := uint64(values.Len())
		raw := buffers[1].Bytes()
		for i := range n {
			putIndex(raw[i*width:(i+1)*width], g.Uint64N(size))
		}
		d.SetDictionary(values.Data())
		values.Release()
	}
	return d
}

func (g *gen) slack() int {
	if g.plain {
		return 0
	}
	return g.IntN(4)
}

func putIndex(b []byte, x uint64) {
	var full [8]byte
	binary.LittleEndian.PutUint64(full[:], x)
	copy(b, full[:])
}

func (g *gen) bytes(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(g.Uint32())
	}
	return b
}

// fixed makes values that arrow's own comparison can compare: small floats instead of NaN.
func (g *gen) fixed(t arrow.DataType, n, width int) []byte {
	switch t.ID() {
	case arrow.FLOAT16:
		return slices.Repeat([]byte{0, 0x3c}, n) // 1
	case arrow.FLOAT32, arrow.FLOAT64:
		b := g.bytes(n * width)
		for i := range n {
			b[(i+1)*width-1] &= 0x3f // the exponent stays small
		}
		return b
	}
	return g.bytes(n * width)
}

func (g *gen) letters(n int) []byte {
	word := []byte("prompt überhaupt 答案 ")
	b := make([]byte, 0, n+len(word))
	for len(b) < n {
		b = append(b, word...)
	}
	return b[:n]
}

// offsets makes n+1 offsets with up to most values a row, and returns the last one.
func (g *gen) offsets(n, width, most int) (*memory.Buffer, int) {
	at := 0
	if !g.plain {
		at = g.IntN(4)
	}
	b := make([]byte, (n+1)*width)
	for i := range n + 1 {
		putIndex(b[i*width:(i+1)*width], uint64(at))
		if i < n {
			at += g.IntN(most)
		}
	}
	return memory.NewBufferBytes(b), at
}

func (g *gen) bitmap(n, share int) (*memory.Buffer, int) {
	if share == 0 || n == 0 {
		return nil, 0
	}
	b, nulls := make([]byte, bitutil.BytesForBits(int64(n))), 0
	for i := range n {
		if g.IntN(100) < share {
			nulls++
		} else {
			bitutil.SetBit(b, i)
		}
	}
	return memory.NewBufferBytes(b), nulls
}

// record makes a record of the schema.
func (g *gen) record(s *arrow.Schema, rows, share int) arrow.Record {
	cols := make([]arrow.Array, s.NumFields())
	for i, f := range s.Fields() {
		cols[i] = g.array(f.Type, rows, share)
	}
	r := array.NewRecord(s, cols, int64(rows))
	for _, c := range cols {
		c.Release()
	}
	return r
}

// schemaOf makes a schema of nullable columns c0, c1, …
func schemaOf(types ...arrow.DataType) *arrow.Schema {
	fields := make([]arrow.Field, len(types))
	for i, t := range types {
		fields[i] = arrow.Field{Name: fmt.Sprintf("c%d", i), Type: t, Nullable: true}
	}
	return arrow.NewSchema(fields, nil)
}

// encoded returns the bytes of a stream.
func encoded(t require.TestingT, s *arrow.Schema, recs ...arrow.Record) []byte {
	if h, ok := t.(*testing.T); ok {
		h.Helper()
	}
	e, err := Encode(s, recs)
	require.NoError(t, err)
	defer e.Release()
	b := slices.Concat(e.pieces...)
	require.Equal(t, e.Size(), int64(len(b)))
	return b
}

// decoded reads bytes that must be a good stream. The caller releases it.
func decoded(t require.TestingT, b []byte) *Stream {
	s, err := Decode(memory.NewBufferBytes(b), Bounds{})
	require.NoError(t, err)
	return s
}
