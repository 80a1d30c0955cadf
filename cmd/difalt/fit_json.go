package main

import (
	"encoding/json"
	"io"
	"math"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/dataset"
	"github.com/difalt/difalt/fit"
	"github.com/difalt/difalt/model"
)

// A jsonResult is what fit --json prints. Numbers that are not known, or infinite, are null.
type jsonResult struct {
	Tasks    int `json:"tasks"`
	Features int `json:"features"`
	// Dropped rows missed a value; Filled says in how many rows of a column a mean took its place.
	Dropped   int            `json:"dropped_rows"`
	Filled    map[string]int `json:"filled"`
	Split     []string       `json:"split"` // what is particular about the rows held out
	Verdict   string         `json:"verdict"`
	Converged bool           `json:"converged"`
	// Compared is the best simpler method on held-out rows, Gain by what part the model's RMSE
	// is below it, with a 95 % interval.
	Compared string     `json:"compared,omitempty"`
	Gain     jsonNumber `json:"gain"`
	GainLow  jsonNumber `json:"gain_low"`
	GainHigh jsonNumber `json:"gain_high"`

	Methods    []jsonMethod    `json:"methods"`
	Chosen     jsonCandidate   `json:"chosen"`
	Candidates []jsonCandidate `json:"candidates"`

	// Of the algorithm; none at rank 0. Residual is the estimated distance to the best U for
	// the training rows, StatisticalError what noise leaves anyway.
	Status           string     `json:"status,omitempty"`
	Method           string     `json:"method,omitempty"`
	Rounds           int        `json:"rounds,omitempty"`
	Agreement        string     `json:"agreement,omitempty"`
	Iterations       int        `json:"iterations"`
	Step             jsonNumber `json:"step"`
	IterationBytes   int64      `json:"iteration_bytes"`
	Distance         jsonNumber `json:"distance"` // subspace distance to the truth, at most
	Residual         jsonNumber `json:"residual"`
	StatisticalError jsonNumber `json:"statistical_error"`

	Noise    jsonNumber `json:"noise"` // standard deviation
	Bytes    int64      `json:"bytes"` // sent between nodes
	Messages int64      `json:"messages"`
	Notes    []string   `json:"notes"`
}

type jsonMethod struct {
	Name  string     `json:"name"`
	Train jsonErrors `json:"train"`
	Test  jsonErrors `json:"held_out"`
}

type jsonErrors struct {
	Rows              int        `json:"rows"`
	RMSE              jsonNumber `json:"rmse"`
	MAE               jsonNumber `json:"mae"`
	ExplainedVariance jsonNumber `json:"explained_variance"`
}

type jsonCandidate struct {
	Rank      int        `json:"rank"`
	Evidence  jsonNumber `json:"log_evidence"`
	Intercept jsonNumber `json:"intercept_ridge"`
	Ridge     jsonNumber `json:"ridge"`
	MeanRidge jsonNumber `json:"mean_ridge"`
	Axes      []float64  `json:"axes"` // standard deviations along the axes of the representation
}

// A jsonNumber is null where JSON has no number.
type jsonNumber float64

func (v jsonNumber) MarshalJSON() ([]byte, error) {
	if f := float64(v); math.IsNaN(f) || math.IsInf(f, 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(v))
}

// printResult prints, as JSON, all that printReport does.
func printResult(w io.Writer, o *dataset.TableOptions, t *dataset.Table, c *fit.Config, m *model.Model, r *fit.Report) error {
	v := r.Verdict
	out := jsonResult{
		Tasks: len(t.Tasks()), Features: len(m.Features()), Verdict: v.Text, Converged: r.Converged,
		Compared: v.Other, Gain: jsonNumber(v.Gain), GainLow: jsonNumber(v.Low), GainHigh: jsonNumber(v.High),
		Chosen: newJSONCandidate(r.Chosen), Noise: jsonNumber(m.Noise()), Bytes: r.Traffic.Bytes, Messages: r.Traffic.Messages,
		Notes: append([]string{}, notes(r)...), Candidates: []jsonCandidate{}, Dropped: t.Dropped(), Filled: map[string]int{},
		Split: append([]string{}, splitWords(o, t, c)...),
	}
	for _, c := range t.Missing() {
		out.Filled[c.Column] = c.Rows
	}
	for _, s := range r.Scores {
		out.Methods = append(out.Methods, jsonMethod{s.Method, newJSONErrors(s.Train), newJSONErrors(s.Test)})
	}
	for _, c := range r.Tried {
		out.Candidates = append(out.Candidates, newJSONCandidate(c))
	}
	out.algorithm(r)
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(out)
}

// algorithm adds how the algorithm went.
func (j *jsonResult) algorithm(r *fit.Report) {
	nan := jsonNumber(math.NaN())
	j.Step, j.Distance, j.Residual, j.StatisticalError = nan, nan, nan, nan
	res := r.Result
	if res == nil {
		return
	}
	o := &r.Options
	j.Status, j.Method, j.Agreement = res.Status.String(), o.Method.String(), o.Agreement.String()
	if o.Agreement.Polynomial != consensus.Tree {
		j.Rounds = o.Rounds
	}
	j.Iterations, j.Step, j.IterationBytes = res.Iterations, jsonNumber(res.Step), res.Last.Traffic.Plus(res.InitTraffic).Bytes
	j.Distance, j.Residual, j.StatisticalError = jsonNumber(res.Last.SDMax), jsonNumber(res.Residual), jsonNumber(res.StatisticalError)
}

func newJSONErrors(e fit.Errors) jsonErrors {
	return jsonErrors{e.Rows, jsonNumber(e.RMSE), jsonNumber(e.MAE), jsonNumber(e.ExplainedVariance)}
}

func newJSONCandidate(c fit.Candidate) jsonCandidate {
	return jsonCandidate{c.Rank, jsonNumber(c.Evidence), jsonNumber(c.Intercept), jsonNumber(c.Ridge), jsonNumber(c.MeanRidge), append([]float64{}, c.Axes...)}
}
