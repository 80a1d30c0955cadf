package flagtable

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/difalt/difalt/cmd/difalt/dataset"
	"github.com/difalt/difalt/cmd/difalt/internal/options"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/mixed"
	"github.com/difalt/difalt/private"
)

// DefaultGraph is the graph of up and cluster new. Its diameter grows with the logarithm of the nodes, and
// so do the rounds of a sum along its tree.
const DefaultGraph = "exponential"

// Values are the values of all options; texts are empty where no option was given.
type Values struct {
	// Table describes the columns of tables, and Split the rows that are held out.
	Table   dataset.TableOptions
	Split   dataset.Split
	Model   mixed.Options // Rank, NoCurves, LogTarget, CommonNoise and Workers
	Private mixed.Privacy // Epsilon 0 stands for no privacy
	Files   Files
	Member  Member
	Seed    uint64

	StandardErrors bool // of predictions
	NoRefit        bool // keeps the model that the held-out rows judge
}

// Files are the names of files to read and to write.
type Files struct {
	Data               []string // patterns of tables
	Model, Report, Out string
}

// A Member identifies a process as a node of a network, and limits how long it waits for others. Nodes and
// Graph describe a network to make.
type Member struct {
	Cluster, Key, Listen, Metrics, Graph string
	Engine                               string // grpc or mpi
	JoinTimeout, RoundTimeout            time.Duration
	Nodes                                []string
}

// table returns the options, in the order of the help.
func (v *Values) table() []row {
	v.Split.TestFraction = 0.25
	return slices.Concat(v.network(), v.files(), v.data(), v.model())
}

// network has the options that describe the nodes, and identify a process as one of them.
func (v *Values) network() []row {
	m := &v.Member
	cluster := options.Text(&m.Cluster)
	return []row{
		{"cluster", cluster, Node, false, "list of the nodes, `FILE` cluster.json (required unless --engine is mpi)"},
		{"cluster", cluster, Run, false, "run as one of the nodes in `FILE` cluster.json, with the tasks of --data"},
		{"key", options.Text(&m.Key), members, false, "private key of this node, `FILE`"},
		{"listen", options.Text(&m.Listen), members, false,
			"listen on `ADDRESS` (default: the node's address in cluster.json)"},
		{"engine", options.OneOf(&m.Engine, "grpc", "mpi"), Node, false,
			"send messages by `KIND`: grpc, or mpi between the processes of mpirun or srun (in builds with -tags mpi)"},
		{"join-timeout", options.Span(&m.JoinTimeout, 10*time.Minute), members, false,
			"wait for the neighbours to connect for at most `TIME`"},
		{"round-timeout", options.Span(&m.RoundTimeout, 2*time.Minute), members, false,
			"a neighbour that sends nothing for `TIME` has failed"},
		{"metrics", options.Text(&m.Metrics), Node, false,
			"serve /metrics for Prometheus, and /healthz, on `ADDRESS`"},
		{"nodes", options.List(&m.Nodes), ClusterNew, true,
			"`LIST` of NAME=HOST:PORT[=sha256:KEY]; a node without KEY gets a key"},
		{"graph", options.OneOf(&m.Graph, DefaultGraph, "star"), ClusterNew, false,
			"connect the nodes by a graph of `KIND` exponential or star"},
	}
}

// files has the options that name inputs and outputs.
func (v *Values) files() []row {
	f := &v.Files
	const formats = " (CSV, also in gzip or zstd; Parquet; .npy)"
	data := options.Word(&f.Data, "", func(s string) ([]string, error) { return []string{s}, nil })
	model, out := options.Text(&f.Model), options.Text(&f.Out)
	return []row{
		{"model", model, Predict | Adapt, true, "read the model from `FILE`.npz"},
		{"data", data, Up, false, "tables, `PATTERN` such as 'site-*.csv' in place of FILE..." + formats},
		{"data", data, readers &^ Up, false, "table `PATTERN` such as 'a-*.csv' in place of FILE..." + formats},
		{"out", options.Text(&f.Out), Predict, false, "write the predictions to `FILE`, .csv or .parquet (default: standard output)"},
		{"keep", options.List(&v.Table.Keep), Predict, false, "pass a `LIST` of columns through"},
		{"out", out, Adapt, true, "write the model with the new tasks to `FILE`.npz"},
		{"out", out, Show, false, "write the effects to `FILE`, .csv or .parquet, and print nothing else"},
		{"out", out, ClusterNew, true, "write cluster.json and the keys to the folder `DIR`"},
		{"out", out, ClusterKey, true, "write the private key to `FILE`"},
		{"model", model, training, false, "write the model to `FILE`.npz"},
		{"report", options.Text(&f.Report), Fit, false,
			"write a web page with figures and tables to the folder `DIR`"},
		{"standard-errors", options.Yes(&v.StandardErrors), Predict, false, "add columns with standard errors and 95 % limits"},
	}
}

