package difalt_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"math"
	"math/rand/v2"

	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/difalt/features"
	"github.com/difalt/difalt/difalt/minimum"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/topology"
	"gonum.org/v1/gonum/mat"
)

func forecast(ctx context.Context, x []mat.Matrix, y [][]float64, row []float64) ([]float64, error) {
	tasks, err := kernel.NewTasks(x, y) // the samples of every task, a row each, and their responses
	if err != nil {
		return nil, err // names the task and the row
	}
	model, err := difalt.Fit(ctx, tasks, 4) // U has 4 columns; data may have any offsets, sizes and units
	if err != nil {
		return nil, err
	}
	return model.Predict(nil, 0, row), nil // of task 0; see also model.Adapt, for new tasks, and model.Save
}

func learn(ctx context.Context, nodes []*kernel.Tasks, graph *topology.Graph) (*difalt.Result, error) {
	problem, network, err := difalt.InProcess(nodes, graph)
	if err != nil {
		return nil, err
	}
	options := difalt.Options{Rank: 2, Method: difalt.Accelerated}
	return difalt.Run(ctx, problem, network, options)
}

// fiveSites returns five sites with eight tasks each, of 15 samples y = x'U b with U = [e_0 e_1] and noise.
func fiveSites(noise float64) (nodes []*kernel.Tasks) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 5 {
		const d, stride = 20, 24 // features, and their number rounded up to a multiple of 8
		var xs, ys []float64     // the samples of all tasks of a site, row after row
		first := []int{0}        // the first sample of every task, and the number of samples
		for range 8 {
			b0, b1 := rng.NormFloat64(), rng.NormFloat64()
			for range 15 {
				x := make([]float64, stride)
				for k := range d {
					x[k] = rng.NormFloat64()
				}
				xs, ys = append(xs, x...), append(ys, b0*x[0]+b1*x[1]+noise*rng.NormFloat64())
			}
			first = append(first, len(ys))
		}
		nodes = append(nodes, kernel.View(xs, stride, d, first, ys))
	}
	return nodes
}

// must ends an example at an error.
func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}

// Sixty tasks of 12 samples with 20 features: the directions that they share make up for the missing samples.
func ExampleFit() {
	rng := rand.New(rand.NewPCG(3, 4))
	u := mat.NewDense(20, 4, nil)
	u.Apply(func(int, int, float64) float64 { return rng.NormFloat64() }, u)
	x, y := make([]mat.Matrix, 60), make([][]float64, 60)
	theta := mat.NewVecDense(20, nil)
	for t := range x {
		samples, b := mat.NewDense(12, 20, nil), mat.NewVecDense(4, nil)
		samples.Apply(func(_, j int, _ float64) float64 { return 5 + rng.NormFloat64()*float64(j+1) }, samples)
		for j := range 4 {
			b.SetVec(j, rng.NormFloat64())
		}
		var effects, responses mat.VecDense
		effects.MulVec(u, b)
		responses.MulVec(samples, &effects)
		for i := range 12 {
			y[t] = append(y[t], 1e6*(responses.AtVec(i)+7)) // in cents, with an intercept
		}
		if x[t] = samples; t == 0 {
			theta.CloneFromVec(&effects)
		}
	}
	row := mat.Row(nil, 3, x[1])
	prediction, err := forecast(context.Background(), x, y, row)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("off by %.6f of the truth", math.Abs(prediction[0]/(1e6*(mat.Dot(mat.NewVecDense(20, row), theta)+7))-1))
	// Output: off by 0.000000 of the truth
}

// Five sites recover the representation that their forty tasks share.
func Example() {
	result, err := learn(context.Background(), fiveSites(0), must(topology.Ring(5)))
	if err != nil {
		log.Fatal(err)
	}
	theta := result.Theta(3, 0) // of node 3, task 0
	length := 0.0
	for _, v := range theta {
		length += v * v
	}
	fmt.Printf("%v: theta has %.4f of its length in the first two features\n", result.Status,
		(theta[0]*theta[0]+theta[1]*theta[1])/length)
	// Output: converged: theta has 1.0000 of its length in the first two features
}

