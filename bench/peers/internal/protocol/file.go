// Package protocol is what the peers written in Go share with the driver: the problem
// file and the conversation on standard input and output. Both are described in
// bench/peers/README.md, for peers in other languages.
package protocol

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
)

const magic = "DIFALTB1"

// A Problem is the content of a problem file: Tasks blocks X of n x d samples by
// rows, responses Y, and the basis U (d x r) by rows.
type Problem struct {
	Tasks, N, D, R int
	X, Y, U        []float64
}

// Write writes a problem whose tasks are drawn one at a time by task(t, x, y), so
// that they need not be in memory together.
func Write(path string, tasks, n, d, r int, u []float64, task func(t int, x, y []float64)) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := bufio.NewWriterSize(f, 1<<20)
	if _, err := w.WriteString(magic); err != nil {
		return err
	}
	for _, v := range []int{tasks, n, d, r} {
		if err := binary.Write(w, binary.LittleEndian, int64(v)); err != nil {
			return err
		}
	}
	x := make([]float64, n*d)
	y := make([]float64, tasks*n)
	for t := range tasks {
		task(t, x, y[t*n:][:n])
		if err := writeFloats(w, x); err != nil {
			return err
		}
	}
	if err := writeFloats(w, y); err != nil {
		return err
	}
	if err := writeFloats(w, u); err != nil {
		return err
	}
	return w.Flush()
}

// Read reads a problem file.
func Read(path string) (*Problem, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, 1<<20)
	var head struct {
		Magic       [8]byte
		Tasks, N, D int64
		R           int64
	}
	if err := binary.Read(r, binary.LittleEndian, &head); err != nil || string(head.Magic[:]) != magic {
		return nil, fmt.Errorf("%s is not a problem file", path)
	}
	p := &Problem{Tasks: int(head.Tasks), N: int(head.N), D: int(head.D), R: int(head.R)}
	p.X = make([]float64, p.Tasks*p.N*p.D)
	p.Y = make([]float64, p.Tasks*p.N)
	p.U = make([]float64, p.D*p.R)
	for _, v := range [][]float64{p.X, p.Y, p.U} {
		if err := readFloats(r, v); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	return p, nil
}

// An Answer is the result of an iteration: the gradient (d x r) and the
// coefficients B (tasks x r), both by rows.
type Answer struct{ Grad, B []float64 }

// NewAnswer returns an answer of the problem's size.
func (p *Problem) NewAnswer() *Answer {
	return &Answer{Grad: make([]float64, p.D*p.R), B: make([]float64, p.Tasks*p.R)}
}

// Write writes the answer to a file.
func (a *Answer) Write(path string) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := bufio.NewWriter(f)
	if err := errors.Join(writeFloats(w, a.Grad), writeFloats(w, a.B)); err != nil {
		return err
	}
	return w.Flush()
}

// ReadAnswer reads an answer to a problem of tasks tasks on a d x r basis.
func ReadAnswer(path string, tasks, d, r int) (*Answer, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	a := &Answer{Grad: make([]float64, d*r), B: make([]float64, tasks*r)}
	in := bufio.NewReader(f)
	if err := errors.Join(readFloats(in, a.Grad), readFloats(in, a.B)); err != nil {
		return nil, fmt.Errorf("answer is too short: %w", err)
	}
	if _, err := in.ReadByte(); err != io.EOF {
		return nil, errors.New("answer is too long")
	}
	return a, nil
}

// Distance returns the larger of the relative Frobenius distances of the gradient
// and of B from those of want.
func (a *Answer) Distance(want *Answer) float64 {
	return max(distance(a.Grad, want.Grad), distance(a.B, want.B))
}

func distance(got, want []float64) float64 {
	diff, norm := 0.0, 0.0
	for i, w := range want {
		diff += (got[i] - w) * (got[i] - w)
		norm += w * w
	}
	return math.Sqrt(diff / norm)
}

func writeFloats(w io.Writer, v []float64) error {
	buf := make([]byte, 0, 8*4096)
	for len(v) > 0 {
		n := min(len(v), 4096)
		buf = buf[:0]
		for _, x := range v[:n] {
			buf = binary.LittleEndian.AppendUint64(buf, math.Float64bits(x))
		}
		if _, err := w.Write(buf); err != nil {
			return err
		}
		v = v[n:]
	}
	return nil
}

func readFloats(r io.Reader, v []float64) error {
	buf := make([]byte, 8*4096)
	for len(v) > 0 {
		n := min(len(v), 4096)
		if _, err := io.ReadFull(r, buf[:8*n]); err != nil {
			return err
		}
		for i := range n {
			v[i] = math.Float64frombits(binary.LittleEndian.Uint64(buf[8*i:]))
		}
		v = v[n:]
	}
	return nil
}
