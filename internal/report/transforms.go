package report

import "github.com/difalt/difalt/model"

// A transform is what takes the place of a column.
type transform struct {
	Column string    `json:"column"`
	Kind   string    `json:"kind"`
	Knots  []float64 `json:"knots"`
}

// transforms returns those of a model.
func transforms(m *model.Model) []transform {
	list := []transform{}
	for _, c := range m.Parameters().Scaling.Transforms {
		list = append(list, transform{m.Features()[c.Feature], c.Kind, c.Knots})
	}
	return list
}
