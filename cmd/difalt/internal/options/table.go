package options

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/difalt/difalt/cmd/difalt/dataset"
	"github.com/difalt/difalt/cmd/difalt/fit"
	"github.com/difalt/difalt/cmd/difalt/owners"
	"github.com/difalt/difalt/kernel"
)

const (
	many       = 1_000_000_000 // the end of ranges that have none by themselves
	maxEpsilon = 1000          // as of package private
)

// DefaultGraph is the graph of up and cluster new. Its diameter grows with the logarithm of the nodes, and
// so do the rounds of a sum along its tree.
const DefaultGraph = "exponential"

// Values are the values of all options.
type Values struct {
	// Table describes the columns of tables, and Split the rows that are held out.
	Table   dataset.TableOptions
	Split   dataset.Split
	Model   fit.Config     // Rank, NoCurves, LogTarget, CommonNoise and Workers
	Private owners.Privacy // Epsilon 0 stands for no privacy
	Files   Files
	Output  Output
	Member  Member
	Network Network
	Seed    uint64
}

// Files are the names of files to read and to write, empty for none. JSON selects a report in JSON.
type Files struct {
	Data, Model, Report, Out string
	JSON                     bool
}

// An Output holds the choices about written predictions.
type Output struct{ KnownOnly, StandardErrors, SpreadsheetSafe bool }

// A Member identifies a process as a node of a network, and limits how long it waits for others.
type Member struct {
	Cluster, Key, Cert, Listen, Metrics string
	Engine                              string // grpc or mpi
	JoinTimeout, RoundTimeout           time.Duration
}

// A Network lists nodes, their graph, and the file of the authority that certifies them.
type Network struct {
	Nodes            []string
	Graph, Authority string
}

// table returns the options, in the order of the help.
func (v *Values) table() []Option {
	v.Network.Graph, v.Split.TestFraction = DefaultGraph, 0.25
	return slices.Concat(v.member(), v.network(), v.files(), v.data(), v.held(), v.model(), v.output())
}

// member has the options that identify a process as a node.
func (v *Values) member() []Option {
	m := &v.Member
	cluster := Text(&m.Cluster)
	return []Option{
		{Name: "cluster", Value: cluster, Of: ClusterCheck, Required: true, Usage: "list of the nodes, `FILE` cluster.json"},
		{Name: "cluster", Value: cluster, Of: Node, Usage: "list of the nodes, `FILE` cluster.json (required unless --engine is mpi)"},
		{Name: "cluster", Value: cluster, Of: Run, Usage: "run as one of the nodes in `FILE` cluster.json, with the tasks of --data"},
		{Name: "key", Value: Text(&m.Key), Of: members, Usage: "private key of this node, `FILE`"},
		{Name: "cert", Value: Text(&m.Cert), Of: members,
			Usage: "certificate for the key, `FILE`, if cluster.json has an authority"},
		{Name: "listen", Value: Text(&m.Listen), Of: members, Usage: "listen on `ADDRESS` (default: the node's address in cluster.json)"},
		{Name: "engine", Value: OneOf(&m.Engine, "grpc, mpi", map[string]string{"grpc": "grpc", "mpi": "mpi"}), Of: Node,
			Usage: "send messages by `KIND`: grpc, or mpi between the processes of mpirun or srun (in builds with -tags mpi)"},
		{Name: "join-timeout", Value: Span(&m.JoinTimeout, "10m", 1), Of: members | Up,
			Usage: "wait for the neighbours to connect for at most `TIME`"},
		{Name: "round-timeout", Value: Span(&m.RoundTimeout, "2m", 1), Of: together | Run,
			Usage: "a neighbour that sends nothing for `TIME` has failed"},
		{Name: "metrics", Value: Text(&m.Metrics), Of: Node, Usage: "serve /metrics for Prometheus, and /healthz, on `ADDRESS`"},
	}
}

