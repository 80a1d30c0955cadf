package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime/debug"

	"github.com/difalt/difalt/cmd/difalt/internal/cli"
	"github.com/difalt/difalt/cmd/difalt/internal/dataset"
	"github.com/difalt/difalt/cmd/difalt/internal/place"
	"github.com/difalt/difalt/cmd/difalt/internal/terminal"
	"github.com/difalt/difalt/mixed"
)

// loadModel reads a model from a file or the standard input. Errors name the flag, which is empty for an
// argument.
func loadModel(flag, path string) (m *mixed.Model, err error) {
	if info, err := os.Stat(path); err == nil {
		spareMemory(int(info.Size()))
	}
	if path != stdio {
		m, err = mixed.LoadFile(path)
	} else if content, failed := io.ReadAll(os.Stdin); failed != nil {
		err = failed
	} else if m, err = mixed.Load(bytes.NewReader(content), int64(len(content))); err != nil {
		err = fmt.Errorf("%s: %w", nameOf(path, "input"), err)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
		err = fmt.Errorf("%w; a model is a file that \"difalt fit --model FILE.npz\" writes, or adapt, node or up", err)
	}
	if err = place.In(nameOf(path, "input"), err); err != nil && flag != "" {
		err = cli.OfFlag(flag, err)
	}
	return m, err
}

// ofTable adds the names of the tables to an error about them. If it is about a row, the file and the line
// become values of the error.
func ofTable(names []string, err error) error {
	about, ok := errors.AsType[*mixed.RowError](err)
	if !ok {
		return place.NamedAll(names, err)
	}
	if t, ok := about.Table.(interface{ Line(row int) (string, int) }); ok {
		file, line := t.Line(about.Row)
		err = place.In(file, place.OnLine(line, err))
	}
	return place.NamedAll(names, err)
}

// readTable reads the table of all files that match some patterns, with its progress on stderr as the first
// of the given stages. Errors name the file and the flag that helps.
func readTable(ctx context.Context, stderr io.Writer, stages, patterns []string,
	o dataset.TableOptions) (*dataset.Table, error) {
	var t *dataset.Table
	err := reading(ctx, stderr, stages, &o, func() (err error) {
		t, err = dataset.ReadFiles(patterns, o)
		return withHint(err, o.Schema == nil)
	})
	if err != nil {
		return nil, err // t may still change after an interruption
	}
	spareMemory(8 * t.Rows() * len(t.Features()))
	return t, nil
}

const (
	largeTable   = 16 << 20  // least bytes of a table where memory counts
	garbageShare = 5         // percent of the memory in use, beside a large table
	tinyTable    = 256 << 10 // bytes of a table below which memory does not count
	tinyShare    = 400       // percent of the memory in use, beside a small table
	usualShare   = 100       // percent of the memory in use, by default
)

// spareMemory has Go collect garbage more often beside a table or a model of that many bytes where these are
// many, and less often where they are few, unless the environment sets how often. The former takes little
// time, since numbers are not searched. Beside a large table a small one changes nothing.
func spareMemory(bytes int) {
	if _, set := os.LookupEnv("GOGC"); set {
		return
	}
	switch {
	case bytes >= largeTable:
		debug.SetGCPercent(garbageShare)
	case bytes < tinyTable:
		if before := debug.SetGCPercent(tinyShare); before != usualShare {
			debug.SetGCPercent(before)
		}
	}
}

// reading does the work that reads tables by some options, with its progress on stderr as the first of the
// given stages. After an interruption the work goes on, as in cli.UntilCanceled.
func reading(ctx context.Context, stderr io.Writer, stages []string, o *dataset.TableOptions, work func() error) error {
	bar := terminal.NewProgress(stderr, stages...)
	defer bar.Close()
	bar.Stage(readingStage, -1)
	o.Progress = func(done, total int64) {
		if total > 0 {
			bar.Stage(readingStage, float64(done)/float64(total))
		}
	}
	return cli.UntilCanceled(ctx, work)
}

// readingStage is the stage before the stages of training.
const readingStage = "reading the table"
