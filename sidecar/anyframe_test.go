package sidecar

import (
	"math"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"pgregory.net/rapid"
)

// anyMessage draws a message of any content that the wire can carry. Numbers and words are often ones that mean something, so that what
// is nonsense gets past the first check, and parts and numbers are often such as were heard before.
type anyMessage struct {
	t     *rapid.T
	heard *heard
}

// heard is what a peer has said, to be said back out of place.
type heard struct {
	parts   map[protoreflect.FullName][]proto.Message
	numbers []uint64
}

const remembered = 16 // of each kind

func (h *heard) hear(m protoreflect.Message) {
	name := m.Descriptor().FullName()
	if parts := h.parts[name]; len(parts) < remembered {
		h.parts[name] = append(parts, m.Interface())
	} else {
		copy(parts, parts[1:])
		parts[remembered-1] = m.Interface()
	}
	for _, field := range present(m) {
		switch value := m.Get(field); {
		case field.IsMap():
		case field.IsList() && field.Message() != nil:
			for i := range value.List().Len() {
				h.hear(value.List().Get(i).Message())
			}
		case field.IsList():
		case field.Message() != nil:
			h.hear(value.Message())
		case field.Kind() == protoreflect.Uint64Kind || field.Kind() == protoreflect.Fixed64Kind:
			if h.numbers = append(h.numbers, value.Uint()); len(h.numbers) > remembered {
				h.numbers = h.numbers[1:]
			}
		}
	}
}

// present are the fields that a message has, in order: Range gives them in none, and a test must be repeatable.
func present(m protoreflect.Message) []protoreflect.FieldDescriptor {
	var fields []protoreflect.FieldDescriptor
	for i := range m.Descriptor().Fields().Len() {
		if field := m.Descriptor().Fields().Get(i); m.Has(field) {
			fields = append(fields, field)
		}
	}
	return fields
}

var telling = []uint64{0, 1, 2, 3, 4, 7, 8, 64, 11, 12, 13, 1 << 20, math.MaxInt32, math.MaxUint32, math.MaxInt64, math.MaxUint64}

var words = []string{"", "success", "failure", "retry", "discard", "trainer", "critic", "here", "there", "judge", "fifo", "none", "\x00", "none such", testRun.GetToken()}

func (a anyMessage) fill(m protoreflect.Message, depth int) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		field := fields.Get(i)
		if field.ContainingOneof() != nil && !field.HasOptionalKeyword() {
			continue
		}
		if rapid.IntRange(0, 3).Draw(a.t, "leaves out") > 0 {
			a.set(m, field, depth)
		}
	}
	for i := range m.Descriptor().Oneofs().Len() {
		if one := m.Descriptor().Oneofs().Get(i); !one.IsSynthetic() {
			a.set(m, one.Fields().Get(rapid.IntRange(0, one.Fields().Len()-1).Draw(a.t, "body")), depth)
		}
	}
}

// spoil changes one thing in a message, at any depth.
func (a anyMessage) spoil(m protoreflect.Message) {
	fields := present(m)
	if len(fields) == 0 {
		a.fill(m, 2)
		return
	}
	field := rapid.SampledFrom(fields).Draw(a.t, "spoiled")
	deeper := rapid.IntRange(0, 3).Draw(a.t, "deeper") > 0
	switch {
	case deeper && field.IsList() && field.Message() != nil:
		list := m.Mutable(field).List()
		a.spoil(list.Get(rapid.IntRange(0, list.Len()-1).Draw(a.t, "element")).Message())
	case deeper && field.Message() != nil && !field.IsMap():
		a.spoil(m.Mutable(field).Message())
	case rapid.Bool().Draw(a.t, "cleared"):
		m.Clear(field)
	default:
		a.set(m, field, 2)
	}
}

func (a anyMessage) set(m protoreflect.Message, field protoreflect.FieldDescriptor, depth int) {
	switch {
	case field.IsMap():
		for range rapid.IntRange(0, 2).Draw(a.t, "entries") {
			entries := m.Mutable(field).Map()
			if field.MapValue().Message() != nil {
				entries.Set(a.value(field.MapKey()).MapKey(), a.message(entries.NewValue(), field.MapValue(), depth))
			} else {
				entries.Set(a.value(field.MapKey()).MapKey(), a.value(field.MapValue()))
			}
		}
	case field.IsList():
		list := m.Mutable(field).List()
		for range rapid.IntRange(0, 3).Draw(a.t, "elements") {
			if field.Message() != nil {
				list.Append(a.message(list.NewElement(), field, depth))
			} else {
				list.Append(a.value(field))
			}
		}
	case field.Message() != nil:
		m.Set(field, a.message(m.NewField(field), field, depth))
	default:
		m.Set(field, a.value(field))
	}
}

func (a anyMessage) message(empty protoreflect.Value, field protoreflect.FieldDescriptor, depth int) protoreflect.Value {
	if parts := a.heard.parts[field.Message().FullName()]; len(parts) > 0 && rapid.Bool().Draw(a.t, "heard") {
		return protoreflect.ValueOfMessage(proto.Clone(rapid.SampledFrom(parts).Draw(a.t, "part")).ProtoReflect())
	}
	if depth > 0 {
		a.fill(empty.Message(), depth-1)
	}
	return empty
}

func (a anyMessage) number() uint64 {
	if len(a.heard.numbers) > 0 && rapid.Bool().Draw(a.t, "heard") {
		return rapid.SampledFrom(a.heard.numbers).Draw(a.t, "number")
	}
	return rapid.SampledFrom(telling).Draw(a.t, "number")
}

func (a anyMessage) value(field protoreflect.FieldDescriptor) protoreflect.Value {
	switch field.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(rapid.Bool().Draw(a.t, "bool"))
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		n := int64(a.number())
		if rapid.IntRange(0, 4).Draw(a.t, "negative") == 0 {
			n = -n
		}
		return protoreflect.ValueOfInt64(n)
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return protoreflect.ValueOfInt32(int32(a.number()))
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return protoreflect.ValueOfUint32(uint32(a.number()))
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return protoreflect.ValueOfUint64(a.number())
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(rapid.SampledFrom([]float64{0, 0.5, 1, -1, math.NaN(), math.Inf(1), math.MaxFloat64}).Draw(a.t, "float"))
	case protoreflect.FloatKind:
		return protoreflect.ValueOfFloat32(rapid.SampledFrom([]float32{0, 0.5, -1, float32(math.NaN())}).Draw(a.t, "float"))
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(rapid.SampledFrom(words).Draw(a.t, "word"))
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes(make([]byte, rapid.SampledFrom([]int{0, 1, 16, 32, 40}).Draw(a.t, "bytes")))
	default:
		panic("a kind that the wire does not use: " + field.Kind().String())
	}
}
