//go:build unix

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/difalt/difalt/internal/measure"
)

func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "problem")
	const tasks, n, d, r = 2, 3, 4, 2
	p := measure.NewProblem(measure.Shape{Tasks: tasks, Samples: n, Features: d, Rank: r}, 1)
	want := problem{Tasks: tasks, N: n, D: d, R: r, X: make([]float64, tasks*n*d), Y: make([]float64, tasks*n)}
	for t := range tasks {
		p.Source.Task(t, want.X[t*n*d:][:n*d], want.Y[t*n:][:n])
	}
	for i := range d {
		want.U = append(want.U, p.U.At(i, 0), p.U.At(i, 1))
	}
	if err := writeProblem(path, p); err != nil {
		t.Fatal(err)
	}
	got, err := readProblem(path)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(*got, want) {
		t.Errorf("read %+v, want %+v", *got, want)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// README.md: 8 bytes, four int64, and X, y and U as float64.
	if size := 8 + 4*8 + 8*(tasks*n*d+tasks*n+d*r); len(data) != size {
		t.Errorf("file has %d bytes, want %d", len(data), size)
	}
	for _, bad := range [][]byte{data[:len(data)-1], data[:20], []byte("something else, long enough for a head........")} {
		if err := os.WriteFile(path, bad, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := readProblem(path); err == nil {
			t.Errorf("%d bytes were read as a problem", len(bad))
		}
	}
}

func TestDistance(t *testing.T) {
	want := &answer{Grad: []float64{3, 4}, B: []float64{1}}
	got := &answer{Grad: []float64{3, 4.5}, B: []float64{1}}
	if d := got.distance(want); d != 0.1 {
		t.Errorf("distance %v, want 0.1", d)
	}
}

func TestServe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "answer")
	a := &answer{Grad: make([]float64, 2), B: make([]float64, 1)}
	calls := 0
	iterate := func(a *answer) { calls++; a.B[0] = 7 }
	export := func(a *answer) { a.Grad[1] = 5 }
	var out bytes.Buffer
	if err := serve(strings.NewReader("check "+path+"\nrun 3\n"), &out, "v1", a, iterate, export); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 3 || lines[0] != "ready v1" || lines[1] != "ok" {
		t.Fatalf("said %q, want ready, ok and a time", lines)
	}
	if ms, err := strconv.ParseFloat(lines[2], 64); err != nil || ms < 0 {
		t.Errorf("said %q, want milliseconds", lines[2])
	}
	if calls != 4 {
		t.Errorf("%d iterations, want 4", calls)
	}
	got, err := readAnswer(path, 1, 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	if want := (&answer{Grad: []float64{0, 5}, B: []float64{7}}); !reflect.DeepEqual(got, want) {
		t.Errorf("answer %+v, want %+v", got, want)
	}
	if _, err := readAnswer(path, 1, 1, 1); err == nil {
		t.Error("a long answer was read")
	}
	if err := serve(strings.NewReader("sing\n"), &out, "v1", a, iterate, export); err == nil {
		t.Error("an unknown request was accepted")
	}
}
