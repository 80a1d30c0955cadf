package problemfile

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/difalt/difalt/cmd/difalt/internal/atomicfile"
	"github.com/difalt/difalt/cmd/difalt/internal/npz"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/topology"
)

// Write writes a problem, all of whose nodes are in this process, and the
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
		w.Rows("weights", []int{l, l}, false, func(dst []float64, i int) {
			for j := range dst {
				dst[j] = weights.At(i, j)
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
	var local, first []int // of every task: its number on its node, and its first row
	var y []float64
	single := true
	for g, tasks := range nodes {
		single = single && tasks.Storage() == kernel.Float32
		for t := range tasks.Len() {
			task = append(task, slices.Repeat([]int{len(node)}, tasks.Samples(t))...)
			node, local, first = append(node, g), append(local, t), append(first, len(y))
			y = append(y, tasks.Y(t)...)
		}
	}
	w.Rows("X", []int{len(y), nodes[0].Features()}, single, func(dst []float64, i int) {
		k := task[i]
		nodes[node[k]].Row(dst, local[k], i-first[k])
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
	w.Rows(name, shape, false, func(dst []float64, i int) {
		for j := range dst {
			dst[j] = u[i/d].At(i%d, j)
		}
	})
}
