package arrowio

import (
	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
)

// rare writes a value that is not null, of a type that value leaves to it.
func (t *columnText) rare(a arrow.Array, i int) {
	switch a := a.(type) {
	case *array.Date32:
		t.int(int64(a.Value(i)))
	case *array.Date64:
		t.int(int64(a.Value(i)))
	case *array.Time32:
		t.int(int64(a.Value(i)))
	case *array.Time64:
		t.int(int64(a.Value(i)))
	case *array.Timestamp:
		t.int(int64(a.Value(i)))
	case *array.Duration:
		t.int(int64(a.Value(i)))
	case *array.Decimal128:
		t.string(a.Value(i).BigInt().String())
	case *array.Decimal256:
		t.string(a.Value(i).BigInt().String())
	case *array.MonthInterval:
		t.int(int64(a.Value(i)))
	case *array.DayTimeInterval:
		v := a.Value(i)
		t.tuple(int64(v.Days), int64(v.Milliseconds))
	case *array.MonthDayNanoInterval:
		v := a.Value(i)
		t.tuple(int64(v.Months), int64(v.Days), v.Nanoseconds)
	case *array.Map: // before ListLike, which it is too: its entries are structs
		from, to := a.ValueOffsets(i)
		t.list(a.ListValues(), from, to)
	case *array.Struct:
		t.string("{")
		for k := range a.NumField() {
			if k > 0 {
				t.string(",")
			}
			t.value(a.Field(k), i)
		}
		t.string("}")
	case *array.Dictionary:
		t.value(a.Dictionary(), a.GetValueIndex(i))
	case array.ExtensionArray:
		t.value(a.Storage(), i)
	case array.ListLike:
		from, to := a.ValueOffsets(i)
		t.list(a.ListValues(), from, to)
	default:
		t.string("?")
	}
}
