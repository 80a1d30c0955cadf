package difalt_test

import (
	"bytes"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/kernel/lsq"
)

// modelFileCases are the cases of TestModelFile.
var modelFileCases = map[string]func(m *difalt.Model){
	"no U": func(m *difalt.Model) { m.U = nil }, "NaN": func(m *difalt.Model) { m.U.Set(1, 1, math.NaN()) },
	"Inf": func(m *difalt.Model) { m.B[3] = math.Inf(1) }, "intercept": func(m *difalt.Model) {
		m.Intercepts[2] = math.NaN()
	},
	"sizes": func(m *difalt.Model) { m.Tasks = m.Tasks[1:] }, "ridge": func(m *difalt.Model) { m.Ridge = -1 },
}

// A model is the same after Save and LoadModel, and what follows it in a stream stays there.
func TestModelFile(t *testing.T) {
	rng := rand.New(rand.NewPCG(125, 126))
	p := draw(t, 2, 9, 4, 12, 2, 2, .01, 1)
	o := difalt.Options{Rank: 2, Method: difalt.Accelerated, EveryIteration: true, Iterations: 3}
	res := run(t, p, network(t, "path", 2, 1), o)
	fit := fitted(t, newTable(rng, 12, 10, 6, 2).tasks(t), difalt.Options{Rank: 2, Ridge: .25})
	empty := *fit
	empty.B, empty.Tasks, empty.Intercepts = []float64{}, []lsq.Status{}, []float64{}
	for name, m := range map[string]*difalt.Model{"fit": fit, "result": res.Model(1, nil), "no tasks": &empty} {
		file, err := saved(m)
		if err != nil {
			t.Fatal(err)
		}
		parts := io.MultiReader(bytes.NewReader(file[:7]), bytes.NewReader(file[7:]))
		for _, r := range []io.Reader{bytes.NewReader(file), parts} {
			got, err := difalt.LoadModel(r)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if again, err := saved(got); err != nil || !bytes.Equal(again, file) {
				t.Errorf("%s: other bytes, %v", name, err)
			}
			want := *m
			if math.IsNaN(want.Residual) && math.IsNaN(got.Residual) { // which nothing equals
				got.Residual, want.Residual = 0, 0
			}
			if !reflect.DeepEqual(got, &want) {
				t.Errorf("%s: %+v, want %+v", name, got, want)
			}
		}
		stream := bytes.NewReader(append(slices.Clone(file), "next"...))
		if _, err := difalt.LoadModel(stream); err != nil || stream.Len() != 4 {
			t.Errorf("%s: %d bytes left of 4, %v", name, stream.Len(), err)
		}
	}
	for name, change := range modelFileCases {
		m, err := difalt.LoadModel(bytes.NewReader(must(saved(fit))))
		if err != nil {
			t.Fatal(err)
		}
		change(m)
		if _, err := saved(m); err == nil || !strings.HasPrefix(err.Error(), "difalt: ") {
			t.Errorf("%s: saved, %v", name, err)
		}
	}
	big := &difalt.Model{U: kernel.NewBasis(2000, 1), B: []float64{1}, Tasks: make([]lsq.Status, 1)}
	for _, m := range []*difalt.Model{fit, big} { // big is longer than a buffer
		size := len(must(saved(m)))
		for _, left := range []int{0, 1, 20, size / 2, size - 1} {
			room := disk(left)
			if err := m.Save(&room); !errors.Is(err, io.ErrShortWrite) {
				t.Errorf("a disk with room for %d of %d bytes: %v", left, size, err)
			}
		}
	}
}
