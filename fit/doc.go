// Package model trains shared representations on tables and predicts with them.
//
// [Fit] models the target of task t as
//
//	y = x' theta_t + noise,   theta_t = mean + U b_t,
//
// with features standardised on the training rows, a coefficient vector mean that
// all tasks share (pooled ridge regression, or zero), a basis U of low rank for
// how tasks differ, found by package difalt on the residuals, and coefficients b_t
// of each task's own, held back by a ridge. The rank and all strengths are chosen by
// cross-validation on training rows.
//
// Missing features take the mean of their column over the training rows of all nodes.
//
// No row leaves its node. Means and deviations for the scaling, Gram matrices for
// the shared mean, and squared errors of the cross-validation and of the report are
// sums over the nodes of what each computes from its own rows, added by AGREE over
// the network's Mixer with so many rounds that rounding is all that is left of the
// difference between nodes. A sum over a single row is that row: Fit reports the
// nodes that have only one, in all or in a fold. The baselines of the report, pooled
// ridge and one ridge per task, serve the comparison only and are fitted in one
// process.
package fit
