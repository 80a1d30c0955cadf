package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/difalt/difalt/cmd/difalt/internal/cli"
	"github.com/difalt/difalt/cmd/difalt/internal/dataset"
	"github.com/difalt/difalt/cmd/difalt/internal/tablefile"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/difalt/difalt/mixed"
	"github.com/spf13/cobra"
)

const (
	predictHelp = `Predict the target for every row of a table, with a model that "difalt fit",
"adapt", "node" or "up" wrote.

The table needs the column of tasks (--task, as in training) and the features of
the training, by name; other columns are ignored. A row comes out for each row
that goes in, in the same order: the columns of --keep as they are, the task,
the prediction, and "known", which is true if the model has the task, all levels
of the categorical columns and the values of all periods. Other rows are
predicted from all tasks together, between their mean and a pooled model, as
training chose: "difalt adapt" adds tasks from their rows. Numbers far from the
training rows are counted, and the first is named. In Parquet, features that are
kept are numbers or dates, and other columns text. Rows that lack a value are
written without a prediction, and with "known" false; with --missing mean,
missing features are replaced by the means of the training rows. The table is
read row by row, so that it may be larger than the memory.

--standard-errors adds four columns. stderr is the standard error of the
expected target; sample_stderr adds the noise. low and high are the ends of the
95 % interval of a single target: the prediction +- 1.96 sample_stderr. For an
unknown task all of them include how much tasks differ. Numbers so far from the
training rows that a prediction or its errors overflow leave these columns empty
in their row, and the report counts such rows.

A model of the logarithm of the target predicts medians of the target. low and
high are then 95 % limits in the logarithm, and the prediction +- 1.96 standard
errors holds 95 % of the lognormal distribution.`
	predictExamples = `  # train on three quarters of the rows, predict all of them
  difalt fit --task clinic --target score --drop patient \
      --model clinics-model.npz examples/clinics.csv
  difalt predict --model clinics-model.npz --standard-errors --keep patient \
      --out predictions.csv examples/clinics.csv

  # new clinics, from all clinics together
  difalt predict --model clinics-model.npz --out predictions.parquet \
      examples/new-clinics.csv

  # in a pipe
  zcat new.csv.gz | difalt predict --model m.npz - | head`
)

// predictOptions are the options of predict.
type predictOptions struct {
	tableOptions
	model, out     string
	standardErrors bool
}

// newPredict returns the command predict.
func newPredict(std *cli.Streams) *cobra.Command {
	var o predictOptions
	o.table.NewLevels = true
	cmd := &cobra.Command{
		Use:     "predict --model FILE FILE...",
		Short:   "Predict the target of rows of a table",
		Long:    predictHelp,
		Example: predictExamples,
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, files []string) error {
			if err := o.take(files); err != nil {
				return err
			}
			return runPredict(cmd.Context(), std, o)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.model, "model", "", "read the model from `FILE`.npz")
	o.addData(flags, dataUsage)
	flags.StringVar(&o.out, "out", "", "write the predictions to `FILE`, .csv or .parquet (default: standard output)")
	flags.Var(cli.List(&o.table.Keep), "keep", "pass a `LIST` of columns through")
	flags.BoolVar(&o.standardErrors, "standard-errors", false, "add columns with standard errors and 95 % limits")
	flags.StringVar(&o.table.Task, "task", "", taskUsage)
	o.addFlags(flags)
	o.addMissing(flags,
		"treat missing values by `RULE`: drop leaves the predictions of their rows empty, mean fills in the mean of "+
			"the training rows, refuse ends with an error", "drop", "mean", "refuse")
	cli.Require(cmd, "model")
	return cmd
}

// taskUsage is the help of --task of commands that apply a model.
const taskUsage = "`COLUMN` that names the task of a row (default: as in training)"

