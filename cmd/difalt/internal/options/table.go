package options

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/difalt/difalt/cmd/difalt/dataset"
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
	Model   Model
	Private Private
	Files   Files
	Output  Output
	Member  Member
	Network Network
	Seed    uint64
	Workers int
}

// A Model holds the choices of a model. Rank is nil where the data choose it.
type Model struct {
	Rank                             *int
	NoCurves, LogTarget, CommonNoise bool
}

// A Private is a privacy budget. Epsilon 0 asks for no privacy, and Delta 0 for the default.
type Private struct {
	Epsilon, Delta float64
	Colluding      int
}

// Files are read and written; an empty name asks for no file, and JSON for a report in JSON.
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
	return slices.Concat(v.member(), v.network(), v.data(), v.held(), v.model(), v.files(), v.predict())
}

// member has the options that identify a process as a node.
func (v *Values) member() []Option {
	m := &v.Member
	engines := OneOf("grpc or mpi", map[string]string{"grpc": "grpc", "mpi": "mpi"})
	return []Option{
		{Name: "cluster", Value: Text(&m.Cluster, ""), Of: members, GRPC: true,
			Usage: "`FILE` cluster.json with the list of nodes (required without --engine mpi)"},
		{Name: "key", Value: Text(&m.Key, ""), Of: members, GRPC: true, Usage: "`FILE` with the private key of this node (node: required)"},
		{Name: "cert", Value: Text(&m.Cert, ""), Of: members, GRPC: true,
			Usage: "`FILE` with the certificate for that key, if cluster.json has an authority"},
		{Name: "listen", Value: Text(&m.Listen, ""), Of: members, GRPC: true,
			Usage: "`ADDRESS` to listen on (default the one in cluster.json)"},
		{Name: "engine", Value: Word(&m.Engine, "grpc", engines), Of: Node,
			Usage: "transport of messages: grpc, or mpi between processes of mpirun or srun (in builds with -tags mpi)"},
		{Name: "join-timeout", Value: Span(&m.JoinTimeout, 10*time.Minute, 1), Of: members | Up,
			Usage: "`TIME` to wait for the neighbours at the start"},
		{Name: "round-timeout", Value: Span(&m.RoundTimeout, 2*time.Minute, 1), Of: owners,
			Usage: "`TIME` after which a silent neighbour counts as failed"},
		{Name: "metrics", Value: Text(&m.Metrics, ""), Of: Node, Usage: "serve /metrics for Prometheus and /healthz on `ADDRESS`"},
	}
}

// network has the options that describe all nodes.
func (v *Values) network() []Option {
	n := &v.Network
	return []Option{
		{Name: "nodes", Value: List(&n.Nodes, nil), Of: ClusterNew,
			Usage: "`LIST` of NAME=HOST:PORT[=sha256:KEY], or @FILE with one of these per line (required); a node without KEY gets a key"},
		{Name: "authority", Value: Text(&n.Authority, ""), Of: ClusterNew,
			Usage: "make no keys: accept certificates issued by the authorities in `FILE` (PEM)"},
		{Name: "graph", Value: Text(&n.Graph, DefaultGraph), Of: Up | ClusterNew,
			Usage: "`KIND` of network: exponential, star, or edges:A-B,B-C,..."},
	}
}

// data has the options about reading tables.
func (v *Values) data() []Option {
	f, c := &v.Files, &v.Table
	missing := map[string]dataset.Missing{"refuse": dataset.MissingRefuse, "drop": dataset.MissingDrop, "mean": dataset.MissingKeep}
	return []Option{
		{Name: "data", Value: Text(&f.Data, ""), Of: readers,
			Usage: "table `FILE`: CSV (also gzip, zstd), Parquet or .npy; a pattern such as 'a-*.csv' is one table for fit, one " +
				"owner per " +
				"file for up (required)"},
		{Name: "task", Value: Text(&c.Task, ""), Of: readers, Usage: "`COLUMN` that names the task of a row"},
		{Name: "target", Value: Text(&c.Target, ""), Of: training | Adapt, Usage: "`COLUMN` to predict"},
		{Name: "drop", Value: List(&c.Drop, nil), Of: training, Usage: "`LIST` of columns to leave out"},
		{Name: "categorical", Value: List(&c.Categorical, nil), Of: training, Usage: "`LIST` of categorical columns"},
		{Name: "missing", Value: Word(&c.Missing, "refuse", OneOf("refuse, drop or mean", missing)), Of: readers,
			Usage: "missing values, `RULE`: refuse, drop (their rows), or mean (of the training rows)"},
		{Name: "decimal", Value: Word(&c.Decimal, "", mark("", 0)), Of: readers, Usage: "decimal `MARK` of CSV: . or , (default .)"},
		{Name: "dates", Value: Text(&c.Dates, ""), Of: readers,
			Usage: "`ORDER` of dates in CSV: ymd, dmy or mdy; they become days since 1970-01-01 (default: dates are refused)"},
		{Name: "delimiter", Value: Word(&c.Delimiter, "", mark("tab", '\t')), Of: Fit | Predict | Adapt,
			Usage: "`CHARACTER` between the cells of CSV, or tab (default: the one in the header line)"},
		{Name: "sample-weights", Value: Text(&c.Weight, ""), Of: training, Usage: "`COLUMN` with relative weights of rows"},
	}
}