// A run is stored after ten iterations, and another process continues it.
func ExampleSolver_Snapshot() {
	ctx := context.Background()
	problem, network, err := difalt.InProcess(fiveSites(0), must(topology.Ring(5)))
	if err != nil {
		log.Fatal(err)
	}
	options := difalt.Options{Rank: 2}
	solver := must(difalt.NewSolver(problem, network, options))
	defer solver.Close()
	for range 10 {
		must(solver.Step(ctx))
	}
	stored := must(must(solver.Snapshot()).MarshalBinary())

	again := must(difalt.NewSolver(problem, network, options)) // elsewhere, later
	defer again.Close()
	var snapshot difalt.Snapshot
	if err := errors.Join(snapshot.UnmarshalBinary(stored), again.Restore(&snapshot)); err != nil {
		log.Fatal(err)
	}
	result := must(again.Run(ctx))
	fmt.Println(snapshot.Iteration(), result.Status,
		difalt.SubspaceDistance(result.U[0], must(solver.Run(ctx)).U[0]) < 1e-12)
	// Output: 10 converged true
}

// The caller inspects every state and stops when the objective is small enough.
func ExampleSolver_Iterations() {
	problem, network, err := difalt.InProcess(fiveSites(0), must(topology.Ring(5)))
	if err != nil {
		log.Fatal(err)
	}
	solver := must(difalt.NewSolver(problem, network, difalt.Options{Rank: 2, Method: difalt.Accelerated}))
	defer solver.Close()
	start := 0.0
	for record, err := range solver.Iterations(context.Background()) {
		if err != nil {
			log.Fatal(err)
		}
		if record.Iteration == 0 {
			start = record.Objective
		}
		if record.Objective < 1e-6*start {
			fmt.Println("small after", record.Iteration, "iterations")
			break
		}
	}
	fmt.Println(must(solver.Result()).Status)
	// Output:
	// small after 9 iterations
	// canceled
}

// Features with offsets are standardised, and the estimate is converted to the units of the data.
func Example_features() {
	ctx := context.Background()
	nodes := moved(&difalt.Problem{Nodes: fiveSites(0)}, 100, nil).Nodes
	problem, network, err := difalt.InProcess(nodes, must(topology.Ring(5)))
	if err != nil {
		log.Fatal(err)
	}
	standard, scaling, err := features.Standardize(ctx, network, nodes)
	if err != nil {
		log.Fatal(err)
	}
	problem.Nodes = standard
	result := must(difalt.Run(ctx, problem, network, difalt.Options{Rank: 2, Method: difalt.Accelerated}))
	u, b, intercepts := scaling.Undo(0, result.U[0], result.B[0])
	prediction, row := intercepts[0], nodes[0].Row(make([]float64, 20), 0, 0)
	for j := range 2 {
		for k, x := range row {
			prediction += b[j] * u.Col(j)[k] * x
		}
	}
	fmt.Printf("%v, off by %.6f\n", result.Status, max(prediction-nodes[0].Y(0)[0], nodes[0].Y(0)[0]-prediction))
	// Output: converged, off by 0.000000
}

// After a run of its own loop, a program checks whether the end is a minimum.
func Example_minimum() {
	ctx := context.Background()
	problem, network, err := difalt.InProcess(fiveSites(0.1), must(topology.Ring(5)))
	if err != nil {
		log.Fatal(err)
	}
	solver := must(difalt.NewSolver(problem, network, difalt.Options{Rank: 2, Method: difalt.Accelerated}))
	defer solver.Close()
	for status := difalt.Running; status == difalt.Running; {
		status = must(solver.Step(ctx))
	}
	outcome := must(minimum.Check(ctx, network, problem.Nodes, solver.U(), minimum.Options{}))
	fmt.Println(outcome.Verdict == minimum.Minimum)
	// Output: true
}
