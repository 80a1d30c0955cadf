package model

import (
	"bytes"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/internal/npz"
)

// A model that loads must predict and be written again.
func FuzzLoad(f *testing.F) {
	for _, m := range []*Model{testModel(f), averaged(f)} {
		var buf bytes.Buffer
		if err := m.Write(&buf); err != nil {
			f.Fatal(err)
		}
		f.Add(buf.Bytes())
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := npz.NewReader(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		m, err := read(r)
		if err != nil {
			return
		}
		if _, err := m.Predict(m.Tasks()[0], make([]float64, len(m.Features()))); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := m.Write(&out); err != nil {
			t.Fatal(err)
		}
	})
}