// runPredict writes a row for every row of the tables, which it reads one at a time.
func runPredict(ctx context.Context, std *cli.Streams, o predictOptions) error {
	o.out = cmp.Or(o.out, stdio)
	var used files
	defer used.close()
	if err := errors.Join(used.reads("model", o.model), used.tables(o.files)); err != nil {
		return err
	}
	if err := used.create("out", o.out, tablefile.Extensions...); err != nil {
		return err
	}
	std = used.streams(std)
	m, err := loadModel("model", o.model)
	if err != nil {
		return err
	}
	p := m.Parameters()
	o.table.Schema, o.table.Task = &p.Schema, cmp.Or(o.table.Task, p.Tasks.Column)
	w, err := newPredictionWriter(used.out, o.out, m, o.table.Keep, o.standardErrors)
	if err != nil {
		return err
	}
	read, err := w.addTables(ctx, std, o.files, o.table)
	if err != nil {
		return err
	}
	if err := used.commit(); err != nil {
		return err
	}
	r := &predictReport{
		Header:  cli.NewHeader("predict"),
		File:    nameOf(o.out, "output"),
		Rows:    read.Rows,
		Empty:   read.Incomplete,
		Unknown: w.unknown.all, Overflows: w.overflows,
		Filled:  map[string]int{},
		Alike:   w.unknown.alike,
		Notes:   read.Notes,
		read:    read,
		unknown: &w.unknown,
	}
	for _, c := range read.Filled {
		r.Filled[c.Column] = c.Rows
	}
	r.Remarks = append(newLevelSentences(read.NewLevels, &p.Schema), w.far.sentences()...)
	if w.overflows > 0 {
		const format = "%s with numbers so large that the prediction or its errors overflow: these cells are empty. " +
			"The first is %s."
		r.Remarks = append(r.Remarks, fmt.Sprintf(format, text.Plural(w.overflows, "row"), w.firstOverflow))
	}
	return std.Report(r, r.text)
}

// A predictionWriter writes a row with a prediction for every row of a table.
type predictionWriter struct {
	model   *mixed.Model
	to      io.Writer
	path    string
	keep    []string
	errors  bool              // with standard errors and limits
	out     *tablefile.Writer // nil before the first row, which decides on the types of columns
	task    string
	kept    []string
	numbers []keptNumber // columns of numbers to keep, where the output has types
	p       mixed.Prediction
	unknown unknownRows
	far     *farCounter
	// Rows whose prediction or standard errors overflow.
	overflows     int
	firstOverflow string // the place of the first
}

// unknownRows counts rows with a task, a level or a value of a period that the model does not have.
type unknownRows struct {
	all      int
	ofTasks  int              // rows of tasks that the model does not have
	first    string           // the task of the first such row
	spelling dataset.Spelling // of the tasks of the model
	alike    []string         // the first tasks that it has in another spelling
}

// add counts a row of a task.
func (u *unknownRows) add(m *mixed.Model, task string) {
	u.all++
	if m.Knows(task) {
		return
	}
	if u.ofTasks++; u.ofTasks == 1 {
		u.first = strings.Clone(task)
	}
	u.alike = addAlike(u.alike, u.spelling, task)
}

// A keptNumber is the value of a feature that is kept.
type keptNumber struct {
	feature int
	value   *float64 // in the cell of a column
}

// newPredictionWriter returns the writer of predictions with columns that are kept, whose names it checks.
func newPredictionWriter(to io.Writer, path string, m *mixed.Model, keep []string,
	standardErrors bool) (*predictionWriter, error) {
	w := &predictionWriter{
		model: m, to: to, path: path, keep: keep, errors: standardErrors, kept: make([]string, len(keep)),
		far: newFarCounter(m), unknown: unknownRows{spelling: dataset.NewSpelling(m.Tasks())},
	}
	for i, name := range keep {
		if slices.Contains(keep[:i], name) {
			return nil, cli.WrongFlag("keep", "column %q is named twice", name)
		}
	}
	for _, c := range w.ownColumns() {
		if slices.Contains(keep, c.Name) {
			return nil, cli.WrongFlag("keep", "column %q has the name of a column of the output", c.Name)
		}
	}
	return w, nil
}

