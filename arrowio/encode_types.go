package arrowio

import (
	"github.com/apache/arrow/go/v15/arrow"
	flatbuffers "github.com/google/flatbuffers/go"
)

// encodeType writes the table of a type's parameters and returns the type's number with it. The defaults are
// those of Schema.fbs: a slot that equals its default is left out.
func encodeType(fb *flatbuffers.Builder, t arrow.DataType) (uint8, flatbuffers.UOffsetT) {
	put := func(number uint8, slots int, write func()) (uint8, flatbuffers.UOffsetT) {
		fb.StartObject(slots)
		if write != nil {
			write()
		}
		return number, fb.EndObject()
	}
	unit := func(number uint8, u int16, absent int16) (uint8, flatbuffers.UOffsetT) {
		return put(number, 1, func() { fb.PrependInt16Slot(0, u, absent) })
	}
	decimal := func(precision, scale, bits int32) (uint8, flatbuffers.UOffsetT) {
		return put(typeDecimal, 3, func() {
			fb.PrependInt32Slot(0, precision, 0)
			fb.PrependInt32Slot(1, scale, 0)
			fb.PrependInt32Slot(2, bits, 128)
		})
	}
	time := func(u arrow.TimeUnit, bits int32) (uint8, flatbuffers.UOffsetT) {
		return put(typeTime, 2, func() {
			fb.PrependInt16Slot(0, int16(u), 1)
			fb.PrependInt32Slot(1, bits, 32)
		})
	}
	switch t := t.(type) {
	case *arrow.NullType:
		return put(typeNull, 0, nil)
	case *arrow.BooleanType:
		return put(typeBool, 0, nil)
	case *arrow.Float16Type:
		return unit(typeFloatingPoint, 0, 0)
	case *arrow.Float32Type:
		return unit(typeFloatingPoint, 1, 0)
	case *arrow.Float64Type:
		return unit(typeFloatingPoint, 2, 0)
	case *arrow.BinaryType:
		return put(typeBinary, 0, nil)
	case *arrow.StringType:
		return put(typeUtf8, 0, nil)
	case *arrow.LargeBinaryType:
		return put(typeLargeBinary, 0, nil)
	case *arrow.LargeStringType:
		return put(typeLargeUtf8, 0, nil)
	case *arrow.FixedSizeBinaryType:
		return put(typeFixedSizeBinary, 1, func() { fb.PrependInt32Slot(0, int32(t.ByteWidth), 0) })
	case *arrow.Decimal128Type:
		return decimal(t.Precision, t.Scale, 128)
	case *arrow.Decimal256Type:
		return decimal(t.Precision, t.Scale, 256)
	case *arrow.Date32Type:
		return unit(typeDate, 0, 1)
	case *arrow.Date64Type:
		return unit(typeDate, 1, 1)
	case *arrow.Time32Type:
		return time(t.Unit, 32)
	case *arrow.Time64Type:
		return time(t.Unit, 64)
	case *arrow.TimestampType:
		var zone flatbuffers.UOffsetT
		if t.TimeZone != "" {
			zone = fb.CreateString(t.TimeZone)
		}
		return put(typeTimestamp, 2, func() {
			fb.PrependInt16Slot(0, int16(t.Unit), 0)
			fb.PrependUOffsetTSlot(1, zone, 0)
		})
	case *arrow.DurationType:
		return unit(typeDuration, int16(t.Unit), 1)
	case *arrow.MonthIntervalType:
		return unit(typeInterval, 0, 0)
	case *arrow.DayTimeIntervalType:
		return unit(typeInterval, 1, 0)
	case *arrow.MonthDayNanoIntervalType:
		return unit(typeInterval, 2, 0)
	case *arrow.ListType:
		return put(typeList, 0, nil)
	case *arrow.LargeListType:
		return put(typeLargeList, 0, nil)
	case *arrow.FixedSizeListType:
		return put(typeFixedSizeList, 1, func() { fb.PrependInt32Slot(0, t.Len(), 0) })
	case *arrow.StructType:
		return put(typeStruct, 0, nil)
	case *arrow.MapType:
		return put(typeMap, 1, func() { fb.PrependBoolSlot(0, t.KeysSorted, false) })
	}
	width := int32(t.(arrow.FixedWidthDataType).BitWidth())
	return put(typeInt, 2, func() {
		fb.PrependInt32Slot(0, width, 0)
		fb.PrependBoolSlot(1, arrow.IsSignedInteger(t.ID()), false)
	})
}
