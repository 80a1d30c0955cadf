package place

import (
	"errors"
	"testing"
)

// The text of an error names the file; only the errors of one file have it as a value.
func TestFiles(t *testing.T) {
	fault := errors.New("a fault")
	for _, c := range []struct {
		err        error
		text, file string
	}{
		{In("a", fault), "a fault", "a"},
		{Named("a", fault), "a: a fault", "a"},
		{NamedAll([]string{"a"}, fault), "a: a fault", "a"},
		{NamedAll([]string{"a", "b"}, fault), "a, b: a fault", ""},
	} {
		at, _ := errors.AsType[*Error](c.err)
		if c.err.Error() != c.text || !errors.Is(c.err, fault) || at == nil && c.file != "" ||
			at != nil && at.File != c.file {
			t.Errorf("%v, %+v: want %s in file %q", c.err, at, c.text, c.file)
		}
	}
	if err := errors.Join(In("a", nil), Named("a", nil), NamedAll([]string{"a", "b"}, nil)); err != nil {
		t.Error(err)
	}
}
