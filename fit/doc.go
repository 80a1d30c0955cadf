// Package fit trains shared representations on tables of many small regression tasks.
//
// [Fit] models the target of task t as
//
//	y = x' theta_t + noise,   theta_t = mean + U b_t,
//
// with features standardised on the training rows, a coefficient vector mean that
// all tasks share (pooled ridge regression, or zero), a basis U of low rank for
// how tasks differ, found by package difalt on the residuals, and coefficients b_t
// of each task's own, held back by a ridge. The rank and all strengths are chosen by
// cross-validation on training rows. The result is a model of package model.
//
// U is a local minimiser of sum_t min_b |y_t - X_t U b|^2 + ridge |b|^2 from the best of a
// few starts; with [DefaultOptions] to a distance of 1e-5. Steps are by the inverse of the
// Gram matrix on which the nodes agree for the shared mean, so that collinear columns do
// not slow them down ([difalt.Problem.Moments]). Runs of the cross-validation start where
// others have ended, and end well below what noise leaves open.
//
// Missing features take the mean of their column over the training rows of all nodes.
//
// # One process or many
//
// A process brings the table of the nodes that it hosts: all nodes of a network, or
// one. Whatever concerns the others goes through [consensus.Network], and everything
// that is decided is decided from numbers that all nodes have, so that the model has
// the same bits wherever the nodes live. Columns, levels and settings that differ
// between nodes, and tasks that two nodes have, are errors at all nodes.
//
// # What leaves a node
//
// No row leaves its node. What does, besides the messages of the algorithm: the names of
// the nodes; hashes of the names of tasks, and of columns, levels and settings, whose
// text follows only if they differ; and sums over the node's own rows, which are added
// up along a tree of the graph: numbers of rows and values, first and second moments of
// the features and the mean of the target for the scaling, a Gram matrix for each fold
// for the shared mean, and squared errors for the cross-validation and the report. The
// next node on the way to the root of the tree sees the sum over those that are behind.
// A sum over a single row is that row, a Gram matrix of few rows tells them up to a
// rotation, and sums of b_t b_t' over few tasks tell these coefficients up to one:
// [Report.Exposed] names the nodes concerned. To step without these sums
// ([difalt.PreconditionerNone]) would not help such nodes: the rule by which runs end needs
// them too, and the step of a node with a single task is a multiple of its b_t anyway. Names of tasks can be guessed from hashes.
package fit
