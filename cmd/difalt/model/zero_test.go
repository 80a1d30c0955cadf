package model

import (
	"io"
	"testing"
)

// The zero Model, which UnmarshalBinary needs, knows no task and cannot be written.
func TestZero(t *testing.T) {
	var m Model
	if _, err := m.Predict("a", nil); err == nil {
		t.Error("it predicts")
	}
	if _, _, err := m.PredictError("a", nil); err == nil {
		t.Error("it predicts")
	}
	if _, err := m.TaskNoise("a"); err == nil {
		t.Error("it knows the noise of a task")
	}
	if _, _, err := m.Coefficients("a"); err == nil {
		t.Error("it has coefficients")
	}
	if _, _, err := m.PredictAny("a", nil); err == nil {
		t.Error("it predicts")
	}
	if _, err := m.PredictAnyError("a", nil); err == nil {
		t.Error("it predicts")
	}
	if err := m.PredictBatch(make([]float64, 1), []string{"a"}, nil); err == nil {
		t.Error("it predicts")
	}
	if _, err := m.Covariance("a"); err == nil {
		t.Error("it has covariances")
	}
	if l, _ := m.Loadings(); l != nil || m.FillMissing(nil) != 0 || m.Effects() != nil {
		t.Error("it has loadings or effects")
	}
	if err := m.Write(io.Discard); err == nil {
		t.Error("it can be written")
	}
	if _, err := m.MarshalBinary(); err == nil {
		t.Error("it can be written")
	}
	if _, err := m.Adapt(newRows(&m)); err == nil {
		t.Error("it adapts")
	}
	if m.Rank() != 0 || len(m.Features())+len(m.Tasks())+len(m.ScaledFeatures()) != 0 || m.Noise() != 0 {
		t.Error("it is not empty")
	}
}
