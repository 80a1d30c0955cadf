package main

import (
	"context"
	"fmt"
	"io"

	"github.com/difalt/difalt/dataset"
	"github.com/difalt/difalt/dataset/problemfile"
	"github.com/difalt/difalt/internal/options"
	"github.com/difalt/difalt/internal/terminal"
	"github.com/difalt/difalt/internal/text"
)

// readData reads tables or a problem file, and says on stderr what was assumed about a
// table. Errors about a table name its file.
func readData(ctx context.Context, stderr io.Writer, path string, o dataset.TableOptions) (*problemfile.File, error) {
	bar := showReading(stderr, &o)
	defer bar.Close()
	return untilCanceled(ctx, func() (*problemfile.File, error) {
		if options.IsProblem(path) {
			return problemfile.ReadOnDisk(path, o.Folder)
		}
		t, err := readFiles(path, o)
		if err != nil {
			return nil, err
		}
		bar.Close()
		reportAssumed(stderr, t)
		return &problemfile.File{Table: t}, nil
	})
}

// showReading shows how much of a table has been read.
func showReading(stderr io.Writer, o *dataset.TableOptions) *terminal.Progress {
	bar := terminal.NewProgress(stderr)
	bar.Begin("reading", "", 0)
	o.Progress = bar.Set
	return bar
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
		terminal.Sayf(w, "read %s: %s", who, assumed)
	}
}
