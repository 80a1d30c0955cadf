// Package fit trains shared representations on tables of many small regression tasks.
//
// [Fit] models the target of task t as
//
//	y = z' (mean + deviation_t) + noise,   deviation_t ~ N(0, L L' + spread diag(s) + intercept e e')
//
// with features standardised on the training rows and a constant, which e selects; a coefficient
// vector mean that all tasks share, held back by a ridge; loadings L of low rank; and a strength s_j for each
// feature. So there are one regression for all tasks, shrunken
// intercepts, one ridge a task, and whatever is between them. The strengths are those of the largest
// restricted likelihood (empirical Bayes), and ranks that the evidence does not rule out are averaged,
// by Laplace's approximation of the evidence, in which loadings have a prior of their own. Errors of training rows
// that are left out of their task (in closed form) weigh the candidates of rank 0, and decide with the evidence whether the fit is of the
// logarithm of the target ([Config.LogTarget]). There is no
// cross-validation but for the simpler methods that the model is compared with on held-out rows.
//
// Where the evidence says that tasks differ by their noise, each has a variance of its own, shrunken by a
// scaled inverse chi-square distribution whose degrees of freedom are estimated (Smyth 2004, Linear models and empirical
// Bayes methods, Stat. Appl. Genet. Mol. Biol. 3), and its rows count accordingly. Where it does not, nothing changes.
//
// Rows are read once: a task of more rows than features becomes a triangle with the same Z'Z and
// Z'y. Every step of the climb to the largest likelihood is two sums over the nodes, of about
// w squared numbers in all for w coefficients.
//
// The climb begins at moments and takes one rank after another. From the directions that it has found the algorithm of package
// difalt goes on, at the most probable rank and on rows as the model without directions sees them, with [DefaultOptions] to 1e-5. This run checks the
// directions, and the model does not have its U but that of the climb: options of the algorithm change what the report and checkpoints say of its iterations, and
// no prediction. Steps are by the inverse of the Gram matrix on which the nodes agree, so that collinear columns do not slow them down
// ([difalt.Problem.Moments]).
//
// [Config.Plain] runs the algorithm as it is instead.
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
// No row leaves its node. Besides the messages of the algorithm, the nodes exchange their names, hashes of columns and settings, and sums over
// all nodes along a tree of the graph, of which everybody learns the total alone: docs/privacy.md lists them all. Totals
// tell too, if there are many. So between owners ([Config.Owners]) the evidence is evaluated about 20 times at most, its sums are dithered, and
// [Report.Disclosure] says how much of the tasks of others is determined by what was told.
//
// With a budget of differential privacy ([Config.Privacy]) nodes take another path, without evidence or iterations: sizes and
// means of columns, the mean of the slopes and their directions are private sums, by [difalt.RunPrivate], and all else
// is found by the tasks of a process and told to nobody.
package fit
