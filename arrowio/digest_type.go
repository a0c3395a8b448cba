package arrowio

import (
	"fmt"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"
)

var typeTexts = map[arrow.Type]string{
	arrow.NULL: "null", arrow.BOOL: "bool",
	arrow.INT8: "int8", arrow.INT16: "int16", arrow.INT32: "int32", arrow.INT64: "int64",
	arrow.UINT8: "uint8", arrow.UINT16: "uint16", arrow.UINT32: "uint32", arrow.UINT64: "uint64",
	arrow.FLOAT16: "float16", arrow.FLOAT32: "float32", arrow.FLOAT64: "float64",
	arrow.BINARY: "binary", arrow.STRING: "utf8", arrow.LARGE_BINARY: "large_binary", arrow.LARGE_STRING: "large_utf8",
	arrow.DATE32: "date32", arrow.DATE64: "date64",
	arrow.INTERVAL_MONTHS: "interval[month]", arrow.INTERVAL_DAY_TIME: "interval[day_time]", arrow.INTERVAL_MONTH_DAY_NANO: "interval[month_day_nano]",
}

// TypeText returns the canonical text of a type, as a column digest begins with it:
//
//	int32  utf8  fixed_size_binary[WIDTH]  decimal128(PRECISION,SCALE)  time32[UNIT]  timestamp[UNIT,ZONE]
//	list<T>  large_list<T>  fixed_size_list<T>[SIZE]  map<KEY,ITEM>  struct<NAME:T,NAME:T>  dictionary<INDEX,T>
//
// UNIT is s, ms, us or ns. Names of list items, nullability and metadata are no part of it; an extension type counts as
// its storage. Types that this package leaves out give their arrow name.
func TypeText(t arrow.DataType) string {
	t = storage(t)
	if s, ok := typeTexts[t.ID()]; ok {
		return s
	}
	switch t := t.(type) {
	case *arrow.FixedSizeBinaryType:
		return fmt.Sprintf("fixed_size_binary[%d]", t.ByteWidth)
	case *arrow.Decimal128Type:
		return fmt.Sprintf("decimal128(%d,%d)", t.Precision, t.Scale)
	case *arrow.Decimal256Type:
		return fmt.Sprintf("decimal256(%d,%d)", t.Precision, t.Scale)
	case *arrow.Time32Type:
		return fmt.Sprintf("time32[%s]", t.Unit)
	case *arrow.Time64Type:
		return fmt.Sprintf("time64[%s]", t.Unit)
	case *arrow.DurationType:
		return fmt.Sprintf("duration[%s]", t.Unit)
	case *arrow.TimestampType:
		if t.TimeZone != "" {
			return fmt.Sprintf("timestamp[%s,%s]", t.Unit, t.TimeZone)
		}
		return fmt.Sprintf("timestamp[%s]", t.Unit)
	case *arrow.ListType:
		return "list<" + TypeText(t.Elem()) + ">"
	case *arrow.LargeListType:
		return "large_list<" + TypeText(t.Elem()) + ">"
	case *arrow.FixedSizeListType:
		return fmt.Sprintf("fixed_size_list<%s>[%d]", TypeText(t.Elem()), t.Len())
	case *arrow.MapType:
		return "map<" + TypeText(t.KeyType()) + "," + TypeText(t.ItemType()) + ">"
	case *arrow.DictionaryType:
		return "dictionary<" + TypeText(t.IndexType) + "," + TypeText(t.ValueType) + ">"
	case *arrow.StructType:
		parts := make([]string, t.NumFields())
		for i, f := range t.Fields() {
			parts[i] = f.Name + ":" + TypeText(f.Type)
		}
		return "struct<" + strings.Join(parts, ",") + ">"
	}
	return t.String()
}
