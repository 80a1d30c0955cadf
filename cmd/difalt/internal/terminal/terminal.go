// Package terminal writes lines that fit into a terminal, and the progress of a command.
package terminal

import (
	"fmt"
	"io"
	"os"

	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"golang.org/x/term"
)

// Is reports whether w is a terminal.
func Is(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Size returns the size of the terminal of w, or of the writer behind it (method Behind);
// zeros for an unknown size and other writers.
func Size(w io.Writer) (columns, rows int) {
	if outer, ok := w.(interface{ Behind() io.Writer }); ok {
		w = outer.Behind()
	}
	if f, ok := w.(*os.File); ok {
		columns, rows, _ = term.GetSize(int(f.Fd())) // zeros after an error
	}
	return columns, rows
}

// Sayf prints a sentence in lines that fit into the terminal, and into 80 columns.
func Sayf(w io.Writer, format string, args ...any) {
	columns := 80
	if n, _ := Size(w); n >= 20 {
		columns = min(n, columns)
	}
	fmt.Fprintln(w, text.Wrap(fmt.Sprintf(format, args...), columns))
}