// held has the options about held-out rows.
func (v *Values) held() []Option {
	s := &v.Split
	return []Option{
		{Name: "test-fraction", Value: Number(&s.TestFraction, 0.25, 0, math.Nextafter(1, 0), "want at least 0 and less than 1"),
			Of:    training,
			Usage: "`SHARE` of every task's rows to hold out"},
		{Name: "train-rows-per-task", Value: Count(&s.TrainRows, 0, 1, many), Of: Fit,
			Usage: "train on `N` rows of every task instead, hold out the others"},
		{Name: "holdout", Value: Text(&v.Table.Holdout, ""), Of: training, Usage: "hold out the rows with 1 in `COLUMN` instead"},
	}
}

// model has the options of the estimators.
func (v *Values) model() []Option {
	m, p := &v.Model, &v.Private
	positive := math.SmallestNonzeroFloat64
	return []Option{
		{Name: "rank", Value: Word(&m.Rank, auto, parseRank), Of: training,
			Usage: "`N`, number of directions in which tasks differ together, or auto"},
		{Name: "no-curves", Value: Yes(&m.NoCurves), Of: Fit, Usage: "fit straight lines only"},
		{Name: "log-target", Value: Yes(&m.LogTarget), Of: Fit, Usage: "model the logarithm of the target"},
		{Name: "common-noise", Value: Yes(&m.CommonNoise), Of: Fit, Usage: "one noise variance for all tasks"},
		{Name: "epsilon", Value: Number(&p.Epsilon, 0, positive, maxEpsilon, fmt.Sprintf("must be above 0 and at most %d",
			maxEpsilon)), Of: owners,
			Usage: "privacy budget of tasks, `NUMBER`; needs --rank"},
		{Name: "delta", Value: Number(&p.Delta, 0, positive, math.Nextafter(1, 0), "must be above 0 and below 1"), Of: owners,
			Usage: "`NUMBER`, the probability that --epsilon does not hold (default T^-1.1 for T tasks)"},
		{Name: "colluding", Value: Count(&p.Colluding, 0, 0, many), Of: owners,
			Usage: "let --epsilon hold against `N` colluding nodes (default 0: against outsiders)"},
		{Name: "seed", Value: Seed(&v.Seed, 1), Of: training | ClusterNew, Usage: "`N`, seed of everything random"},
		{Name: "workers", Value: Count(&v.Workers, 0, 0, kernel.MaxWorkers), Of: Fit, Usage: "`N` threads (default all processors)"},
	}
}

// files has the options that name outputs.
func (v *Values) files() []Option {
	f := &v.Files
	return []Option{
		{Name: "model", Value: Text(&f.Model, ""), Of: training | Predict | Adapt,
			Usage: "`FILE`.npz of the model: written in training, read otherwise"},
		{Name: "report", Value: Text(&f.Report, ""), Of: Fit, Usage: "write a web page with figures and tables to the folder `DIR`"},
		{Name: "json", Value: Yes(&f.JSON), Of: training | Show, Usage: "print JSON"},
		{Name: "out", Value: Text(&f.Out, ""), Of: Predict | Adapt | Show | ClusterNew | ClusterKey,
			Usage: "`PATH` of the result: predict and model show .csv or .parquet, adapt .npz, cluster new a folder, cluster key a file"},
	}
}

// predict has the options of predictions.
func (v *Values) predict() []Option {
	p := &v.Output
	return []Option{
		{Name: "known-only", Value: Yes(&p.KnownOnly), Of: Predict, Usage: "refuse tasks and levels that the model does not have"},
		{Name: "standard-errors", Value: Yes(&p.StandardErrors), Of: Predict, Usage: "add columns with standard errors"},
		{Name: "spreadsheet-safe", Value: Yes(&p.SpreadsheetSafe), Of: Predict,
			Usage: "put an apostrophe before names of tasks that a spreadsheet would take for a formula"},
	}
}
