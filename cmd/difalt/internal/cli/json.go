package cli

import (
	"encoding/json"
	"io"
	"math"
	"reflect"
	"slices"
	"strings"
)

// writeJSON writes a value, a struct or a pointer to one. An object has the fields with a tag in the order of
// the struct, where the fields of an embedded struct belong to the outer one. Numbers that JSON does not
// have, NaN and infinities, are null. Nil slices and maps are empty.
func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(plain(reflect.ValueOf(v)))
}

// plain returns a value for package json.
func plain(v reflect.Value) any {
	switch v.Kind() {
	case reflect.Float64:
		if math.IsNaN(v.Float()) || math.IsInf(v.Float(), 0) {
			return nil
		}
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return plain(v.Elem())
	case reflect.Slice:
		list := make([]any, v.Len())
		for i := range list {
			list[i] = plain(v.Index(i))
		}
		return list
	case reflect.Map:
		if v.IsNil() {
			return struct{}{}
		}
	case reflect.Struct:
		return objectOf(v)
	}
	return v.Interface()
}

// An object is the fields of an object of JSON, in order.
type object []field

type field struct {
	name  string
	value any
}

// objectOf returns the fields of a struct that have a tag.
func objectOf(v reflect.Value) (o object) {
	for _, f := range reflect.VisibleFields(v.Type()) {
		name, option, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		value := v.FieldByIndex(f.Index)
		isEmpty := value.IsZero() || slices.Contains([]reflect.Kind{reflect.Slice, reflect.Map}, value.Kind()) &&
			value.Len() == 0
		if option != "omitempty" || !isEmpty {
			o = append(o, field{name, plain(value)})
		}
	}
	return o
}

// MarshalJSON implements json.Marshaler.
func (o object) MarshalJSON() ([]byte, error) {
	text := []byte{'{'}
	for i, m := range o {
		if i > 0 {
			text = append(text, ',')
		}
		for _, part := range []any{m.name, m.value} {
			content, err := json.Marshal(part)
			if err != nil {
				return nil, err
			}
			text = append(append(text, content...), ':')
		}
		text = text[:len(text)-1] // of the value
	}
	return append(text, '}'), nil
}