// network has the options that describe all nodes.
func (v *Values) network() []Option {
	n := &v.Network
	return []Option{
		{Name: "nodes", Value: List(&n.Nodes), Of: ClusterNew, Required: true,
			Usage: "`LIST` of NAME=HOST:PORT[=sha256:KEY], or @FILE with one of these per line; a node without KEY gets a key"},
		{Name: "authority", Value: Text(&n.Authority), Of: ClusterNew,
			Usage: "make no keys: accept certificates issued by the authorities in `FILE` (PEM)"},
		{Name: "graph", Value: Text(&n.Graph), Of: Up | ClusterNew,
			Usage: "connect the nodes by a graph of `KIND` exponential, star, or edges:A-B,B-C,..."},
	}
}

// files has the options that name inputs and outputs.
func (v *Values) files() []Option {
	f := &v.Files
	const formats = " (CSV, also in gzip or zstd; Parquet; .npy)"
	data, model, out := Text(&f.Data), Text(&f.Model), Text(&f.Out)
	return []Option{
		{Name: "model", Value: model, Of: Predict | Adapt, Required: true, Usage: "read the model from `FILE`.npz"},
		{Name: "data", Value: data, Of: Fit, Required: true,
			Usage: "table `FILE`" + formats + "; all files of a pattern such as 'a-*.csv' are one table"},
		{Name: "data", Value: data, Of: Node, Required: true, Usage: "table of this owner, `FILE`" + formats},
		{Name: "data", Value: data, Of: Up, Required: true,
			Usage: "tables, `PATTERN` such as 'site-*.csv' with a file for each owner" + formats},
		{Name: "data", Value: data, Of: Predict, Required: true, Usage: "table with the rows to predict, `FILE`" + formats},
		{Name: "data", Value: data, Of: Adapt, Required: true, Usage: "table with the rows of the new tasks, `FILE`" + formats},
		{Name: "out", Value: out, Of: Predict, Required: true, Usage: "write the predictions to `FILE`, .csv or .parquet"},
		{Name: "out", Value: out, Of: Adapt, Required: true, Usage: "write the model with the new tasks to `FILE`.npz"},
		{Name: "out", Value: out, Of: Show, Usage: "write the effects to `FILE`, .csv or .parquet, and print nothing else"},
		{Name: "out", Value: out, Of: ClusterNew, Required: true, Usage: "write cluster.json and the keys to the folder `DIR`"},
		{Name: "out", Value: out, Of: ClusterKey, Required: true, Usage: "write the private key to `FILE`"},
		{Name: "model", Value: model, Of: Fit, Usage: "write the model to `FILE`.npz"},
		{Name: "model", Value: model, Of: Node, Usage: "write the shared model with the own tasks to `FILE`.npz"},
		{Name: "model", Value: model, Of: Up, Usage: "write the models of all nodes, that of node a to `FILE`-a.npz"},
		{Name: "report", Value: Text(&f.Report), Of: Fit, Usage: "write a web page with figures and tables to the folder `DIR`"},
		{Name: "json", Value: Yes(&f.JSON), Of: training | Show, Usage: "print JSON"},
	}
}

// data has the options about the columns and cells of tables.
func (v *Values) data() []Option {
	c := &v.Table
	task, target := Text(&c.Task), Text(&c.Target)
	missing := map[string]dataset.Missing{"refuse": dataset.MissingRefuse, "drop": dataset.MissingDrop, "mean": dataset.MissingKeep}
	return []Option{
		{Name: "task", Value: task, Of: training, Required: true, Usage: "`COLUMN` that names the task of a row"},
		{Name: "task", Value: task, Of: Predict | Adapt, Usage: "`COLUMN` that names the task of a row (default: as in training)"},
		{Name: "target", Value: target, Of: training, Required: true, Usage: "`COLUMN` to predict"},
		{Name: "target", Value: target, Of: Adapt, Usage: "`COLUMN` with the target (default: as in training)"},
		{Name: "drop", Value: List(&c.Drop), Of: training, Usage: "leave out a `LIST` of columns"},
		{Name: "categorical", Value: List(&c.Categorical), Of: training, Usage: "`LIST` of columns with categories"},
		{Name: "missing", Value: OneOf(&c.Missing, "refuse, drop, mean", missing), Of: readers,
			Usage: "treat missing values by `RULE`: refuse the table, drop their rows, or fill in the mean of the training rows"},
		{Name: "decimal", Value: Word(&c.Decimal, "", character), Of: readers, Usage: "decimal `MARK` of CSV: . or , (default .)"},
		{Name: "dates", Value: Text(&c.Dates), Of: readers,
			Usage: "read dates in CSV of `ORDER` ymd, dmy or mdy, as days since 1970-01-01 (default: dates are refused)"},
		{Name: "delimiter", Value: Word(&c.Delimiter, "", character), Of: Fit | Predict | Adapt,
			Usage: "`CHARACTER` between the cells of CSV, or tab (default: the one in the header line)"},
		{Name: "sample-weights", Value: Text(&c.Weight), Of: training, Usage: "`COLUMN` with relative weights of rows"},
	}
}

