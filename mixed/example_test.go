package mixed_test

import (
	"bytes"
	"fmt"
	"log"

	"github.com/difalt/difalt/mixed"
)

// A service predicts for tasks that it knows and for others; goroutines may share the model. Here
// New makes it from numbers of any origin, of two clinics with one feature.
func Example() {
	trained, err := mixed.New(mixed.Parameters{
		Estimator:      "by hand",
		Schema:         mixed.Schema{Columns: []string{"dose"}},
		Design:         mixed.Design{Fill: []float64{2}, Center: []float64{2}, Scale: []float64{1}},
		Target:         mixed.Target{Column: "score", Center: 50, Scale: 10},
		Mean:           []float64{0, .5}, // of the constant and the standardised dose
		MeanCovariance: []float64{.01, 0, .01},
		Prior:          mixed.Prior{Deviations: []float64{.3, .2}, Noise: mixed.Noise{Variance: .25}},
		Tasks: mixed.Tasks{
			Column: "clinic", Names: []string{"north", "south"}, Samples: []int{20, 15},
			Theta:       []float64{.2, .6, -.2, .4},
			Covariances: [][]float64{{.01, 0, .02}, {.02, 0, .02}},
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	var file bytes.Buffer
	if err := trained.Save(&file); err != nil {
		log.Fatal(err)
	}
	m, err := mixed.Load(bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(m.Tasks(), m.Features())
	for _, clinic := range []string{"north", "east"} {
		p, err := m.PredictError(clinic, []float64{3})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s %v: %.1f +- %.1f, a single patient +- %.1f\n", clinic, p.Known, p.Value, 1.96*p.StandardError, 1.96*p.SampleError)
	}
	// Output:
	// [north south] [dose]
	// north true: 58.0 +- 3.4, a single patient +- 10.4
	// east false: 55.0 +- 7.6, a single patient +- 12.4
}
