package fit_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/difalt/difalt/cmd/difalt/dataset"
	"github.com/difalt/difalt/cmd/difalt/fit"
	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/topology"
)

// Train on a table with a network of four nodes, compare with the baselines on
// held-out rows, and predict.
func Example() {
	file, err := os.Open("../../../examples/clinics.csv")
	if err != nil {
		log.Fatal(err)
	}
	defer file.Close()
	table, err := dataset.ReadCSV(file, dataset.TableOptions{Task: "clinic", Target: "score", Drop: []string{"patient"}})
	if err != nil {
		log.Fatal(err)
	}
	if err := table.AssignBlocks(4); err != nil {
		log.Fatal(err)
	}
	train, err := table.Split(dataset.Split{TestFraction: 0.25, Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	graph, err := topology.Ring(4)
	if err != nil {
		log.Fatal(err)
	}
	weights, err := topology.NewWeights(graph, topology.Metropolis)
	if err != nil {
		log.Fatal(err)
	}
	network, err := consensus.New(weights, nil)
	if err != nil {
		log.Fatal(err)
	}
	m, report, err := fit.Fit(context.Background(), table, fit.Config{
		Network: network,
		Options: fit.DefaultOptions(0), Starts: 3, Train: train,
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, s := range report.Scores {
		fmt.Printf("%-28s explained variance %.1f\n", s.Method, s.Test.ExplainedVariance)
	}
	patient := []float64{61, 74, 130, 102, 68, 8, 22, 4}
	score, err := m.Predict("C07", patient)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("predicted a score:", score > 0)
	_, err = m.Predict("C99", patient)
	fmt.Println(err)
	// Output:
	// shared representation        explained variance 0.7
	// pooled ridge with intercepts explained variance 0.3
	// splines with intercepts      explained variance 0.3
	// pooled ridge                 explained variance 0.2
	// one ridge per task           explained variance 0.6
	// mean of the task             explained variance 0.1
	// predicted a score: true
	// the model does not know task "C99": add it with adapt
}

// Train on a table in memory: ten machines, whose output depends on the temperature in a way of their own.
func ExampleFit() {
	table, err := dataset.NewTable([]string{"temperature"}, true, kernel.Float64)
	if err != nil {
		log.Fatal(err)
	}
	for machine := range 10 {
		for hour := range 20 {
			temperature := float64(15 + (machine+3*hour)%11)
			output := 100 + float64(machine%5)*temperature + 0.1*float64((7*machine+5*hour)%9)
			if err := table.Append(fmt.Sprint("machine ", machine), "plant", []float64{temperature}, output); err != nil {
				log.Fatal(err)
			}
		}
	}
	if err := table.AssignNode("plant"); err != nil { // one owner of all data
		log.Fatal(err)
	}
	graph, err := topology.Complete(1)
	if err != nil {
		log.Fatal(err)
	}
	weights, err := topology.NewWeights(graph, topology.Metropolis)
	if err != nil {
		log.Fatal(err)
	}
	network, err := consensus.New(weights, nil)
	if err != nil {
		log.Fatal(err)
	}
	m, _, err := fit.Fit(context.Background(), table, fit.Config{Network: network, Options: fit.DefaultOptions(0), Rank: -1})
	if err != nil {
		log.Fatal(err)
	}
	output, err := m.Predict("machine 3", []float64{20})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("machine 3 at 20 degrees: %.0f\n", output)
	// Output:
	// machine 3 at 20 degrees: 160
}
