// Package simulation runs simulations of Dif-AltGDmin and of the methods beside it:
// synthetic problems, trials of several methods from the same start, a model of the time
// that communication takes, and the traces, summaries and figures that come out.
//
// A [Setting] says what is computed and [Run] computes it. Everything but the
// measured times is a function of the setting and the trial's number: neither the
// number of trials, nor the workers, nor the other methods of the run matter.
package simulation
