package main

import (
	"fmt"
	"io"
	"slices"

	"github.com/difalt/difalt/cmd/difalt/internal/cli"
	"github.com/difalt/difalt/cmd/difalt/internal/dataset"
	"github.com/difalt/difalt/cmd/difalt/internal/report"
	"github.com/difalt/difalt/cmd/difalt/internal/terminal"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/difalt/difalt/mixed"
)

// addAlike adds to a list the name of a task and its other spelling, if there is one and the list is short.
func addAlike(list []string, s dataset.Spelling, task string) []string {
	other, ok := s.Other(task)
	pair := dataset.Pair(task, "is", other)
	if !ok || len(list) >= alikeNamed || slices.Contains(list, pair) {
		return list
	}
	return append(list, pair)
}

// sayAlike writes the tasks of a table that the model has in another spelling, if there are some.
func sayAlike(w io.Writer, list []string) {
	if len(list) > 0 {
		terminal.Sayf(w, "The model has some of these tasks in another spelling: %s.", text.List(list))
	}
}

// alikeNamed is the number of tasks in another spelling that are named.
const alikeNamed = 3

// A predictReport counts the rows that were predicted.
type predictReport struct {
	cli.Header
	File    string `json:"file"`
	Rows    int    `json:"rows"`
	Empty   int    `json:"empty"`   // rows without a prediction, for missing values
	Unknown int    `json:"unknown"` // rows of tasks, levels or periods that the model lacks
	// Rows whose numbers are so large that the prediction or its errors overflow.
	Overflows int            `json:"overflows"`
	Filled    map[string]int `json:"filled"`            // rows with means for missing values, by column
	Alike     []string       `json:"spelled_otherwise"` // tasks that the model spells otherwise: "1.0" is "1"
	Notes     []string       `json:"notes"`             // on how the tables were read
	Remarks   []string       `json:"remarks"`           // new levels, and numbers far from the training rows
	read      *dataset.Summary
	unknown   *unknownRows
}

// newLevelSentences names levels that the schema of a model does not have.
func newLevelSentences(found []mixed.Category, s *mixed.Schema) (list []string) {
	for _, c := range found {
		list = append(list, fmt.Sprintf(`Column "%s" has levels that the model does not have: %s.`,
			text.Visible(c.Column), text.Names(c.Levels)))
		var alike []string
		for _, known := range s.Categories {
			if known.Column != c.Column {
				continue
			}
			spelling := dataset.NewSpelling(known.Levels)
			for _, level := range c.Levels {
				alike = addAlike(alike, spelling, level)
			}
		}
		if alike != nil {
			list = append(list, fmt.Sprintf("The model has some of them in another spelling: %s.", text.List(alike)))
		}
	}
	return list
}

func (r *predictReport) text(w io.Writer) {
	for _, sentence := range slices.Concat(r.Notes, report.Filled(r.read.Filled)) {
		terminal.Sayf(w, "%s", sentence)
	}
	fmt.Fprintf(w, "%s: %s\n", r.File, text.Plural(r.Rows, "row"))
	if r.Empty > 0 {
		terminal.Sayf(w, "%s without a prediction, for missing values; the first is %s. --missing mean fills in means.",
			text.Plural(r.Empty, "row"), r.read.First)
	}
	u := r.unknown
	if u.ofTasks > 0 {
		const format = `%s of tasks that the model does not have, such as "%s": predicted from all its tasks together.`
		terminal.Sayf(w, format, text.Plural(u.ofTasks, "row"), text.Visible(u.first))
	}
	if n := u.all - u.ofTasks; n > 0 {
		const format = "%s with levels or values of periods that the model does not have: predicted from the " +
			"means of those that it has."
		terminal.Sayf(w, format, text.Plural(n, "row"))
	}
	sayAlike(w, r.Alike)
	for _, sentence := range r.Remarks {
		terminal.Sayf(w, "%s", sentence)
	}
}