// data has the options about the columns, cells and held-out rows of tables.
func (v *Values) data() []row {
	c, share := &v.Table, options.Range{Most: math.Nextafter(1, 0)}
	task, target := options.Text(&c.Task), options.Text(&c.Target)
	return []row{
		{"task", task, training, true, "`COLUMN` that names the task of a row"},
		{"task", task, Check, false, "`COLUMN` that names the task of a row (default: there is none)"},
		{"target", target, Check, false, "`COLUMN` to predict (default: there is none)"},
		{"task", task, Predict | Adapt, false, "`COLUMN` that names the task of a row (default: as in training)"},
		{"target", target, training, true, "`COLUMN` to predict"},
		{"target", target, Adapt, false, "`COLUMN` with the target (default: as in training)"},
		{"features", options.List(&c.Features), columns, false, "use only a `LIST` of columns as features"},
		{"drop", options.List(&c.Drop), columns, false, "leave out a `LIST` of columns"},
		{"categorical", options.List(&c.Categorical), columns, false, "`LIST` of columns of numbers that are categories, besides those of text"},
		{"numbers", options.Yes(&c.Numbers), columns, false, "refuse columns of text that --categorical does not list"},
		{"na", options.List(&c.NA), readers, false, "`LIST` of cells that are missing values in every column"},
		{"missing", options.Parsed(&c.Missing, "text", "refuse", "one of refuse, drop, mean", missing).Among("refuse", "drop", "mean"),
			readers &^ Predict &^ Check, false,
			"treat missing values by `RULE`: refuse the table, drop their rows, or fill in the mean of the training rows"},
		{"missing", options.Parsed(&c.Missing, "text", "drop", "one of drop, mean, refuse", missing).Among("drop", "mean", "refuse"),
			Predict, false,
			"treat missing values by `RULE`: drop leaves the predictions of their rows empty, mean fills in the mean of the " +
				"training rows, refuse ends with an error"},
		{"decimal", options.Parsed(&c.Decimal, "text", ".", ". or ,", mark).Among(".", ","), readers, false,
			"decimal `MARK` of CSV: . or ,"},
		{"dates", options.Text(&c.Dates).Among("ymd", "dmy", "mdy"), readers, false,
			"read dates in CSV of `ORDER` ymd, dmy or mdy, as days since 1970-01-01 (default: dates are refused)"},
		{"sample-weights", options.Text(&c.Weight), columns, false, "`COLUMN` with relative weights of rows"},
		{"test-fraction", options.Number(&v.Split.TestFraction, share), training, false,
			"hold out a `SHARE` of the rows of every task"},
		{"no-refit", options.Yes(&v.NoRefit), Fit, false, "keep the model of the training rows (default: it is fitted again to all rows)"},
		{"holdout", options.Text(&c.Holdout), columns, false, "hold out the rows with 1 in `COLUMN` instead"},
	}
}

// model has the options of the estimators.
func (v *Values) model() []row {
	m, p := &v.Model, &v.Private
	d := &m.Disclosure
	return []row{
		{"rank", options.Parsed(&m.Rank, "text", auto, "auto or a whole number from 0", rank), training, false,
			"rank `N` of the joint deviations of tasks, or auto"},
		{"no-curves", options.Yes(&m.NoCurves), training, false, "fit straight lines only"},
		{"log-target", options.Yes(&m.LogTarget), training, false, "model the logarithm of the target"},
		{"common-noise", options.Yes(&m.CommonNoise), training, false,
			"assume that all tasks have the same noise variance"},
		{"least-rows", limit(&d.LeastRows, 3), together, false,
			"vote against curves below `N` own rows for each column of the design, and without curves do not take part; 0: no rule"},
		{"least-level", limit(&d.LeastLevel, 12), together, false,
			"count levels, and values off the usual one, of fewer than `N` own rows as missing or constant, and vote against curves " +
				"that can bend on fewer; 0: no rule; with --no-curves 3 unless given"},
		{"least-small", limit(&d.LeastSmall, 10), together, false,
			"leave tasks with fewer rows than columns and two out of all totals, unless there are `N` of them; 0: no rule"},
		{"strict", options.Yes(&d.Strict), together, false,
			"leave such tasks, all levels and all curves out, for owners that do not trust each other"},
		{"epsilon", options.Number(&p.Epsilon, options.Range{Most: private.MostEpsilon, Open: true}), together, false,
			"keep tasks differentially private with a budget of `EPSILON`; needs --rank"},
		{"delta", options.Number(&p.Delta, options.Range{Most: private.MostDelta, Open: true}), together, false,
			"probability `DELTA` that --epsilon does not hold (default: T^-1.1 for T tasks, at most 0.01)"},
		{"colluding", options.Count(&p.Colluding, 0, options.Many), together, false,
			"let --epsilon hold against `N` colluding nodes (default: against outsiders only)"},
		{"seed", options.Seed(&v.Seed), training, false,
			"seed `N` of the held-out rows and all other random choices"},
		{"workers", options.Count(&m.Workers, 0, kernel.MaxWorkers), training, false,
			"use `N` threads (default: all processors)"},
	}
}

// auto is the word that leaves the rank to the data.
const auto = "auto"

// limit is a number of rows or tasks, where 0 switches a rule off.
func limit(p *int, usual int) *options.Value {
	wanted := fmt.Sprintf("a whole number from 0 to %d", options.Many)
	return options.Parsed(p, "int", strconv.Itoa(usual), wanted, func(s string) (int, bool) {
		n, err := strconv.Atoi(s)
		valid := err == nil && n >= 0 && n <= options.Many
		if n == 0 {
			n = mixed.Off
		}
		return n, valid
	})
}

// rank returns a rank, nil for auto.
func rank(s string) (*int, bool) {
	n, err := strconv.Atoi(s)
	if s == auto {
		return nil, true
	}
	return &n, err == nil && n >= 0
}

// missing returns a rule for missing values.
func missing(s string) (dataset.Missing, bool) {
	i := slices.Index([]string{"refuse", "drop", "mean"}, s)
	return []dataset.Missing{dataset.MissingRefuse, dataset.MissingDrop, dataset.MissingKeep}[max(i, 0)], i >= 0
}

// mark returns a decimal mark.
func mark(s string) (rune, bool) { return rune(s[0]), s == "." || s == "," }
