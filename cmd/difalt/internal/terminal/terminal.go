// Package terminal writes sentences in lines, and the progress of a command.
package terminal

import (
	"fmt"
	"io"

	"github.com/difalt/difalt/cmd/difalt/internal/text"
)

// Sayf prints a sentence in lines of at most 80 columns.
func Sayf(w io.Writer, format string, args ...any) {
	fmt.Fprintln(w, text.Wrap(fmt.Sprintf(format, args...), 80))
}
