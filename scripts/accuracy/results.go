package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
)

// A result is what one method did on one table with one seed.
type result struct {
	rmse, ev, seconds float64
	note              string
}

// results are all that was measured, by table, seed and method; the error of a method
// that gave up is infinite.
type results map[string]map[string]map[string]result

// read adds a file with the columns of resultHeader.
func (r results) read(path string) error {
	rows, err := readCSV(path)
	if err != nil {
		return err
	}
	if !slices.Equal(rows[0], resultHeader) {
		return fmt.Errorf("%s has the columns %q: want %q", path, rows[0], resultHeader)
	}
	for i, row := range rows[1:] {
		v := [3]float64{math.Inf(1), math.NaN(), math.NaN()}
		for j := range v {
			if row[3] == "" {
				break
			}
			if v[j], err = strconv.ParseFloat(row[3+j], 64); err != nil {
				return fmt.Errorf("%s, row %d: %w", path, i+1, err)
			}
		}
		table := r[row[0]]
		if table == nil {
			table = map[string]map[string]result{}
			r[row[0]] = table
		}
		if table[row[1]] == nil {
			table[row[1]] = map[string]result{}
		}
		table[row[1]][row[2]] = result{v[0], v[1], v[2], row[6]}
	}
	return nil
}

// best returns the smallest error of some methods on one table and seed, infinite if
// none of them gave one, and its method.
func (r results) best(table, seed string, methods []string) (rmse float64, method string) {
	rmse = math.Inf(1)
	for _, m := range methods {
		if e, ok := r[table][seed][m]; ok && e.rmse < rmse {
			rmse, method = e.rmse, m
		}
	}
	return rmse, method
}

// relative returns, for every seed of a table, the smallest error of some methods over
// the smallest of all but ours.
func (r results) relative(table string, methods []string) []float64 {
	var out []float64
	for seed := range r[table] {
		least, _ := r.best(table, seed, others())
		own, _ := r.best(table, seed, methods)
		out = append(out, own/least)
	}
	return out
}

// seconds returns the times of a method on a table, for the seeds that it ended on.
func (r results) seconds(table, method string) []float64 {
	var out []float64
	for _, methods := range r[table] {
		if e, ok := methods[method]; ok && !math.IsNaN(e.seconds) {
			out = append(out, e.seconds)
		}
	}
	return out
}

// median returns the median, infinite numbers included, or NaN of nothing.
func median(v []float64) float64 {
	if len(v) == 0 {
		return math.NaN()
	}
	v = slices.Sorted(slices.Values(v))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}
