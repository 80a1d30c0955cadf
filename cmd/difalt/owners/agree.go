package owners

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/difalt/difalt/cmd/difalt/dataset"
	"github.com/difalt/difalt/cmd/difalt/dataset/schema"
	"github.com/difalt/difalt/consensus/wire"
	"gonum.org/v1/gonum/floats"
)

// Settings lists the options, and the names and kinds of the columns of a table. All nodes must have the
// same; whoever calls Train compares them before.
func Settings(t *dataset.Table, c *Config) []wire.Setting {
	list := []wire.Setting{{Name: "target", Value: c.TargetColumn}, {Name: "task", Value: c.TaskColumn}}
	for _, o := range []struct {
		name  string
		value any
	}{{"seed", c.Seed}, {"rank", c.Rank}, {"ridges", c.Ridges}, {"differential privacy", c.Private}} {
		text, _ := json.Marshal(o.value) // numbers
		list = append(list, wire.Setting{Name: o.name, Value: string(text)})
	}
	for k, name := range t.Schema().Columns {
		kind := "numbers"
		if levels, coded := t.Schema().Levels(name); coded {
			if kind = "levels"; c.Private != nil { // which are public then, and the same
				text, _ := json.Marshal(levels)
				kind += fmt.Sprintf(" of digest %.8x", sha256.Sum256(text))
			}
		}
		list = append(list, wire.Setting{Name: fmt.Sprintf("column %d", k+1), Value: name})
		list = append(list, wire.Setting{Name: "kind of column " + name, Value: kind})
	}
	return list
}

// hash returns a number below n that follows from a text and the number of a table.
func hash(table int, text string, n int) int {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s", table, text))
	return int(binary.LittleEndian.Uint64(sum[:]) % uint64(n))
}

const (
	leastBuckets, mostBuckets = 1 << 7, 1 << 18
	// No level shares its bucket with another one in this number of tables in a row.
	tables = 16
)

// union returns the different levels of a column that the nodes have, in the same order at all nodes. Those
// that no table of this process has are numbered. The nodes sort their levels into the buckets of a table,
// by a hash. To a bucket a node adds 1, a fingerprint of its level and the square of that; levels that share
// a bucket with others enter the next table.
func (s *frame) union(column string) (list []string) {
	left := make([][]string, len(s.nodes))
	count := s.sum(1, func(i int, out []float64) {
		left[i], _ = s.nodes[i].table.Schema().Levels(column)
		out[0] = float64(len(left[i]))
	})
	size := leastBuckets
	for size < mostBuckets && float64(size) < 4*count[0] {
		size *= 2
	}
	for table := range tables {
		known := make(map[int]string)
		sum := s.sum(3*size, func(i int, out []float64) {
			for _, text := range left[i] {
				b, d := hash(table, text, size), float64(hash(-1, text, 1<<20))
				known[b] = text
				floats.Add(out[3*b:][:3], []float64{1, d, d * d})
			}
		})
		clashes := make(map[int]bool)
		for b := range size {
			// By Cauchy and Schwarz, n times the sum of n squares is the square of the sum if all are the
			// same, and larger otherwise.
			if v := sum[3*b:]; v[0]*v[2] != v[1]*v[1] {
				clashes[b] = true
			} else if v[0] > 0 {
				list = append(list, cmp.Or(known[b], fmt.Sprintf("(level %d, of other owners)", len(list)+1)))
			}
		}
		if len(clashes) == 0 {
			return list
		}
		for i := range left {
			left[i] = slices.DeleteFunc(slices.Clone(left[i]), func(text string) bool { return !clashes[hash(table, text, size)] })
		}
	}
	panic(uneven("levels of columns"))
}

// features agrees on the features of all nodes: those of a categorical column are the levels of all nodes.
// In private training levels are public, and settings have compared them.
func (s *frame) features() {
	first := s.nodes[0].table.Schema()
	s.schema = &schema.Schema{Columns: first.Columns}
	for _, column := range first.Columns {
		levels, coded := first.Levels(column)
		if coded && s.c.Private == nil {
			levels = s.union(column)
		}
		for range max(len(levels), 1) {
			s.level = append(s.level, coded)
		}
		if coded {
			s.schema.Categories = append(s.schema.Categories, schema.Category{Column: column, Levels: levels})
		}
	}
	for _, g := range s.nodes {
		for _, name := range s.schema.Features() {
			g.own = append(g.own, slices.Index(g.table.Features(), name))
		}
	}
}
