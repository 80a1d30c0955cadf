package main

import (
	"github.com/difalt/difalt/cmd/difalt/internal/dataset"
	"github.com/difalt/difalt/internal/fault"
	"github.com/difalt/difalt/mixed"
)

// A pipeline takes rows of a table through two stages, in order, while further rows are read. Every stage has
// a goroutine of its own. Batches of rows go round: from the reader through the stages and back to the
// reader.
type pipeline struct {
	current *batch
	first   chan *batch // to the first stage
	free    chan *batch // from the last stage, with the first error of all stages
}

// A batch is some rows that follow each other.
type batch struct {
	rows     []batchRow
	features []float64 // of the rows
	kept     []string  // of the rows
	err      error     // of this batch or one before
}

// A batchRow is a row of a table with its prediction.
type batchRow struct {
	task     string
	features []float64
	kept     []string
	complete bool
	place    dataset.Place
	p        mixed.Prediction
}

const (
	batches      = 4
	batchRows    = 256     // most rows of a batch
	batchNumbers = 1 << 16 // a batch with this many numbers is full
)

// newPipeline returns a pipeline that calls two functions for every batch. After an error they get no more
// batches.
func newPipeline(stages ...func(*batch) error) *pipeline {
	p := &pipeline{first: make(chan *batch, batches), free: make(chan *batch, batches)}
	for range batches - 1 {
		p.free <- new(batch)
	}
	p.current = new(batch)
	in := p.first
	for i, work := range stages {
		out := p.free
		if i < len(stages)-1 {
			out = make(chan *batch, batches)
		}
		go runStage(in, out, work)
		in = out
	}
	return p
}

// runStage calls work for the batches of in, in order, and passes them on.
func runStage(in <-chan *batch, out chan<- *batch, work func(*batch) error) {
	defer close(out)
	var failed error
	for b := range in {
		if b.err == nil && failed == nil {
			failed = guarded(work, b)
		}
		if b.err == nil {
			b.err = failed
		}
		out <- b
	}
}

// guarded calls work for a batch. A panic becomes an error.
func guarded(work func(*batch) error, b *batch) (err error) {
	defer func() {
		if p := fault.Of(recover()); p != nil {
			err = p
		}
	}()
	return work(b)
}

// add adds a copy of a row. Its error is that of an earlier row.
func (p *pipeline) add(row *dataset.Row) error {
	b := p.current
	if len(b.rows) == batchRows || len(b.features) > batchNumbers {
		p.first <- b
		if b = <-p.free; b.err != nil {
			p.current = b
			return b.err
		}
		b.rows, b.features, b.kept = b.rows[:0], b.features[:0], b.kept[:0]
		p.current = b
	}
	f, k := len(b.features), len(b.kept)
	b.features, b.kept = append(b.features, row.Features...), append(b.kept, row.Kept...)
	b.rows = append(b.rows, batchRow{task: row.Task, features: b.features[f:], kept: b.kept[k:],
		complete: row.Complete, place: row.Place})
	return nil
}

// close waits for the stages and returns their first error.
func (p *pipeline) close() error {
	err := p.current.err
	if err == nil {
		p.first <- p.current
	}
	close(p.first)
	for b := range p.free {
		if err == nil {
			err = b.err
		}
	}
	return err
}
