package status

import (
	"encoding/json"
	"fmt"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// MarshalJSON is the run with every number of the wire's Stats under its name there, zeros too. Sessions are text, as in logs: they
// have more digits than many readers of JSON keep.
func (r Run) MarshalJSON() ([]byte, error) {
	out := map[string]any{"run": r.Name, "id": r.ID}
	if r.Stats != nil {
		out["stats"] = plain(r.Stats.ProtoReflect())
	}
	if r.Err != nil {
		out["error"] = r.Err.Error()
	}
	return json.Marshal(out)
}

func plain(m protoreflect.Message) map[string]any {
	out := map[string]any{}
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		field := fields.Get(i)
		if field.Message() != nil && !field.IsList() && !field.IsMap() && !m.Has(field) {
			continue // was not asked for
		}
		value := m.Get(field)
		switch {
		case field.IsList():
			all := []any{}
			for j := range value.List().Len() {
				all = append(all, one(field, value.List().Get(j)))
			}
			out[string(field.Name())] = all
		case field.IsMap():
			all := map[string]any{}
			value.Map().Range(func(key protoreflect.MapKey, v protoreflect.Value) bool {
				all[key.String()] = one(field.MapValue(), v)
				return true
			})
			out[string(field.Name())] = all
		default:
			out[string(field.Name())] = one(field, value)
		}
	}
	return out
}

func one(field protoreflect.FieldDescriptor, value protoreflect.Value) any {
	switch field.Kind() {
	case protoreflect.MessageKind:
		return plain(value.Message())
	case protoreflect.Fixed64Kind:
		return fmt.Sprintf("%016x", value.Uint())
	default:
		return value.Interface()
	}
}
