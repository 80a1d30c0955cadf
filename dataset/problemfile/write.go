package problemfile

import (
	"errors"
	"fmt"
	"io"

	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/internal/atomicfile"
	"github.com/difalt/difalt/internal/npz"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/topology"
)

// Write writes a problem of which all nodes live in this process, and the
// weights of its network unless they are nil, as a file that Read reads.
// Tasks are numbered node by node. The file takes its name when it is complete.
func Write(path string, p *difalt.Problem, w *topology.Weights) error {
	if p == nil || len(p.Nodes) == 0 {
		return errors.New("the problem has no nodes")
	}
	if w != nil && w.Len() != len(p.Nodes) {
		return fmt.Errorf("the problem has %d nodes, the weights %d", len(p.Nodes), w.Len())
	}
	f, err := atomicfile.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := write(f, p, w); err != nil {
		return err
	}
	return f.Commit()
}

func write(out io.Writer, p *difalt.Problem, weights *topology.Weights) error {
	w := npz.NewWriter(out)
	writeSamples(w, p.Nodes)
	if weights != nil {
		l := weights.Len()
		w.Floats("weights", []int{l, l}, false, func(put func(float64)) {
			for i := range l {
				for j := range l {
					put(weights.At(i, j))
				}
			}
		})
	}
	if p.U0 != nil {
		writeBases(w, "U0", true, p.U0...)
	}
	if p.Start != nil {
		writeBases(w, "Ustart", false, p.Start)
	}
	if p.Truth != nil {
		writeBases(w, "Ustar", false, p.Truth)
	}
	return w.Close()
}

func writeSamples(w *npz.Writer, nodes []*kernel.Tasks) {
	var task, node []int
	var y []float64
	single := true
	for g, tasks := range nodes {
		single = single && tasks.Storage() == kernel.Float32
		for t := range tasks.Len() {
			for range tasks.Samples(t) {
				task = append(task, len(node))
			}
			y = append(y, tasks.Y(t)...)
			node = append(node, g)
		}
	}
	d := nodes[0].Features()
	w.Floats("X", []int{len(y), d}, single, func(put func(float64)) {
		row := make([]float64, d)
		for _, tasks := range nodes {
			for t := range tasks.Len() {
				for i := range tasks.Samples(t) {
					for _, v := range tasks.Row(row, t, i) {
						put(v)
					}
				}
			}
		}
	})
	w.Float64s("y", []int{len(y)}, y)
	w.Ints("task", task)
	w.Ints("node", node)
}

// writeBases writes one basis as d x r, or several as L x d x r if stacked.
func writeBases(w *npz.Writer, name string, stacked bool, u ...*kernel.Basis) {
	d, r := u[0].Dims()
	shape := []int{d, r}
	if stacked {
		shape = []int{len(u), d, r}
	}
	w.Floats(name, shape, false, func(put func(float64)) {
		for _, b := range u {
			for i := range d {
				for j := range r {
					put(b.At(i, j))
				}
			}
		}
	})
}
