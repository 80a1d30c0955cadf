// Package model trains shared representations on tables and predicts with them.
//
// [Fit] models the target of task t as
//
//	y = x' theta_t + noise,   theta_t = mean + U b_t,
//
// with features standardised on the training rows, a coefficient vector mean that
// all tasks share (pooled ridge regression, or zero), a basis U of low rank for
// how tasks differ, found by package difalt on the residuals, and coefficients b_t
// of each task's own, held back by a ridge. Ridge strengths are chosen by
// cross-validation on training rows.
//
// All that is computed from rows of several nodes (sums, Gram matrices, squared
// errors) is a sum of what each node computes from its own.
package model
