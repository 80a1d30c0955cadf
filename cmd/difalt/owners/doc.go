// Package owners trains a model on the tables of several owners, who exchange sums over all nodes and nothing
// else.
//
// The target of task t is modelled as
//
//	y = a_t + x'(mu + U b_t) + noise
//
// where x holds the standardised features and fixed natural cubic splines, U is orthonormal and acts on the
// linear columns. [Train] minimises over mu, U, a_t and b_t
//
//	sum_t |y_t - a_t 1 - X_t (mu + U b_t)|^2 + l0 a_t^2 + l2 |b_t|^2  +  l1 |mu linear|^2 + l1s |mu curves|^2
//
// by alternation. Given U, a node eliminates a_t and b_t of its tasks, and mu follows from one sum (P(P+1)/2
// + P numbers). Given mu, package difalt finds U along the tree (AltGDmin of the paper, accelerated): node g
// takes X mu out of y_t, and a_t by the projection I - c 1 1', exactly. The ridges and the rank, 0 to 3,
// minimise the error of 5-fold cross-validation within tasks, where a node contributes one sum of squares
// per candidate.
//
// Everything that leaves a node is a term of a sum over all nodes, and package consensus masks it;
// docs/privacy.md lists the sums. Decisions follow from sums, so all nodes make the same ones, and the
// parameters have the same bits whether nodes live in one process or in several. With [Privacy] the sums have
// noise and an account.
//
// An error has two texts. Error returns the local one, for the owner. Other nodes receive PublicText: a kind,
// and the name of a column at most.
package owners
