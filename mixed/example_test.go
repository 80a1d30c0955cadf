package mixed_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"math"
	"strings"

	"github.com/difalt/difalt/mixed"
)

func train(ctx context.Context, table mixed.Table, file io.Writer) (*mixed.Model, error) {
	model, report, err := mixed.Fit(ctx, mixed.Input{Table: table}, mixed.Options{})
	if err != nil {
		return nil, err
	}
	fmt.Print(strings.Join(report.Notes, "\n")) // what a user should know of the data and the result
	return model, model.Save(file)
}

// patients appends patients of a clinic to a table: their score rises by 2 a dose, from the clinic's level.
func patients(table *mixed.Data, clinic string, level float64, n int) {
	for i := range n {
		dose := float64(i%5) + 1
		if err := table.Append(clinic, level+2*dose+.4*math.Sin(float64(7*i)+level), dose); err != nil {
			log.Fatal(err)
		}
	}
}

// Six clinics have twelve patients each, and levels from 44 to 57. A new clinic is predicted by their mean,
// and by its own level once the model has adapted to three of its patients.
func ExampleFit() {
	table, news := &mixed.Data{Names: []string{"dose"}}, &mixed.Data{Names: []string{"dose"}}
	for i, level := range []float64{48, 55, 51, 44, 57, 50} {
		patients(table, fmt.Sprint("clinic ", i), level, 12)
	}
	patients(news, "new", 40, 3)
	var file bytes.Buffer
	model, err := train(context.Background(), table, &file)
	if err != nil {
		log.Fatal(err)
	}
	adapted, err := model.Adapt(context.Background(), news)
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range []*mixed.Model{model, adapted} {
		p, err := m.PredictError("new", []float64{3})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("at dose 3: %.0f, known %v\n", p.Value, p.Known)
	}
	// Output:
	// at dose 3: 57, known false
	// at dose 3: 46, known true
}

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
			Covariances: []mixed.Covariance{{Packed: []float64{.01, 0, .02}}, {Packed: []float64{.02, 0, .02}}},
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
		fmt.Printf("%s %v: %.1f +- %.1f, a single patient +- %.1f\n", clinic, p.Known, p.Value, 1.96*p.StandardError,
			1.96*p.SampleError)
	}
	// Output:
	// [north south] [dose]
	// north true: 58.0 +- 3.4, a single patient +- 10.4
	// east false: 55.0 +- 7.6, a single patient +- 12.4
}
