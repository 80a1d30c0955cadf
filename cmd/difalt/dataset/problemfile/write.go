package problemfile

import (
	"slices"

	"github.com/difalt/difalt/cmd/difalt/internal/atomicfile"
	"github.com/difalt/difalt/cmd/difalt/internal/npz"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/topology"
)

// Write writes a problem, all of whose nodes are in this process, and the weights of its network unless they
// are nil, as a file that Read reads. Tasks are numbered node by node. The file takes its name when it is
// complete.
func Write(path string, p *difalt.Problem, weights *topology.Weights) error {
	f, err := atomicfile.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	w := npz.NewWriter(f)
	writeSamples(w, p.Nodes)
	if weights != nil {
		l := weights.Len()
		w.Rows("weights", []int{l, l}, false, func(dst []float64, i int) {
			for j := range dst {
				dst[j] = weights.At(i, j)
			}
		})
	}
	writeBases(w, "U0", p.U0, len(p.U0))
	writeBases(w, "Ustart", []*kernel.Basis{p.Start})
	writeBases(w, "Ustar", []*kernel.Basis{p.Truth})
	if err := w.Close(); err != nil {
		return err
	}
	return f.Commit()
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

// writeBases writes bases, if they are there, as an array of d x r, behind other sizes.
func writeBases(w *npz.Writer, name string, u []*kernel.Basis, sizes ...int) {
	if len(u) == 0 || u[0] == nil {
		return
	}
	d, r := u[0].Dims()
	w.Rows(name, append(sizes, d, r), false, func(dst []float64, i int) {
		for j := range dst {
			dst[j] = u[i/d].At(i%d, j)
		}
	})
}
