package main

import (
	"encoding/json"
	"io"
	"math"

	"github.com/difalt/difalt/dataset"
	"github.com/difalt/difalt/fit"
	"github.com/difalt/difalt/model"
)

// A jsonResult is what fit --json prints. Numbers that are not known, or infinite, are null.
type jsonResult struct {
	Tasks     int    `json:"tasks"`
	Features  int    `json:"features"`
	Verdict   string `json:"verdict"`
	Converged bool   `json:"converged"`
	// Compared is the best simpler method on held-out rows, Gain by what part the model's RMSE
	// is below it, with a 95 % interval.
	Compared string     `json:"compared,omitempty"`
	Gain     jsonNumber `json:"gain"`
	GainLow  jsonNumber `json:"gain_low"`
	GainHigh jsonNumber `json:"gain_high"`

	Methods    []jsonMethod    `json:"methods"`
	Chosen     jsonCandidate   `json:"chosen"`
	Candidates []jsonCandidate `json:"candidates"`

	Status     string     `json:"status,omitempty"` // of the algorithm; none at rank 0
	Iterations int        `json:"iterations"`
	Noise      jsonNumber `json:"noise"` // standard deviation
	Bytes      int64      `json:"bytes"` // sent between nodes
	Messages   int64      `json:"messages"`
	Notes      []string   `json:"notes"`
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
func printResult(w io.Writer, t *dataset.Table, m *model.Model, r *fit.Report) error {
	v := r.Verdict
	out := jsonResult{
		Tasks: len(t.Tasks()), Features: len(m.Features()), Verdict: v.Text, Converged: r.Converged,
		Compared: v.Other, Gain: jsonNumber(v.Gain), GainLow: jsonNumber(v.Low), GainHigh: jsonNumber(v.High),
		Chosen: newJSONCandidate(r.Chosen), Noise: jsonNumber(m.Noise()), Bytes: r.Traffic.Bytes, Messages: r.Traffic.Messages,
		Notes: append([]string{}, notes(r)...), Candidates: []jsonCandidate{},
	}
	for _, s := range r.Scores {
		out.Methods = append(out.Methods, jsonMethod{s.Method, newJSONErrors(s.Train), newJSONErrors(s.Test)})
	}
	for _, c := range r.Tried {
		out.Candidates = append(out.Candidates, newJSONCandidate(c))
	}
	if r.Result != nil {
		out.Status, out.Iterations = r.Result.Status.String(), r.Result.Iterations
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(out)
}

func newJSONErrors(e fit.Errors) jsonErrors {
	return jsonErrors{e.Rows, jsonNumber(e.RMSE), jsonNumber(e.MAE), jsonNumber(e.ExplainedVariance)}
}

func newJSONCandidate(c fit.Candidate) jsonCandidate {
	return jsonCandidate{c.Rank, jsonNumber(c.Evidence), jsonNumber(c.Intercept), jsonNumber(c.Ridge), jsonNumber(c.MeanRidge), append([]float64{}, c.Axes...)}
}
