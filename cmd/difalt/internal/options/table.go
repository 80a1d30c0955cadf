package options

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/difalt/difalt/cmd/difalt/dataset"
	"github.com/difalt/difalt/cmd/difalt/fit"
	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/private"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/topology"
)

// Ends of ranges that have no end by themselves. Those of the algorithm are difalt's.
const (
	many      = 1_000_000_000 // rows and nodes: what nobody lives to see
	maxStarts = 10_000        // no table has use for more
)

// DefaultGraph is the one default of fit, node, up and cluster new, so that all of them send the
// same and, where nodes gossip, come to the same bits. Its diameter grows with the logarithm of the
// nodes, and so do the rounds of a sum along its tree.
const DefaultGraph = "exponential"

// Training is what the options say.
type Training struct {
	// Config says how to train, with the options of the algorithm.
	Config fit.Config
	// Table says how tables are read, and Split which rows are held out.
	Table dataset.TableOptions
	Split dataset.Split
	Files Files
	// Nodes is the number of nodes of a fit, 0 for the default; Processes is that of up.
	Nodes, Processes int
	Graph            string
	Rule             topology.Rule
	Member           Member
	Checkpoints      Checkpoints
	Log              Log
	// Engine carries the messages of node: grpc or mpi.
	Engine string
	// Stay asks node to wait when all is done, UntilEOF to leave when standard input ends, and NoReport to
	// make no report, which nobody would read.
	Stay, UntilEOF, NoReport bool
}

// Files are what is read and written; empty where none is asked for. JSON asks for a report
// in it.
type Files struct {
	Data, Model, Report, Trace, Continue string
	JSON                                 bool
}

// A Member says which node of which network a process is, and how long it waits for others.
type Member struct {
	Cluster, Key, Cert, Listen               string
	ListenFD                                 int
	JoinTimeout, RoundTimeout, RejoinTimeout time.Duration
}

// Checkpoints says in which folder, if any, a node keeps its state, and every how many
// iterations.
type Checkpoints struct {
	Folder string
	Every  int
}

// A Log says how and how often node logs, and where it serves metrics.
type Log struct {
	Format  string
	Every   time.Duration
	Metrics string
}

// DataUsage is the help of --data.
const DataUsage = "table `FILE`, or pattern such as 'site-*.csv', of CSV (also gzip, zstd), Parquet or .npy; or problem file .npz (required)"

// table returns the options, in the order of the help.
func (t *Training) table() []Option {
	return slices.Concat(t.ofNode(), t.ofData(), t.ofModel(), t.ofReading(), t.ofNetwork(), t.ofAlgorithm(), t.ofLog())
}