// ownColumns returns the columns of the task and the prediction.
func (w *predictionWriter) ownColumns() []tablefile.Column {
	columns := []tablefile.Column{{Name: "task", Cell: &w.task}, {Name: "prediction", Cell: &w.p.Value}}
	if w.errors {
		columns = append(columns, tablefile.Column{Name: "stderr", Cell: &w.p.StandardError},
			tablefile.Column{Name: "sample_stderr", Cell: &w.p.SampleError},
			tablefile.Column{Name: "low", Cell: &w.p.Low}, tablefile.Column{Name: "high", Cell: &w.p.High})
	}
	return append(columns, tablefile.Column{Name: "known", Cell: &w.p.Known})
}

// start starts the table: the columns that are kept come first. Where the output has types, features are
// numbers or dates, and all others texts as in the file.
func (w *predictionWriter) start(dates []dataset.Date) {
	var columns []tablefile.Column
	for i, name := range w.keep {
		var cell any = &w.kept[i]
		feature := slices.Index(w.model.Features(), name)
		if feature >= 0 && tablefile.HasTypes(w.path) && slices.Contains(w.model.Parameters().Schema.Columns, name) {
			value := new(float64)
			w.numbers = append(w.numbers, keptNumber{feature, value})
			switch dates[i] {
			case dataset.Day:
				cell = (*tablefile.Day)(value)
			case dataset.Instant:
				cell = (*tablefile.Instant)(value)
			default:
				cell = value
			}
		}
		columns = append(columns, tablefile.Column{Name: name, Cell: cell})
	}
	w.out = tablefile.New(w.to, w.path, append(columns, w.ownColumns()...))
}

// addTables writes the rows of tables and completes the output. Errors name the file and the flag that helps.
func (w *predictionWriter) addTables(ctx context.Context, std *cli.Streams, patterns []string,
	o dataset.TableOptions) (*dataset.Summary, error) {
	var read *dataset.Summary
	err := reading(ctx, std.Progress(), nil, &o, func() (err error) {
		p := newPipeline(w.predictAll, w.writeAll)
		read, err = dataset.Scan(patterns, o, func(row *dataset.Row) error {
			if w.out == nil {
				w.start(row.Dates)
			}
			return p.add(row)
		})
		if failed := p.close(); failed != nil { // of a row before the one that ended the scan
			return failed
		}
		if err != nil {
			return withHint(err, false)
		}
		return w.out.Close()
	})
	if err != nil {
		return nil, err // read may still change after an interruption
	}
	return read, nil
}

// predictAll predicts the rows of a batch.
func (w *predictionWriter) predictAll(b *batch) error {
	for i := range b.rows {
		row := &b.rows[i]
		w.far.add(row.features, row.place.String)
		row.p = noPrediction
		if !row.complete {
			continue
		}
		if err := w.predict(row); err != nil {
			return fmt.Errorf("%s: task %q: %w", row.place, row.task, err)
		}
		if !row.p.Known {
			w.unknown.add(w.model, row.task)
		}
	}
	return nil
}

// writeAll writes the rows of a batch. The numbers of a row without a prediction are empty.
func (w *predictionWriter) writeAll(b *batch) error {
	for i := range b.rows {
		row := &b.rows[i]
		w.task, w.p = row.task, row.p
		copy(w.kept, row.kept)
		for _, n := range w.numbers {
			*n.value = row.features[n.feature]
		}
		if err := w.out.Write(); err != nil {
			return err
		}
	}
	return nil
}

// noPrediction is the prediction of a row that has none: its cells are empty.
var noPrediction = mixed.Prediction{
	Value: math.NaN(), StandardError: math.NaN(), SampleError: math.NaN(), Low: math.NaN(), High: math.NaN(),
}

// predict predicts a row. Numbers that overflow stay empty: the other rows have predictions.
func (w *predictionWriter) predict(row *batchRow) (err error) {
	if w.errors {
		p, err := w.model.PredictError(row.task, row.features)
		if !errors.Is(err, mixed.ErrOverflow) {
			row.p = p
			return err
		}
	}
	value, known, err := w.model.Predict(row.task, row.features)
	overflows := errors.Is(err, mixed.ErrOverflow)
	if err != nil && !overflows {
		return err
	}
	row.p.Known = known
	if !overflows {
		row.p.Value = value
	}
	if overflows || w.errors { // the errors overflowed above
		if w.overflows++; w.overflows == 1 {
			w.firstOverflow = row.place.String()
		}
	}
	return nil
}
