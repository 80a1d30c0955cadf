package owners

import (
	"context"
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

// digits returns n numbers below 2^20 that follow from a text.
func digits(n int, text []byte) []float64 {
	hash, d := sha256.Sum256(text), make([]float64, n)
	for i := range d {
		d[i] = float64(binary.LittleEndian.Uint32(hash[4*i:]) >> 12)
	}
	return d
}

// alike reports whether the numbers behind a sum and a sum of squares are the same at n nodes: by Cauchy and
// Schwarz, n times the sum of squares is the square of the sum then, and larger otherwise.
func alike(n, sum, squares float64) bool { return n*squares == sum*sum }

// Settings lists the options, and the names and kinds of the columns of a table. All nodes must have the
// same; whoever calls Train compares them before.
func Settings(t *dataset.Table, c *Config) []wire.Setting {
	list := []wire.Setting{{Name: "target", Value: c.TargetColumn}, {Name: "task", Value: c.TaskColumn}}
	for _, o := range []struct {
		name  string
		value any
	}{{"folds", c.Folds}, {"seed", c.Seed}, {"rank", c.Rank}, {"ridges", c.Ridges}, {"differential privacy", c.Private}} {
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

// bucket is the place of a text in one of a series of tables.
func bucket(table int, text string, of int) int {
	hash := sha256.Sum256(fmt.Appendf(nil, "%d %s", table, text))
	return int(binary.LittleEndian.Uint64(hash[:]) % uint64(of))
}

const (
	leastBuckets, mostBuckets = 1 << 7, 1 << 18
	// Texts that share their buckets in so many tables are the same.
	tables = 16
)

// buckets returns the size of a table of so many texts.
func buckets(texts float64) int {
	b := leastBuckets
	for b < mostBuckets && float64(b) < 4*texts {
		b *= 2
	}
	return b
}

// sieve sorts the texts of all nodes into the buckets of a table, by a hash. To a bucket a node adds numbers
// of each of its texts; a bucket whose totals clash has several texts, which enter the next table. visit,
// unless it is nil, is called for every bucket in the order of the tables with its totals and, where a node
// of this process has it, its text. sieve returns the number of texts, and those that clash in the last
// table.
func (g *group) sieve(ctx context.Context, own [][]string, width int, add func(v []float64, text string),
	clash func(v []float64) bool, visit func(v []float64, text string)) (int, [][]string, error) {
	count := g.zeros(1)
	for i, texts := range own {
		count[i][0] = float64(len(texts))
	}
	total, err := g.sum(ctx, count)
	if err != nil {
		return 0, nil, err
	}
	n, left := buckets(total[0]), slices.Clone(own)
	for table := range tables {
		z, known := g.zeros(width*n), make(map[int]string)
		for i, texts := range left {
			for _, text := range texts {
				b := bucket(table, text, n)
				known[b] = text
				add(z[i][width*b:][:width], text)
			}
		}
		sum, err := g.sum(ctx, z)
		if err != nil {
			return 0, nil, err
		}
		clashes := make(map[int]bool)
		for b := range n {
			if v := sum[width*b:][:width]; clash(v) {
				clashes[b] = true
			} else if visit != nil {
				visit(v, known[b])
			}
		}
		if len(clashes) == 0 {
			return int(total[0]), nil, nil
		}
		for i := range left {
			left[i] = slices.DeleteFunc(slices.Clone(left[i]), func(text string) bool { return !clashes[bucket(table, text, n)] })
		}
	}
	return int(total[0]), left, nil
}

// distinct stops all nodes if two of them have a task of one name, and returns the number of tasks. The nodes
// count how many of them have a name in a bucket.
func (g *group) distinct(ctx context.Context, names [][]string) (int, error) {
	tasks, left, err := g.sieve(ctx, names, 1, func(v []float64, _ string) { v[0] = 1 }, func(v []float64) bool { return v[0] > 1 }, nil)
	if err != nil || left == nil {
		return tasks, err
	}
	var own error
	for _, list := range left {
		if len(list) > 0 {
			own = &Error{fmt.Errorf("task %q is at another node too: a task lives at one node", list[0]), "two nodes have a task of the same name"}
		}
	}
	if err := g.check(ctx, own); err != nil {
		return 0, err
	}
	return 0, errUneven("names of tasks")
}

// union returns the different texts that the nodes have, in the same order at all nodes. The ones that no
// node of this process has are empty. To a bucket a node adds 1 and a fingerprint of its text with its
// square.
func (g *group) union(ctx context.Context, own [][]string) (list []string, err error) {
	_, left, err := g.sieve(ctx, own, 3, func(v []float64, text string) {
		d := digits(1, []byte(text))[0]
		floats.Add(v, []float64{1, d, d * d})
	}, func(v []float64) bool {
		return v[0] > 0 && !alike(v[0], v[1], v[2])
	}, func(v []float64, text string) {
		if v[0] > 0 {
			list = append(list, text)
		}
	})
	if err == nil && left != nil {
		err = errUneven("levels of columns")
	}
	return list, err
}

// features agrees on the features of all nodes: those of a categorical column are the levels of all nodes.
// Levels that no table of this process has are numbered. In private training levels are public, and settings
// have compared them.
func (s *frame) features(ctx context.Context) error {
	first := s.tables[0].Schema()
	s.schema = &schema.Schema{Columns: first.Columns}
	for _, column := range first.Columns {
		levels, coded := first.Levels(column)
		if coded && s.c.Private == nil {
			var own [][]string
			for _, t := range s.tables {
				texts, _ := t.Schema().Levels(column)
				own = append(own, texts)
			}
			var err error
			if levels, err = s.union(ctx, own); err != nil {
				return err
			}
			for k, text := range levels {
				if text == "" {
					levels[k] = fmt.Sprintf("(level %d, of other owners)", k+1)
				}
			}
		}
		for range max(len(levels), 1) {
			s.level = append(s.level, coded)
		}
		if coded {
			s.schema.Categories = append(s.schema.Categories, schema.Category{Column: column, Levels: levels})
		}
	}
	for _, t := range s.tables {
		var own []int
		for _, name := range s.schema.Features() {
			own = append(own, slices.Index(t.Features(), name))
		}
		s.maps = append(s.maps, own)
	}
	return nil
}