// ofNode says who a node is, and what it keeps.
func (t *Training) ofNode() []Option {
	m, c := &t.Member, &t.Checkpoints
	return []Option{
		{Name: "processes", Value: Count(&t.Processes, 0, 2, many), Of: Up, Same: Nobody, Short: "n", Usage: "number of nodes, `N` (default one per file)"},
		{Name: "cluster", Value: Text(&m.Cluster, ""), Of: members | ClusterHealth, Same: Nobody, Engine: "grpc", Usage: "cluster.json, the `FILE` with the list of nodes (required)"},
		{Name: "key", Value: Text(&m.Key, ""), Of: members | ClusterHealth, Same: Nobody, Engine: "grpc", Usage: "`FILE` with the private key of this node, by which it knows its name (required; without it cluster check only reads cluster.json)"},
		{Name: "cert", Value: Text(&m.Cert, ""), Of: members | ClusterHealth, Same: Nobody, Engine: "grpc", Usage: "`FILE` with the certificate for that key, if cluster.json has an authority in place of keys"},
		{Name: "listen", Value: Text(&m.Listen, ""), Of: members, Same: Nobody, Engine: "grpc", Usage: "`ADDRESS` to listen on (default the one in cluster.json)"},
		{Name: "listen-fd", Value: Count(&m.ListenFD, 0, 3, 1<<20), Of: Node | SimulateNode, Same: Nobody, Hidden: true, Engine: "grpc", Usage: "use the listening socket that is open as this file descriptor"},
		{Name: "join-timeout", Value: Span(&m.JoinTimeout, 10*time.Minute, 1), Of: members | Up, Same: Nobody, Usage: "`TIME` to wait for the neighbours at the start"},
		{Name: "round-timeout", Value: Span(&m.RoundTimeout, 2*time.Minute, 1), Of: Node | Up | SimulateNode, Same: Nobody, Usage: "`TIME` that a neighbour may take for a round, its computing included, before it counts as failed; five times that if it reports that it is waiting itself"},
		{Name: "rejoin-timeout", Value: Span(&m.RejoinTimeout, 30*time.Second, 1), Of: Node | Up | SimulateNode, Same: Nobody, Engine: "grpc", Usage: "`TIME` that a neighbour may be unreachable before it counts as failed"},
		{Name: "checkpoint", Value: Text(&c.Folder, ""), Of: Node | Up, Same: Nobody, Usage: "save the state of the training in the folder `DIR`, and resume from it"},
		{Name: "every", Value: Count(&c.Every, 10, 1, many), Of: Node | Up, Same: AllNodes, Says: c.says, Usage: "save a checkpoint every `K` iterations"},
		{Name: "metrics", Value: Text(&t.Log.Metrics, ""), Of: Node, Same: Nobody, Usage: "serve /metrics for Prometheus, /healthz and /readyz on `ADDRESS`"},
	}
}

// says is what nodes compare: all keep checkpoints of the same iterations, or none does.
func (c *Checkpoints) says() string {
	if c.Folder == "" {
		return "no checkpoints"
	}
	return fmt.Sprint(c.Every)
}

// ofData says what is learned from, what is written, and which rows are held out.
func (t *Training) ofData() []Option {
	f, c, s := &t.Files, &t.Table, &t.Split
	return []Option{
		{Name: "data", Value: Text(&f.Data, ""), Of: training, Same: Nobody, Common: true, Usage: DataUsage},
		{Name: "task", Value: Text(&c.Task, ""), Of: training, Same: AllNodes, Common: true, Tables: true, Usage: "`COLUMN` that names the task of a row (required)"},
		{Name: "target", Value: Text(&c.Target, ""), Of: training, Same: AllNodes, Common: true, Tables: true, Usage: "`COLUMN` to predict (required)"},
		{Name: "drop", Value: List(&c.Drop, nil), Of: training, Same: Checkpoint, Common: true, Tables: true, Usage: "`LIST` of columns to leave out"},
		{Name: "categorical", Value: List(&c.Categorical, nil), Of: training, Same: Checkpoint, Common: true, Tables: true, Usage: "`LIST` of columns that hold levels, not numbers"},
		{Name: "model", Value: Text(&f.Model, ""), Of: training, Same: Nobody, Common: true, Usage: "write the model to `FILE`.npz"},
		{Name: "report", Value: Text(&f.Report, ""), Of: Fit, Same: Nobody, Common: true, Usage: "write a web page with figures and tables to `DIR`"},
		{Name: "json", Value: Yes(&f.JSON), Of: training, Same: Nobody, Common: true, Usage: "print the result as JSON"},
		{Name: "test-fraction", Value: Number(&s.TestFraction, 0.25, 0, math.Nextafter(1, 0), "want at least 0 and less than 1"), Of: training, Same: Checkpoint, Common: true, Problem: "0", Usage: "share of every task's rows to hold out"},
		{Name: "test-rows-per-task", Value: Count(&s.TestRows, 0, 1, many), Of: training, Same: Checkpoint, Usage: "hold out `N` rows of every task instead"},
		{Name: "train-rows-per-task", Value: Count(&s.TrainRows, 0, 1, many), Of: training, Same: Checkpoint, Common: true, Usage: "train on `N` rows of every task instead"},
		{Name: "holdout", Value: Text(&c.Holdout, ""), Of: training, Same: Checkpoint, Common: true, Tables: true, Usage: "hold out the rows with 1 in `COLUMN` instead"},
		{Name: "test-last", Value: Text(&c.Time, ""), Of: training, Same: AllNodes, Common: true, Tables: true, Usage: "hold out the last rows of every task in the order of `COLUMN`, of dates or numbers; it is also a feature unless dropped"},
		{Name: "folds-by", Value: Text(&c.Group, ""), Of: training, Same: AllNodes, Common: true, Tables: true, Usage: "hold out, or keep, rows with the same value in `COLUMN` together, also in folds"},
		{Name: "sample-weights", Value: Text(&c.Weight, ""), Of: training, Same: Checkpoint, Common: true, Tables: true, Usage: "`COLUMN` with relative weights of rows"},
	}
}

