package consensus

import (
	"reflect"
	"testing"

	"github.com/difalt/difalt/kernel"
)

// TestMessageHoldsNothingPrivate walks all that is reachable from a Message: a
// basis, its dimensions and numbers. Tasks, groups of tasks, functions, interfaces
// or maps, through which samples could travel, must not be.
func TestMessageHoldsNothingPrivate(t *testing.T) {
	allowed := map[reflect.Type]bool{
		reflect.TypeFor[Message]():       true,
		reflect.TypeFor[*kernel.Basis](): true,
		reflect.TypeFor[kernel.Basis]():  true,
		reflect.TypeFor[[]float64]():     true,
		reflect.TypeFor[float64]():       true,
		reflect.TypeFor[int]():           true,
		reflect.TypeFor[Stream]():        true,
	}
	var walk func(path string, x reflect.Type)
	walk = func(path string, x reflect.Type) {
		if !allowed[x] {
			t.Errorf("%s is a %v: it may not leave a node", path, x)
			return
		}
		switch x.Kind() {
		case reflect.Struct:
			for f := range x.NumField() {
				walk(path+"."+x.Field(f).Name, x.Field(f).Type)
			}
		case reflect.Pointer, reflect.Slice:
			walk(path, x.Elem())
		}
	}
	walk("Message", reflect.TypeFor[Message]())
	// The numbers are those of one basis and the scalars.
	m := reflect.TypeFor[Message]()
	if m.NumField() != 3 || m.Field(0).Name != "Basis" || m.Field(1).Name != "Scalars" || m.Field(2).Name != "Stream" {
		t.Errorf("Message has fields other than Basis, Scalars and Stream: %v", m)
	}
}

// TestEntries counts what travels: no padding.
func TestEntries(t *testing.T) {
	for want, m := range map[int]Message{
		0:          {},
		3:          {Scalars: make([]float64, 3)},
		13*2 + 1:   {Basis: kernel.NewBasis(13, 2), Scalars: make([]float64, 1)},
		8 * 5:      {Basis: kernel.NewBasis(8, 5)},
		600*4 + 16: {Basis: kernel.NewBasis(600, 4), Scalars: make([]float64, 16)},
	} {
		if got := m.Entries(); got != want {
			t.Errorf("%d entries, want %d", got, want)
		}
	}
}