// held has the options about held-out rows.
func (v *Values) held() []Option {
	s := &v.Split
	return []Option{
		{Name: "test-fraction", Value: Number(&s.TestFraction, Range{0, math.Nextafter(1, 0), false}), Of: training,
			Usage: "hold out a `SHARE` of the rows of every task"},
		{Name: "train-rows-per-task", Value: Count(&s.TrainRows, 1, many), Of: Fit,
			Usage: "train on `N` rows of every task instead, and hold out the others"},
		{Name: "holdout", Value: Text(&v.Table.Holdout), Of: training, Usage: "hold out the rows with 1 in `COLUMN` instead"},
	}
}

// model has the options of the estimators.
func (v *Values) model() []Option {
	m, p := &v.Model, &v.Private
	return []Option{
		{Name: "rank", Value: Word(&m.Rank, auto, parseRank), Of: training,
			Usage: "rank `N` of the joint deviations of tasks, or auto"},
		{Name: "no-curves", Value: Yes(&m.NoCurves), Of: Fit, Usage: "fit straight lines only"},
		{Name: "log-target", Value: Yes(&m.LogTarget), Of: Fit, Usage: "model the logarithm of the target"},
		{Name: "common-noise", Value: Yes(&m.CommonNoise), Of: Fit, Usage: "assume that all tasks have the same noise variance"},
		{Name: "epsilon", Value: Number(&p.Epsilon, Range{0, maxEpsilon, true}), Of: together,
			Usage: "keep tasks differentially private with a budget of `EPSILON`; needs --rank"},
		{Name: "delta", Value: Number(&p.Delta, Range{0, math.Nextafter(1, 0), true}), Of: together,
			Usage: "probability `DELTA` that --epsilon does not hold (default: T^-1.1 for T tasks)"},
		{Name: "colluding", Value: Count(&p.Colluding, 0, many), Of: together,
			Usage: "let --epsilon hold against `N` colluding nodes (default: against outsiders only)"},
		{Name: "seed", Value: Seed(&v.Seed), Of: training, Usage: "seed `N` of the held-out rows and all other random choices"},
		{Name: "workers", Value: Count(&m.Workers, 0, kernel.MaxWorkers), Of: Fit, Usage: "use `N` threads (default: all processors)"},
	}
}

// output has the options of predictions.
func (v *Values) output() []Option {
	p := &v.Output
	return []Option{
		{Name: "known-only", Value: Yes(&p.KnownOnly), Of: Predict, Usage: "refuse tasks and levels that the model does not have"},
		{Name: "standard-errors", Value: Yes(&p.StandardErrors), Of: Predict, Usage: "add columns with standard errors"},
		{Name: "spreadsheet-safe", Value: Yes(&p.SpreadsheetSafe), Of: Predict,
			Usage: "put an apostrophe before names of tasks that a spreadsheet would take for a formula"},
	}
}

// auto is the word that leaves the rank to the data.
const auto = "auto"

// parseRank returns a rank, nil for auto.
func parseRank(s string) (*int, error) {
	if s == auto {
		return nil, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || n > many {
		return nil, fmt.Errorf("must be %s or a whole number from 0 to %d", auto, many)
	}
	return &n, nil
}

// character returns the character of a text, a tab for its name.
func character(s string) (rune, error) {
	if s == "tab" {
		return '\t', nil
	}
	r, n := utf8.DecodeRuneInString(s)
	if n != len(s) {
		return 0, errors.New("must be one character, or tab")
	}
	return r, nil
}
