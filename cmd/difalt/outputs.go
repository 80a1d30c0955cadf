package main

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/difalt/difalt/internal/atomicfile"
	"github.com/difalt/difalt/internal/options"
	"github.com/difalt/difalt/internal/report"
)

// outputs are the files that fit writes; nil where none is asked for.
type outputs struct {
	files
	trace, model *atomicfile.File
}

// openOutputs opens the files before the work begins.
func openOutputs(f *options.Files) (out *outputs, err error) {
	out = &outputs{}
	err = out.reads("data", f.Data)
	if err == nil && f.Continue != "" {
		err = out.reads("continue", f.Continue)
	}
	if err == nil && f.Trace != "" {
		out.trace, err = out.create("trace", f.Trace, ".csv")
	}
	if err == nil && f.Model != "" {
		out.model, err = out.create("model", f.Model, ".npz")
	}
	if err == nil && f.Report != "" {
		err = out.checkFolder("report", f.Report)
	}
	if err != nil {
		out.close()
		return nil, err
	}
	return out, nil
}

func (o *outputs) close() {
	o.trace.Close()
	o.model.Close()
}

// write writes the files; they take their names with commit, when all that may fail is
// done.
func (o *outputs) write(trace, model []byte) error {
	if err := o.trace.Complete(trace); err != nil {
		return err
	}
	return o.model.Complete(model)
}

func (o *outputs) commit() error {
	if err := o.trace.Commit(); err != nil {
		return err
	}
	return o.model.Commit()
}

// printFiles says where the files are.
func printFiles(w io.Writer, f *options.Files) {
	if f.Trace != "" {
		fmt.Fprintf(w, "trace  %s\n", f.Trace)
	}
	if f.Model != "" {
		fmt.Fprintf(w, "model  %s\n", f.Model)
	}
	if f.Report != "" {
		fmt.Fprintf(w, "report %s\n", filepath.Join(f.Report, report.PageFile))
	}
}
