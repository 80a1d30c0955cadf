package mixed

import (
	"fmt"
	"slices"
)

// A Schema lists the feature columns of a table in their order, and the categorical ones among them. With it
// other files are read to these features. It can be stored as JSON.
type Schema struct {
	Columns    []string   `json:"columns"`
	Categories []Category `json:"categories,omitempty"`
	// Dates lists columns of numbers that are days since 1970-01-01, so that readers may show dates. Several
	// owners train alike whatever it has, and each model has the list of its owner.
	Dates []string `json:"dates,omitempty"`
}

// A Category is a categorical column and its levels.
type Category struct {
	Column string   `json:"column"`
	Levels []string `json:"levels"`
}

// Levels returns the levels of a column, and whether it is categorical.
func (s *Schema) Levels(column string) (levels []string, categorical bool) {
	i := slices.IndexFunc(s.Categories, func(c Category) bool { return c.Column == column })
	if i < 0 {
		return nil, false
	}
	return s.Categories[i].Levels, true
}

// byColumn returns the levels of all categorical columns. A search for each of many columns would take the
// square of their number.
func (s *Schema) byColumn() map[string][]string {
	levels := make(map[string][]string, len(s.Categories))
	for _, c := range s.Categories {
		levels[c.Column] = c.Levels
	}
	return levels
}

// Features returns the names of the features: the name of a column of numbers, and
// "column=level" for every level of a categorical column.
func (s *Schema) Features() []string {
	coded, n := s.byColumn(), len(s.Columns)
	for i := range s.Categories {
		n += len(s.Categories[i].Levels)
	}
	names := make([]string, 0, n)
	for _, column := range s.Columns {
		levels, ok := coded[column]
		if !ok {
			names = append(names, column)
		}
		for _, level := range levels {
			names = append(names, column+"="+level)
		}
	}
	return names
}

// Validate refuses categories without levels, two categories of one column, categories of columns that the
// schema lacks, and dates that are not columns of numbers.
func (s *Schema) Validate() error {
	seen, columns := map[string]bool{}, make(map[string]bool, len(s.Columns))
	for _, column := range s.Columns {
		columns[column] = true
	}
	for _, c := range s.Categories {
		if seen[c.Column] || len(c.Levels) == 0 {
			return fmt.Errorf("the schema has two categories or no levels for column %q", c.Column)
		}
		if !columns[c.Column] {
			return fmt.Errorf("the schema has a category for %q, which is not one of its columns", c.Column)
		}
		seen[c.Column] = true
	}
	for _, column := range s.Dates {
		if !columns[column] || seen[column] {
			return fmt.Errorf("the schema has dates in %q, which is not one of its columns of numbers", column)
		}
	}
	return nil
}