// ofModel says what is known about the model before.
func (t *Training) ofModel() []Option {
	c := &t.Config
	return []Option{
		{Name: "rank", Value: Word(&c.Rank, auto, parseRank).within(0, many), Of: training, Same: AllNodes, Common: true, Usage: "`N`, the rank of the representation, or auto"},
		{Name: "intercept", Value: Word(&c.Intercept, auto, parseRidge).within(0, difalt.MaxRidge), Of: training, Same: AllNodes, Common: true, Tables: true, Usage: "ridge on the tasks' intercepts: `NUMBER`, 0 free, inf none"},
		{Name: "ridge", Value: Word(&c.Ridge, auto, parseRidge).within(0, difalt.MaxRidge), Of: training, Same: AllNodes, Common: true, Problem: "0", Usage: "ridge on tasks' other deviations: `NUMBER`"},
		{Name: "mean-ridge", Value: Word(&c.MeanRidge, auto, parseRidge).within(0, difalt.MaxRidge), Of: training, Same: AllNodes, Tables: true, Usage: "ridge on what tasks share: `NUMBER`"},
		{Name: "curve", Value: List(&c.Curves, nil), Of: training, Same: AllNodes, Common: true, Tables: true, Usage: "`LIST` of columns with curves, auto or none"},
		{Name: "log-target", Value: Word(&c.LogTarget, "", OneOf("yes, no or auto", map[string]*bool{"yes": new(true), "no": new(false), auto: nil})), Of: training, Same: AllNodes, Common: true, Tables: true, Usage: "logarithm of the target, `WHEN`: yes, no or auto"},
		{Name: "common-noise", Value: Yes(&c.CommonNoise), Of: training, Same: AllNodes, Tables: true, Usage: "one noise variance for all tasks, not one for each"},
		{Name: "epsilon", Value: Number(&c.Privacy.Epsilon, 0, math.SmallestNonzeroFloat64, private.MaxEpsilon, fmt.Sprintf("must be above 0 and at most %d", private.MaxEpsilon)), Of: training, Same: AllNodes, Common: true, Tables: true, Usage: "privacy budget of tasks, `NUMBER`; needs --rank"},
		{Name: "delta", Value: Number(&c.Privacy.Delta, 0, math.SmallestNonzeroFloat64, math.Nextafter(1, 0), "must be above 0 and below 1"), Of: training, Same: AllNodes, Tables: true, Usage: "`NUMBER`, the probability that --epsilon does not hold (default T^-1.1 for T tasks)"},
		{Name: "colluding", Value: Count(&c.Privacy.Colluding, 0, 0, many), Of: training, Same: AllNodes, Tables: true, Usage: "let --epsilon hold against `N` colluding nodes (default 0: against outsiders)"},
		{Name: "continue", Value: Text(&t.Files.Continue, ""), Of: training, Same: Nobody, Common: true, Tables: true, Usage: "start from the model `FILE`.npz"},
	}
}

