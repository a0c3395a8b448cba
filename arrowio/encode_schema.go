package arrowio

import (
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	flatbuffers "github.com/google/flatbuffers/go"
)

// Metadata keys by which an extension type travels with its storage (Arrow specification, "Extension Types").
const (
	extensionName = "ARROW:extension:name"
	extensionData = "ARROW:extension:metadata"
)

// encodeSchema writes the Schema table (Schema.fbs).
func encodeSchema(fb *flatbuffers.Builder, s *arrow.Schema, plans []*plan) flatbuffers.UOffsetT {
	fields := encodeFields(fb, s.Fields(), plans)
	meta := encodeMetadata(fb, s.Metadata().Keys(), s.Metadata().Values())
	fb.StartObject(4)
	fb.PrependUOffsetTSlot(1, fields, 0)
	fb.PrependUOffsetTSlot(2, meta, 0)
	return fb.EndObject()
}

func encodeFields(fb *flatbuffers.Builder, fields []arrow.Field, plans []*plan) flatbuffers.UOffsetT {
	at := make([]flatbuffers.UOffsetT, len(fields))
	for i, f := range fields {
		at[i] = encodeField(fb, f, plans[i])
	}
	return tables(fb, at)
}

// tables writes a vector of tables.
func tables(fb *flatbuffers.Builder, at []flatbuffers.UOffsetT) flatbuffers.UOffsetT {
	fb.StartVector(4, len(at), 4)
	for _, a := range slices.Backward(at) {
		fb.PrependUOffsetT(a)
	}
	return fb.EndVector(len(at))
}

// encodeField writes a Field table: 0 name, 1 nullable, 2 type number, 3 type, 4 dictionary, 5 children, 6 metadata.
// A dictionary-encoded field names the type and the children of the values.
func encodeField(fb *flatbuffers.Builder, f arrow.Field, p *plan) flatbuffers.UOffsetT {
	keys, values := f.Metadata.Keys(), f.Metadata.Values()
	if e, ok := f.Type.(arrow.ExtensionType); ok && f.Metadata.FindKey(extensionName) < 0 {
		keys = append(append([]string(nil), keys...), extensionName, extensionData)
		values = append(append([]string(nil), values...), e.ExtensionName(), e.Serialize())
	}
	var dictionary flatbuffers.UOffsetT
	stored := p
	if p.values != nil {
		stored = p.values
		dictionary = encodeDictionaryEncoding(fb, p)
	}
	var fields []arrow.Field
	if n, ok := stored.typ.(arrow.NestedType); ok {
		fields = n.Fields()
	}
	children := encodeFields(fb, fields, stored.children)
	number, typ := encodeType(fb, stored.typ)
	name := fb.CreateString(f.Name)
	meta := encodeMetadata(fb, keys, values)
	fb.StartObject(7)
	fb.PrependUOffsetTSlot(0, name, 0)
	fb.PrependBoolSlot(1, f.Nullable, false)
	fb.PrependByteSlot(2, number, 0)
	fb.PrependUOffsetTSlot(3, typ, 0)
	fb.PrependUOffsetTSlot(4, dictionary, 0)
	fb.PrependUOffsetTSlot(5, children, 0)
	fb.PrependUOffsetTSlot(6, meta, 0)
	return fb.EndObject()
}

func encodeDictionaryEncoding(fb *flatbuffers.Builder, p *plan) flatbuffers.UOffsetT {
	t := p.typ.(*arrow.DictionaryType)
	_, index := encodeType(fb, t.IndexType)
	fb.StartObject(4)
	fb.PrependInt64Slot(0, p.id, 0)
	fb.PrependUOffsetTSlot(1, index, 0)
	fb.PrependBoolSlot(2, t.Ordered, false)
	return fb.EndObject()
}

// encodeMetadata writes a vector of KeyValue tables, or nothing when there are none.
func encodeMetadata(fb *flatbuffers.Builder, keys, values []string) flatbuffers.UOffsetT {
	if len(keys) == 0 {
		return 0
	}
	at := make([]flatbuffers.UOffsetT, len(keys))
	for i := range keys {
		k, v := fb.CreateString(keys[i]), fb.CreateString(values[i])
		fb.StartObject(2)
		fb.PrependUOffsetTSlot(0, k, 0)
		fb.PrependUOffsetTSlot(1, v, 0)
		at[i] = fb.EndObject()
	}
	return tables(fb, at)
}
