package arrowio

import "github.com/apache/arrow/go/v15/arrow"

// Numbers of the types, as in the union Type of the Arrow format's Schema.fbs.
const (
	typeNull = iota + 1
	typeInt
	typeFloatingPoint
	typeBinary
	typeUtf8
	typeBool
	typeDecimal
	typeDate
	typeTime
	typeTimestamp
	typeInterval
	typeList
	typeStruct
	typeUnion
	typeFixedSizeBinary
	typeFixedSizeList
	typeMap
	typeDuration
	typeLargeBinary
	typeLargeUtf8
	typeLargeList
	typeRunEndEncoded
	typeBinaryView
	typeUtf8View
	typeListView
	typeLargeListView
)

// unsupportedTypes names what the format has and this package leaves out.
var unsupportedTypes = map[uint8]string{
	typeUnion: "union", typeRunEndEncoded: "run-end encoding", typeBinaryView: "binary view",
	typeUtf8View: "utf8 view", typeListView: "list view", typeLargeListView: "large list view",
}

// typ returns the type of a field, nil when it cannot be told; the cause is then in r.f.err where it is known.
func (r *schemaReader) typ(field table, number uint8, t table, children []arrow.Field) arrow.DataType {
	if name, ok := unsupportedTypes[number]; ok {
		r.f.unsupported(name, "field %.40q", field.string(0))
		return nil
	}
	want := 0
	switch number {
	case typeList, typeLargeList, typeFixedSizeList, typeMap:
		want = 1
	case typeStruct:
		want = len(children)
	}
	if len(children) != want {
		r.f.damaged(field.pos, "field %.40q of type number %d has %d children, should have %d", field.string(0), number, len(children), want)
		return nil
	}
	if !t.present && number != 0 {
		r.f.damaged(field.pos, "field %.40q has no parameters of its type", field.string(0))
		return nil
	}
	switch number {
	case typeList:
		return arrow.ListOfField(children[0])
	case typeLargeList:
		return arrow.LargeListOfField(children[0])
	case typeStruct:
		return arrow.StructOf(children...)
	case typeFixedSizeList:
		return r.fixedSizeList(t, children[0])
	case typeMap:
		return r.mapType(t, children[0])
	}
	if typ := r.leaf(number, t); typ != nil {
		return typ
	}
	r.f.damaged(field.pos, "field %.40q of type number %d has a parameter that is not known", field.string(0), number)
	return nil
}

func (r *schemaReader) fixedSizeList(t table, child arrow.Field) arrow.DataType {
	n := t.int32(0, 0)
	switch {
	case n == 0:
		r.f.unsupported("fixed-size list of size 0", "")
	case n < 0:
		r.f.damaged(t.pos, "a fixed-size list of size %d", n)
	default:
		return arrow.FixedSizeListOfField(n, child)
	}
	return nil
}

// mapType returns a map of the entries' two fields. Their names are not kept: the type has none.
func (r *schemaReader) mapType(t table, entries arrow.Field) arrow.DataType {
	s, ok := entries.Type.(*arrow.StructType)
	if !ok || s.NumFields() != 2 {
		r.f.damaged(t.pos, "the entries of a map are of type %.80s, should be a struct of two fields", entries.Type)
		return nil
	}
	key, item := s.Field(0), s.Field(1)
	m := arrow.MapOfWithMetadata(key.Type, key.Metadata, item.Type, item.Metadata)
	m.KeysSorted = t.bool(0)
	m.SetItemNullable(item.Nullable)
	return m
}

// leaf returns a type without children, nil when a parameter is out of range.
func (r *schemaReader) leaf(number uint8, t table) arrow.DataType {
	unit := t.int16(0, 0)
	switch number {
	case typeNull:
		return arrow.Null
	case typeInt:
		return integerType(t)
	case typeFloatingPoint:
		return pick(unit, arrow.DataType(arrow.FixedWidthTypes.Float16), arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Float64)
	case typeBinary:
		return arrow.BinaryTypes.Binary
	case typeUtf8:
		return arrow.BinaryTypes.String
	case typeLargeBinary:
		return arrow.BinaryTypes.LargeBinary
	case typeLargeUtf8:
		return arrow.BinaryTypes.LargeString
	case typeBool:
		return arrow.FixedWidthTypes.Boolean
	case typeDecimal:
		return r.decimal(t)
	case typeDate:
		return pick(t.int16(0, 1), arrow.DataType(arrow.FixedWidthTypes.Date32), arrow.FixedWidthTypes.Date64)
	case typeTime:
		return timeType(t)
	case typeTimestamp:
		if unit >= 0 && unit <= 3 {
			return &arrow.TimestampType{Unit: arrow.TimeUnit(unit), TimeZone: t.string(1)}
		}
	case typeInterval:
		return pick(unit, arrow.DataType(arrow.FixedWidthTypes.MonthInterval), arrow.FixedWidthTypes.DayTimeInterval, arrow.FixedWidthTypes.MonthDayNanoInterval)
	case typeDuration:
		if unit = t.int16(0, 1); unit >= 0 && unit <= 3 {
			return &arrow.DurationType{Unit: arrow.TimeUnit(unit)}
		}
	case typeFixedSizeBinary:
		if width := t.int32(0, 0); width >= 0 {
			return &arrow.FixedSizeBinaryType{ByteWidth: int(width)}
		}
	}
	return nil
}

// pick returns choice i, nil when there is none.
func pick(i int16, choices ...arrow.DataType) arrow.DataType {
	if i < 0 || int(i) >= len(choices) {
		return nil
	}
	return choices[i]
}

func integerType(t table) arrow.DataType {
	signed := t.bool(1)
	choose := func(s, u arrow.DataType) arrow.DataType {
		if signed {
			return s
		}
		return u
	}
	p := arrow.PrimitiveTypes
	switch t.int32(0, 0) {
	case 8:
		return choose(p.Int8, p.Uint8)
	case 16:
		return choose(p.Int16, p.Uint16)
	case 32:
		return choose(p.Int32, p.Uint32)
	case 64:
		return choose(p.Int64, p.Uint64)
	}
	return nil
}

// timeType returns time32 for s and ms, time64 for us and ns; any other pair of unit and width is nil.
func timeType(t table) arrow.DataType {
	unit, bits := t.int16(0, 1), t.int32(1, 32)
	switch {
	case bits == 32 && (unit == 0 || unit == 1):
		return &arrow.Time32Type{Unit: arrow.TimeUnit(unit)}
	case bits == 64 && (unit == 2 || unit == 3):
		return &arrow.Time64Type{Unit: arrow.TimeUnit(unit)}
	}
	return nil
}

func (r *schemaReader) decimal(t table) arrow.DataType {
	precision, scale := t.int32(0, 0), t.int32(1, 0)
	switch bits := t.int32(2, 128); {
	case bits == 128 && precision >= 1 && precision <= 38:
		return &arrow.Decimal128Type{Precision: precision, Scale: scale}
	case bits == 256 && precision >= 1 && precision <= 76:
		return &arrow.Decimal256Type{Precision: precision, Scale: scale}
	case bits == 32 || bits == 64:
		r.f.unsupported("small decimal", "%d bits", bits)
	}
	return nil
}