// ofReading says how the files of a table are read.
func (t *Training) ofReading() []Option {
	c, missing := &t.Table, map[string]dataset.Missing{"refuse": dataset.MissingRefuse, "drop": dataset.MissingDrop, "mean": dataset.MissingKeep}
	return []Option{
		{Name: "delimiter", Value: Word(&c.Delimiter, "", mark("tab", '\t')), Of: readers | Describe, Same: Checkpoint, Tables: true, Usage: "`CHARACTER` between the cells of CSV, or tab (default detected from the first rows)"},
		{Name: "decimal", Value: Word(&c.Decimal, "", mark("", 0)), Of: readers | Describe, Same: Checkpoint, Tables: true, Usage: "decimal `MARK` of CSV: . or , (default detected)"},
		{Name: "thousands", Value: Word(&c.Thousands, "", mark("space", ' ')), Of: readers | Describe, Same: Checkpoint, Tables: true, Usage: "thousands separator of CSV, a `MARK`: one of , . ' or space (default detected for each column)"},
		{Name: "dates", Value: Text(&c.Dates, ""), Of: readers | Describe, Same: Checkpoint, Tables: true, Usage: "`ORDER` of dates in CSV with the year last: dmy or mdy (default detected); dates become days since 1970-01-01"},
		{Name: "no-header", Value: Yes(&c.NoHeader), Of: readers | Describe, Same: Checkpoint, Tables: true, Usage: "CSV has no header line; the columns are c0, c1, ..."},
		{Name: "missing", Value: Word(&c.Missing, "refuse", OneOf("refuse, drop or mean", missing)), Of: readers, Same: Checkpoint, Common: true, Tables: true, Usage: "missing values, `WHAT`: refuse, drop (their rows), or mean (of the training rows)"},
		{Name: "float32", Value: when(&c.Storage, kernel.Float32), Of: readers, Same: Checkpoint, Tables: true, Usage: "store features as float32, in half of the memory"},
		{Name: "samples-on-disk", Value: Text(&c.Folder, ""), Of: training, Same: Nobody, Usage: "keep features in files in `DIR`, for data larger than memory; a problem file is then fitted with copies in 16 bits"},
	}
}

// ofNetwork says on which nodes tasks live, and who talks to whom.
func (t *Training) ofNetwork() []Option {
	o := &t.Config.Options
	return []Option{
		{Name: "node", Value: Text(&t.Table.Node, ""), Of: Fit, Same: Nobody, Common: true, Tables: true, Usage: "`COLUMN` that names the node where a task lives"},
		{Name: "nodes", Value: Count(&t.Nodes, 0, 1, many), Of: Fit, Same: Nobody, Common: true, Usage: "put the tasks on `N` nodes (default 10, or one per file)"},
		{Name: "graph", Value: Text(&t.Graph, DefaultGraph), Of: training, Same: Nobody, Engine: "mpi", Usage: "`KIND` of network; see difalt simulate --help"},
		{Name: "weights", Value: Word(&t.Rule, "metropolis", topology.ParseRule), Of: training, Same: Nobody, Engine: "mpi", Usage: "`KIND` of mixing weights"},
		{Name: "seed", Value: Seed(&o.Seed, 1), Of: training, Same: AllNodes, Common: true, Usage: "seed of everything that is random"},
		{Name: "workers", Value: Count(&o.Workers, 0, 0, kernel.MaxWorkers), Of: training, Same: Nobody, Usage: "threads (default all processors)"},
		{Name: "trace", Value: Text(&t.Files.Trace, ""), Of: Fit | Node, Same: Nobody, Usage: "write every iteration to `FILE`.csv"},
	}
}

