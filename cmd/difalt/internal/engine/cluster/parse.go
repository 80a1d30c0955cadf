package cluster

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/difalt/difalt/cmd/difalt/internal/place"
)

// An EdgeList is pairs of indices of nodes.
type EdgeList [][2]int

// UnmarshalJSON implements json.Unmarshaler. Package json would accept pairs with one index or three.
func (l *EdgeList) UnmarshalJSON(b []byte) error {
	var lists [][]int
	if err := json.Unmarshal(b, &lists); err != nil {
		return errors.New("edges must be a list of pairs of places in the list of nodes, such as [[0, 1], [1, 2]]")
	}
	*l = nil
	for i, list := range lists {
		if len(list) != 2 {
			return fmt.Errorf("edges: edge %d has %d nodes: must have 2", i, len(list))
		}
		*l = append(*l, [2]int(list))
	}
	return nil
}

// A Value is the value of an option as on a command line. In the file it may be a text, a number, true or
// false.
type Value string

// UnmarshalJSON implements json.Unmarshaler.
func (v *Value) UnmarshalJSON(b []byte) error {
	var any any
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if err := d.Decode(&any); err != nil {
		return err
	}
	switch x := any.(type) {
	case string:
		*v = Value(x)
	case json.Number:
		*v = Value(x)
	case bool:
		*v = Value(strconv.FormatBool(x))
	default:
		return fmt.Errorf("the value of an option is %.60s: must be a text, a number, true or false", b)
	}
	return nil
}

// Parse returns the cluster that text describes, or an error that names the field at fault.
func Parse(text []byte) (*Cluster, error) {
	if len(text) > maxSize {
		return nil, fmt.Errorf("more than %d bytes", maxSize)
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff")) // which editors add
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	c := &Cluster{}
	if err := d.Decode(c); err != nil {
		return nil, wrongText(text, err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("not a description of a cluster: something follows it")
	}
	return c, c.Check()
}

// kinds are the words for values of JSON, by the words of package json and of Go.
var kinds = map[string]string{
	"number": "a number", "string": "a text", "array": "a list", "object": "an object", "bool": "true or false",
	"int": "a whole number", "slice": "a list", "struct": "an object", "map": "an object",
}

// wrongText describes an error in reading text, without the words of Go, and with the line where there is
// one.
func wrongText(text []byte, err error) error {
	const what = "not a description of a cluster"
	line := func(offset int64) int { return 1 + bytes.Count(text[:min(int(offset), len(text))], []byte("\n")) }
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		n := line(syntax.Offset)
		return place.OnLine(n, fmt.Errorf("line %d: %s: %w", n, what, err))
	}
	if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		n := line(kind.Offset)
		word, _, _ := strings.Cut(kind.Value, " ")
		found, want := cmp.Or(kinds[word], word), cmp.Or(kinds[kind.Type.Kind().String()], "another value")
		return place.OnLine(n, fmt.Errorf("line %d: %s: %s is %s: must be %s", n, what, cmp.Or(kind.Field, "it"), found,
			want))
	}
	switch err {
	case io.EOF:
		return fmt.Errorf("%s: it is empty", what)
	case io.ErrUnexpectedEOF:
		return fmt.Errorf("%s: it ends too early", what)
	}
	return fmt.Errorf("%s: %s", what, strings.TrimPrefix(err.Error(), "json: "))
}
