package model_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"

	"github.com/difalt/difalt/cmd/difalt/dataset"
	"github.com/difalt/difalt/cmd/difalt/fit"
	"github.com/difalt/difalt/cmd/difalt/model"
	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/topology"
)

// trained returns a model of a few clinics for the examples below.
func trained() *model.Model {
	table, err := dataset.NewTable([]string{"dose", "age"}, true, kernel.Float64)
	if err != nil {
		log.Fatal(err)
	}
	for clinic, slope := range map[string]float64{"north": 2, "south": -1, "west": 3} {
		for i := range 12 {
			dose, age := float64(i%4), float64(20+7*i%50)
			if err := table.Append(clinic, "", []float64{dose, age}, 10+slope*dose+0.1*age); err != nil {
				log.Fatal(err)
			}
		}
	}
	if err := table.AssignBlocks(1); err != nil {
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
	m, _, err := fit.Fit(context.Background(), table, fit.Config{
		Network: network,
		Options: fit.DefaultOptions(0), Starts: 3,
	})
	if err != nil {
		log.Fatal(err)
	}
	return m
}

// Serve predictions: a batch of rows of any tasks, into the caller's memory. One
// model serves all goroutines.
func ExampleModel_PredictBatch() {
	m := trained()
	scores := make([]float64, 2)
	tasks := []string{"north", "south"}
	rows := []float64{
		3, 40, // dose and age of the first
		3, 40,
	}
	if err := m.PredictBatch(scores, tasks, rows); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.1f\n", scores)
	// Output: [20.0 11.0]
}

// A service answers with predictions and says how sure they are, also about tasks that the model does not know: a
// request may ask to be refused these. A model is immutable: all requests use the same one, and another takes its place at once.
func Example_service() {
	var current atomic.Pointer[model.Model]
	current.Store(trained())
	type request struct {
		Task      string    `json:"task"`
		Features  []float64 `json:"features"`
		KnownOnly bool      `json:"known_only"`
	}
	type answer struct {
		Prediction    float64 `json:"prediction"`
		StandardError float64 `json:"stderr"`
		SampleError   float64 `json:"sample_stderr"`
		Known         bool    `json:"known"`
	}
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in request
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<16)).Decode(&in); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		m := current.Load()
		p, err := m.PredictAnyError(in.Task, in.Features)
		if err == nil && in.KnownOnly {
			_, err = m.Predict(in.Task, in.Features)
		}
		switch {
		case errors.Is(err, model.ErrUnknownTask):
			http.Error(w, err.Error(), http.StatusNotFound)
			return
		case err != nil: // names the feature, or the number of them
			http.Error(w, err.Error(), http.StatusUnprocessableEntity)
			return
		}
		if err := json.NewEncoder(w).Encode(answer{p.Y, p.StandardError, p.SampleError, p.Known}); err != nil {
			log.Print(err)
		}
	}))
	defer service.Close()
	for _, body := range []string{
		`{"task": "north", "features": [3, 40]}`, `{"task": "mars", "features": [3, 40]}`, `{"task": "mars", "features": [3, 40], "known_only": true}`,
	} {
		response, err := http.Post(service.URL, "application/json", strings.NewReader(body))
		if err != nil {
			log.Fatal(err)
		}
		text, err := io.ReadAll(response.Body)
		if err != nil {
			log.Fatal(err)
		}
		response.Body.Close()
		var a answer
		if json.Unmarshal(text, &a) == nil {
			fmt.Printf("%d: about 20: %v, known: %v, sure to one digit: %v\n", response.StatusCode, math.Abs(a.Prediction-20) < 5, a.Known, a.StandardError < 0.5)
		} else {
			fmt.Printf("%d: %s", response.StatusCode, text)
		}
	}
	// Output:
	// 200: about 20: true, known: true, sure to one digit: true
	// 200: about 20: true, known: false, sure to one digit: false
	// 404: the model does not know task "mars": add it with adapt
}

// A model travels as bytes, which are those of the file that Save writes. Those of
// another version are refused.
func ExampleModel_MarshalBinary() {
	data, err := trained().MarshalBinary()
	if err != nil {
		log.Fatal(err)
	}
	var m model.Model
	if err := m.UnmarshalBinary(data); err != nil {
		log.Fatal(err)
	}
	score, err := m.Predict("west", []float64{1, 30})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.1f\n", score)
	// Output: 16.0
}

// Add a task from a few rows, and say how sure its prediction is.
func ExampleModel_PredictError() {
	m := trained()
	few, err := dataset.NewTable(m.Features(), true, kernel.Float64)
	if err != nil {
		log.Fatal(err)
	}
	for _, row := range [][3]float64{{0, 30, 13}, {2, 41, 16.1}, {3, 35, 16.5}} {
		if err := few.Append("east", "", row[:2], row[2]); err != nil {
			log.Fatal(err)
		}
	}
	adapted, err := m.Adapt(few)
	if err != nil {
		log.Fatal(err)
	}
	score, standardError, err := adapted.PredictError("east", []float64{1, 30})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.0f, sure to one digit: %v\n", score, standardError < 0.5)
	// Output: 14, sure to one digit: true
}