// ofAlgorithm says by which method nodes train, and how they agree.
func (t *Training) ofAlgorithm() []Option {
	c, o := &t.Config, &t.Config.Options
	return []Option{
		{Name: "folds", Value: Count(&c.Folds, 5, 2, many), Of: training, Same: AllNodes, Usage: "folds for the ridges of the simpler methods"},
		{Name: "method", Value: Word(&o.Method, "", difalt.ParseMethod), Of: training, Same: AllNodes, Problem: "dif", Usage: "`NAME` of the algorithm (default accelerated; accelerated-tracking with --agree plain or chebyshev)"},
		{Name: "auto", Value: Yes(&c.Auto), Of: training, Same: AllNodes, Usage: "let the program choose method and agreement"},
		{Name: "agree", Value: Word(&o.Agreement.Polynomial, "", consensus.ParsePolynomial), Of: training, Same: AllNodes, Usage: "`KIND` of agreement: tree, by which others learn totals over all nodes; or gossip, plain or chebyshev, in which neighbours see this node's estimates (default tree; for a problem file plain, but tree if --method is accelerated or newton)"},
		{Name: "compress", Value: Word(&o.Agreement.Codec, "", consensus.ParseCodec), Of: training, Same: AllNodes, Usage: "`KIND` of compression of messages: none, float32, int16, int8 or int4 (default none; int8 with --agree plain or chebyshev and no --method)"},
		{Name: "starts", Value: Count(&c.Starts, 3, 1, maxStarts), Of: training, Same: AllNodes, Problem: "1", Usage: "number of starts of the algorithm, of which the best counts, in a plain fit"},
		{Name: "rounds", Value: Count(&o.Rounds, 10, 1, difalt.MaxRounds), Of: training, Same: AllNodes, Usage: "rounds of gossip in an iteration"},
		{Name: "init-rounds", Value: Count(&o.Initialization.Rounds, 0, 1, difalt.MaxRounds), Of: training, Same: AllNodes, Usage: "rounds of gossip in the initialisation"},
		{Name: "power-iterations", Value: Count(&o.Initialization.PowerIterations, o.Initialization.PowerIterations, 1, difalt.MaxIterations), Of: training, Same: AllNodes, Problem: "30", Usage: "power iterations of the initialisation"},
		{Name: "iterations", Value: Count(&o.Iterations, o.Iterations, 1, difalt.MaxIterations), Of: training, Same: AllNodes, Usage: "maximum number of iterations"},
		{Name: "tolerance", Value: Number(&o.Tolerance, o.Tolerance, -math.MaxFloat64, math.MaxFloat64, "must be finite"), Of: training, Same: AllNodes, Says: t.tolerance, Problem: "0", Usage: "stop when U is this close to its optimum; negative: never"},
		{Name: "step", Value: Word(&o.Step, auto, parseStep).within(math.SmallestNonzeroFloat64, difalt.MaxStep), Of: training, Same: AllNodes, Usage: "step size eta: `NUMBER`"},
		{Name: "normalize-tasks", Value: Yes(&o.NormalizeTasks), Of: training, Same: AllNodes, Usage: "divide tasks by their root mean square"},
	}
}

// tolerance is what nodes compare: --trace has a say in it.
func (t *Training) tolerance() string {
	if t.Config.Options.EveryIteration {
		return "-1"
	}
	return fmt.Sprint(t.Config.Options.Tolerance)
}

// ofLog says how a node that is on its own goes about it.
func (t *Training) ofLog() []Option {
	return []Option{
		{Name: "engine", Value: Word(&t.Engine, "grpc", OneOf("grpc or mpi", map[string]string{"grpc": "grpc", "mpi": "mpi"})), Of: Node, Same: Nobody, Usage: "transport of messages: grpc; or mpi, between processes that mpirun or srun starts (in builds with -tags mpi)"},
		{Name: "log", Value: Word(&t.Log.Format, "text", OneOf("text or json", map[string]string{"text": "text", "json": "json"})), Of: Node, Same: Nobody, Usage: "format of the log on standard error: text or json"},
		{Name: "log-every", Value: Span(&t.Log.Every, 5*time.Second, 1), Of: Node, Same: Nobody, Usage: "`TIME` between two log lines on the progress"},
		{Name: "stay", Value: Yes(&t.Stay), Of: Node, Same: Nobody, Engine: "grpc", Usage: "when done, wait for SIGTERM, so that a supervisor does not start the process again"},
		{Name: "no-report", Value: Yes(&t.NoReport), Of: Node, Same: Nobody, Hidden: true, Usage: "make no report"},
		{Name: "until-eof", Value: Yes(&t.UntilEOF), Of: Node, Same: Nobody, Hidden: true, Usage: "leave when standard input ends"},
	}
}
