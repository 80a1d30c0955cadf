// Package paper holds what the Dif-AltGDmin paper says and how it is judged: its
// experiments and those beyond it as presets of package simulation, its statements with
// what counts as confirmed, and the page of results.
package paper
