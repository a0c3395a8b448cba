package arrowio

import (
	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"
)

// shape is how the values of a type lie in memory.
type shape uint8

const (
	shapeOther  shape = iota // not supported
	shapeNull                // no buffers
	shapeBits                // validity, one bit a value
	shapeFixed               // validity, width bytes a value
	shapeBinary              // validity, offsets of width bytes, bytes
	shapeList                // validity, offsets of width bytes; one child
	shapeTuple               // validity; one child with a fixed number of values a row
	shapeStruct              // validity; children of equal length
)

// layoutOf returns the shape of a type and its width in bytes: of a value, or of an offset.
// Dictionary types have the layout of their indices, extension types that of their storage.
func layoutOf(t arrow.DataType) (shape, int) {
	switch t := t.(type) {
	case *arrow.NullType:
		return shapeNull, 0
	case *arrow.BooleanType:
		return shapeBits, 0
	case *arrow.BinaryType, *arrow.StringType:
		return shapeBinary, 4
	case *arrow.LargeBinaryType, *arrow.LargeStringType:
		return shapeBinary, 8
	case *arrow.ListType, *arrow.MapType:
		return shapeList, 4
	case *arrow.LargeListType:
		return shapeList, 8
	case *arrow.FixedSizeListType:
		return shapeTuple, int(t.Len())
	case *arrow.StructType:
		return shapeStruct, 0
	case *arrow.DictionaryType:
		return layoutOf(t.IndexType)
	case arrow.ExtensionType:
		return layoutOf(t.StorageType())
	case *arrow.FixedSizeBinaryType:
		return shapeFixed, t.ByteWidth
	case *arrow.SparseUnionType, *arrow.DenseUnionType, *arrow.RunEndEncodedType:
		return shapeOther, 0
	case arrow.FixedWidthDataType:
		return shapeFixed, t.BitWidth() / 8
	}
	return shapeOther, 0
}

// storage returns a type with an extension at its top taken off.
func storage(t arrow.DataType) arrow.DataType {
	for {
		e, ok := t.(arrow.ExtensionType)
		if !ok {
			return t
		}
		t = e.StorageType()
	}
}

// noBuffers returns as many missing buffers as an array of a shape has.
func noBuffers(s shape) []*memory.Buffer {
	n := 1
	switch s {
	case shapeBits, shapeFixed, shapeList:
		n = 2
	case shapeBinary:
		n = 3
	}
	return make([]*memory.Buffer, n)
}
