package report

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"reflect"
	"strings"
)

// writeJSON writes a value, with null for numbers that JSON does not have.
func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(nullable{reflect.ValueOf(v)})
}

// A nullable is a value in JSON, with null for numbers that are NaN or infinite. Fields of structs have a tag
// or are left out, those of embedded structs stand beside the others, and nil slices are empty.
type nullable struct{ reflect.Value }

// MarshalJSON implements json.Marshaler.
func (v nullable) MarshalJSON() ([]byte, error) {
	switch v.Kind() {
	case reflect.Float64:
		if math.IsNaN(v.Float()) || math.IsInf(v.Float(), 0) {
			return []byte("null"), nil
		}
	case reflect.Pointer:
		return nullable{v.Elem()}.MarshalJSON()
	case reflect.Slice:
		list := make([]nullable, v.Len())
		for i := range list {
			list[i].Value = v.Index(i)
		}
		return json.Marshal(list)
	case reflect.Struct:
		return v.object()
	}
	return json.Marshal(v.Interface())
}

// object returns a struct.
func (v nullable) object() ([]byte, error) {
	var b bytes.Buffer
	for _, f := range reflect.VisibleFields(v.Type()) {
		name, option, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" || option == "omitempty" && v.FieldByIndex(f.Index).IsZero() {
			continue
		}
		value, err := nullable{v.FieldByIndex(f.Index)}.MarshalJSON()
		if err != nil {
			return nil, err
		}
		b.WriteString(map[bool]string{true: "{", false: ","}[b.Len() == 0] + `"` + name + `":`)
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}
