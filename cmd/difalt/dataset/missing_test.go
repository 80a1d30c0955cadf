package dataset_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/dataset"
)

// TestRefuseMissing checks that a table with gaps is refused by an error that can be
// told from others and counts them by column.
func TestRefuseMissing(t *testing.T) {
	o := dataset.TableOptions{Task: "task", Target: "y"}
	_, err := dataset.ReadCSV(strings.NewReader("task,y,a,b\n1,2,NA,4\n1,2,3,\n1,,null,5\n"), o)
	if !errors.Is(err, dataset.ErrMissing) {
		t.Fatalf("got %v, want ErrMissing", err)
	}
	for _, part := range []string{`1 in column "y" (first on line 4)`, `2 in column "a" (first on line 2)`, `1 in column "b" (first on line 3)`} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%v: want %s in it", err, part)
		}
	}
	if _, err := dataset.ReadCSV(strings.NewReader("task,y,a\n1,2,x\n"), o); err == nil || errors.Is(err, dataset.ErrMissing) {
		t.Errorf("a cell that is no number: got %v, want another error", err)
	}
}
