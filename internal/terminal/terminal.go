// Package terminal writes for people who watch: lines that fit into their terminal, and how far
// work is.
package terminal

import (
	"fmt"
	"io"
	"os"

	"github.com/difalt/difalt/internal/text"
	"golang.org/x/term"
)

// Is reports whether w is a terminal.
func Is(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Size returns the size of the terminal that w, or a writer behind it, writes to; zeros if there
// is none or its size is not known.
func Size(w io.Writer) (columns, rows int) {
	if outer, ok := w.(interface{ Behind() io.Writer }); ok {
		w = outer.Behind()
	}
	f, ok := w.(*os.File)
	if !ok {
		return 0, 0
	}
	columns, rows, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0, 0
	}
	return columns, rows
}

func width(w io.Writer) int {
	columns, _ := Size(w)
	return columns
}

// Sayf prints a sentence in lines that fit into the terminal, and into 80 columns.
func Sayf(w io.Writer, format string, args ...any) {
	columns := 80
	if n := width(w); n >= 20 {
		columns = min(n, columns)
	}
	fmt.Fprintln(w, text.Wrap(fmt.Sprintf(format, args...), columns))
}
