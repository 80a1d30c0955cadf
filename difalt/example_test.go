package difalt_test

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/internal/testnet"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/topology"
	"gonum.org/v1/gonum/mat"
)

// learn runs nodes that are the vertices of a graph.
func learn(ctx context.Context, nodes []*kernel.Tasks, graph *topology.Graph) (*difalt.Result, error) {
	problem, network, err := difalt.InProcess(nodes, graph)
	if err != nil {
		return nil, err
	}
	return difalt.Run(ctx, problem, network, difalt.Options{Rank: 2})
}

// fiveSites returns five sites of eight tasks y = x'U b each, with U = [e_0 e_1], and with
// noise in the responses.
func fiveSites(noise float64) (nodes []*kernel.Tasks) {
	rng, errs := rand.New(rand.NewPCG(1, 2)), rand.New(rand.NewPCG(3, 4))
	for range 5 {
		var xs [][]float64 // a table of all samples
		var ys []float64
		first := []int{0} // where tasks begin in it
		for range 8 {
			b0, b1 := rng.NormFloat64(), rng.NormFloat64()
			for range 15 {
				x := make([]float64, 20)
				for k := range x {
					x[k] = rng.NormFloat64()
				}
				xs, ys = append(xs, x), append(ys, b0*x[0]+b1*x[1])
			}
			first = append(first, len(xs))
		}
		if noise > 0 {
			for i := range ys {
				ys[i] += noise * errs.NormFloat64()
			}
		}
		nodes = append(nodes, kernel.TasksOf(xs, ys, first, kernel.Float64))
	}
	return nodes
}

// Five sites hold eight tasks each, of 15 samples, and recover the representation
// that all forty share.
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

// must ends an example at an error.
func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}

// onARing returns the problem of nodes on a ring in this process, and their network.
func onARing(nodes []*kernel.Tasks) (*difalt.Problem, *consensus.Network) {
	problem, network, err := difalt.InProcess(nodes, must(topology.Ring(len(nodes))))
	if err != nil {
		log.Fatal(err)
	}
	return problem, network
}

// A run is stored after ten iterations; another process takes it up and ends where it would
// have ended.
func ExampleSolver_Restore() {
	ctx := context.Background()
	problem, network := onARing(fiveSites(0))
	options := difalt.Options{Rank: 2, Method: difalt.Accelerated}
	solver := must(difalt.NewSolver(problem, network, options))
	defer solver.Close()
	for range 10 {
		must(solver.Step(ctx))
	}
	stored := must(must(solver.Snapshot(ctx)).MarshalBinary())

	problem, network = onARing(fiveSites(0)) // elsewhere
	again := must(difalt.NewSolver(problem, network, options))
	defer again.Close()
	var snapshot difalt.Snapshot
	if err := snapshot.UnmarshalBinary(stored); err != nil {
		log.Fatal(err)
	}
	if err := again.Restore(&snapshot); err != nil {
		log.Fatal(err)
	}
	first, second := must(solver.Run(ctx)), must(again.Run(ctx))
	fmt.Println(snapshot.Iteration(), second.Status, second.Iterations == first.Iterations, mat.Equal(second.U[0], first.U[0]))
	// Output: 10 converged true true
}

// The caller looks at every state and stops when the objective is small enough for it.
func ExampleSolver_Iterations() {
	problem, network := onARing(fiveSites(0))
	solver := must(difalt.NewSolver(problem, network, difalt.Options{Rank: 2, Method: difalt.ScaledDiffusion}))
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
			fmt.Println("enough after", record.Iteration, "iterations")
			break
		}
	}
	// Output: enough after 14 iterations
}

// Five sites find their representation, of which nobody can tell what a single task adds to it.
func ExampleRunPrivate() {
	problem, network := onARing(fiveSites(.1)) // features of about one size, by what is publicly known
	result, err := difalt.RunPrivate(context.Background(), problem, network, difalt.Privacy{Rank: 2, Epsilon: 8})
	if err != nil {
		log.Fatal(err)
	}
	d, r := result.U.Dims()
	fmt.Printf("a %d x %d representation, epsilon %.0f at delta %.3f\n", d, r, result.Account.Epsilon(), result.Account.Delta())
	for _, s := range result.Account.Spent() {
		fmt.Printf("%s: %d numbers, rho %.2f\n", s.What, s.Numbers, s.Rho)
	}
	fmt.Printf("against another site, which knows its own noise: epsilon %.1f\n", result.Account.Against(1, network.Len()))
	// Output:
	// a 20 x 2 representation, epsilon 8 at delta 0.017
	// the directions of the coefficients: 210 numbers, rho 2.13
	// against another site, which knows its own noise: epsilon 9.2
}

// Auto chooses how nodes agree by the graph and by how many samples and tasks each has.
func ExampleAuto() {
	ctx := context.Background()
	problem, network := onARing(fiveSites(0.1))
	options := must(difalt.Auto(ctx, problem, network, difalt.Options{Rank: 2}))
	result := must(difalt.Run(ctx, problem, network, options))
	fmt.Printf("%v, %v, %d rounds: %v\n", options.Method, options.Agreement, options.Rounds, result.Status)
	// Output: newton, tree int8, 4 rounds: converged
}

// The responses of all tasks are measured anew: the run starts from the U of before, with
// the samples where they are.
func Example_otherResponses() {
	ctx := context.Background()
	problem, network := onARing(fiveSites(0))
	options := difalt.Options{Rank: 2, Method: difalt.ScaledDiffusion, StopAtNoise: true}
	first := must(difalt.Run(ctx, problem, network, options))
	again := &difalt.Problem{U0: first.U}
	for g, node := range fiveSites(0.01) {
		var y []float64
		for t := range node.Len() {
			y = append(y, node.Y(t)...)
		}
		again.Nodes = append(again.Nodes, problem.Nodes[g].WithResponses(y))
	}
	second := must(difalt.Run(ctx, again, network, options))
	fmt.Println(first.Status, second.Status, second.Iterations < first.Iterations, second.InitTraffic.Rounds < first.InitTraffic.Rounds)
	// Output: converged converged true true
}

// Each of two processes hosts some of the nodes. What stands here for the wire between them
// is a pair of pipes; engine/grpc and engine/mpi are transports between machines.
func Example_transport() {
	nodes := fiveSites(0)
	ring := must(topology.Ring(len(nodes)))
	hosted := [][]int{{0, 1}, {2, 3, 4}}
	transports := must(testnet.Connect(ring, hosted, testnet.Options{}))
	status := make([]difalt.Status, len(hosted))
	var processes sync.WaitGroup
	for k, transport := range transports {
		processes.Go(func() {
			defer transport.Close()
			network := must(consensus.New(must(topology.NewWeights(ring, topology.Metropolis)), transport))
			problem := &difalt.Problem{}
			for _, g := range network.Hosted() {
				problem.Nodes = append(problem.Nodes, nodes[g])
			}
			status[k] = must(difalt.Run(context.Background(), problem, network, difalt.Options{Rank: 2, Method: difalt.Accelerated})).Status
		})
	}
	processes.Wait()
	fmt.Println(status)
	// Output: [converged converged]
}

// TestReadme holds the example in README.md to the one that compiles above.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(readme), "```go\n")
	example, _, _ := strings.Cut(rest, "```")
	if !ok || len(strings.Split(example, "\n")) < 8 || !strings.Contains(string(source), example) {
		t.Error("the example in README.md is not in example_test.go")
	}
}
