package dataset

import (
	"strings"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/internal/memory"
)

// TestNoMemory: a table that grows beyond what there is, or that says at once how large it is, is
// an error with both sizes, before the memory is asked for.
func TestNoMemory(t *testing.T) {
	t.Setenv(memory.Variable, "10MB")
	const width = 1000
	c, row := newChunks[float64](width, ""), make([]float64, width)
	var err error
	for err == nil && c.rows < 10_000 {
		err = c.add(row)
	}
	if err == nil || !strings.Contains(err.Error(), "4096 rows of 1000 columns after 512 need at least 33 MB of memory, and 10 MB are available") {
		t.Errorf("after %d rows: %v", c.rows, err)
	}
	for rows, want := range map[int]bool{1000: true, 2000: false} {
		if err := newChunks[float64](width, "").resize(rows); (err == nil) != want {
			t.Errorf("%d rows: %v", rows, err)
		}
	}
	if err := newChunks[float32](width, "").resize(2000); err != nil {
		t.Errorf("2000 rows in float32: %v", err)
	}
}
