package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/difalt/difalt/dataset"
	"github.com/difalt/difalt/dataset/problemfile"
	"github.com/difalt/difalt/internal/options"
	"github.com/difalt/difalt/internal/text"
)

// reportMissing says how many rows were left out, and how many values were filled in.
func reportMissing(w io.Writer, t *dataset.Table) {
	if n := t.Dropped(); n > 0 {
		fmt.Fprintf(w, "%s left out for missing values.\n", text.Plural(n, "row"))
	}
	if s := filled(t); s != "" {
		sayf(w, "%s", s)
	}
}

// filled says in how many rows of a column a mean took the place of a missing value;
// nothing if there are none.
func filled(t *dataset.Table) string {
	const most = 20
	var list []string
	for _, m := range t.Missing() {
		list = append(list, fmt.Sprintf("%d in %q", m.Rows, m.Column))
	}
	if list == nil {
		return ""
	}
	if n := len(list) - most; n > 0 {
		list = append(list[:most], fmt.Sprintf("and in %d more columns", n))
	}
	return fmt.Sprintf("Missing values filled with the mean of the training rows: %s.", strings.Join(list, ", "))
}

// readData reads tables or a problem file, and says on stderr what was assumed about a
// table. Errors about a table name its file.
func readData(ctx context.Context, stderr io.Writer, path string, o dataset.TableOptions) (*problemfile.File, error) {
	return untilCanceled(ctx, func() (*problemfile.File, error) {
		if options.IsProblem(path) {
			return problemfile.ReadOnDisk(path, o.Folder)
		}
		t, err := readFiles(path, o)
		if err != nil {
			return nil, err
		}
		reportAssumed(stderr, t)
		return &problemfile.File{Table: t}, nil
	})
}

// readFiles reads a table, and says which flag helps against missing values.
func readFiles(path string, o dataset.TableOptions) (*dataset.Table, error) {
	t, err := dataset.ReadFiles([]string{path}, o)
	return t, options.WithHint(err)
}

// reportAssumed says in a line for each file, or for several alike, how they were read
// where that is not the plain way.
func reportAssumed(w io.Writer, t *dataset.Table) {
	var order []string
	files := map[string][]string{}
	for _, a := range t.Assumptions() {
		if files[a.Text] == nil {
			order = append(order, a.Text)
		}
		files[a.Text] = append(files[a.Text], a.File)
	}
	for _, assumed := range order {
		names := files[assumed]
		who := nameOf(names[0], "input")
		if n := len(names) - 1; n > 0 {
			who += fmt.Sprintf(" and %s", text.Plural(n, "other file"))
		}
		sayf(w, "read %s: %s", who, assumed)
	}
}
