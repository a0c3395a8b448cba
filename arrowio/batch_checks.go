package arrowio

import (
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/bitutil"
	"github.com/apache/arrow/go/v15/arrow/memory"
)

// checkOffsets says as a fault where offsets fall, begin below 0, or end beyond limit.
func (b *batch) checkOffsets(offsets *memory.Buffer, length int64, width int, limit int64) {
	if offsets.Len() == 0 {
		return
	}
	var fault string
	if width == 4 {
		fault = faultyOffset(integers[int32](offsets.Bytes())[:length+1], limit)
	} else {
		fault = faultyOffset(integers[int64](offsets.Bytes())[:length+1], limit)
	}
	if fault != "" {
		b.damaged("%s", fault)
	}
}

// faultyOffset returns what is wrong with offsets, empty when nothing is. At least one is given.
func faultyOffset[T int32 | int64](o []T, limit int64) string {
	if o[0] < 0 {
		return fmt.Sprintf("the first offset is %d", o[0])
	}
	last := o[0]
	for i, x := range o {
		if x < last {
			return fmt.Sprintf("offset %d is %d, below the one before, %d", i, x, last)
		}
		last = x
	}
	if int64(last) > limit {
		return fmt.Sprintf("the last offset is %d, there are %d values", last, limit)
	}
	return ""
}

// checkChildren checks that the children have the values that their parent speaks of.
func (b *batch) checkChildren(c *column, kind shape, width int, length int64, offsets []byte, children []arrow.ArrayData) {
	switch kind {
	case shapeList:
		child := children[0]
		if len(offsets) > 0 {
			b.checkOffsets(memory.NewBufferBytes(offsets), length, width, int64(child.Len()))
		}
		if c.typ.ID() != arrow.MAP {
			return
		}
		if child.NullN() != 0 || child.Children()[0].NullN() != 0 {
			b.damaged("a map with null entries or null keys")
		}
	case shapeTuple:
		if n := int64(children[0].Len()); n/int64(width) < length {
			b.damaged("%d lists of %d values, there are %d values", length, width, n)
		}
	case shapeStruct:
		for i, child := range children {
			if int64(child.Len()) != length {
				b.damaged("field %d of a struct has %d values, the struct has %d", i, child.Len(), length)
				return
			}
		}
	}
}

// encoded builds an array of indices into the dictionary that is in force. Where every index is null the
// dictionary may be missing.
func (b *batch) encoded(c *column, length int64, buffers []*memory.Buffer, nulls int64) *array.Data {
	dict := b.dicts[c.dict]
	if dict == nil {
		if nulls < length {
			b.damaged("dictionary %d has not come before its first use", c.dict.id)
			return nil
		}
		dict = emptyData(c.dict.value.typ)
		b.arrays = append(b.arrays, dict)
	}
	var valid []byte
	if buffers[0] != nil {
		valid = buffers[0].Bytes()
	}
	data, size := buffers[1].Bytes(), int64(dict.Len())
	bad := int64(-1)
	switch c.typ.(*arrow.DictionaryType).IndexType.ID() {
	case arrow.INT8:
		bad = badIndex(integers[int8](data)[:length], valid, size)
	case arrow.INT16:
		bad = badIndex(integers[int16](data)[:length], valid, size)
	case arrow.INT32:
		bad = badIndex(integers[int32](data)[:length], valid, size)
	case arrow.INT64:
		bad = badIndex(integers[int64](data)[:length], valid, size)
	case arrow.UINT8:
		bad = badIndex(integers[uint8](data)[:length], valid, size)
	case arrow.UINT16:
		bad = badIndex(integers[uint16](data)[:length], valid, size)
	case arrow.UINT32:
		bad = badIndex(integers[uint32](data)[:length], valid, size)
	case arrow.UINT64:
		bad = badIndex(integers[uint64](data)[:length], valid, size)
	}
	if bad >= 0 {
		b.damaged("index %d is outside the dictionary of %d values", bad, size)
		return nil
	}
	return b.built(c, length, buffers, nil, nulls, dict)
}

// badIndex returns the first place whose index, if it is not null, is outside 0 … size-1; -1 when there is none.
func badIndex[T int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64](index []T, valid []byte, size int64) int64 {
	for i, x := range index {
		if (x < 0 || uint64(x) >= uint64(size)) && (valid == nil || bitutil.BitIsSet(valid, i)) {
			return int64(i)
		}
	}
	return -1
}
