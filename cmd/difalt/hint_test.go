package main

import (
	"fmt"
	"strings"
	"testing"
)

// A hint names a few columns of many, as the flag reads them.
func TestHintNamesFewColumns(t *testing.T) {
	for columns, want := range map[int]string{
		2:   `; use --drop '"a,0",x1'` + "\n",
		500: `and 495 more; use --drop '"a,0",x1,x2,x3,x4,x5,x6,x7,x8,x9',...` + "\n",
	} {
		header := `t,y,"a,0"`
		for i := 1; i < columns; i++ {
			header += fmt.Sprintf(",x%d", i)
		}
		cells := strings.Repeat(",", columns) + "\n"
		table := write(t, t.TempDir(), "t.csv", header+"\n1,2"+cells+"1,3"+cells+"2,3"+cells)
		refuses(t, 1, want, "fit", "--task", "t", "--target", "y", table)
	}
}
