// Package difalt recovers the shared representation of many small related
// linear-regression tasks over a network of nodes that keep their data.
//
// Task t has n_t samples, y_t = X_t U b_t (+ noise), with one d x r matrix U for
// all tasks. Nodes hold disjoint sets of tasks and talk to their neighbours only.
// They send no rows and no responses, but quantities computed from these: estimates
// U_g or gradients, sums of squares and, for most methods, sums of b_t b_t'. Sums over all
// nodes are masked, and with them all messages along consensus.Tree: others learn totals
// only. In gossip neighbours see the estimates of a node; docs/privacy.md says what can be
// computed from them, which is a lot if a node has few tasks.
// RunPrivate finds the representation with differential privacy.
//
// The algorithm is Dif-AltGDmin of Kang and Moothedath, "Diffusion-based
// Decentralized Federated Multi-Task Representation Learning": each node
// alternates an exact minimisation over its b_t with a gradient step on U_g, and
// the nodes average their U_g in between (adapt, then combine). Its baselines
// AltGDmin (centralised), Dec-AltGDmin (combine, then adjust) and a DGD variant
// run in the same loop from the same start.
//
// The file algorithm.go reads as Alg. 3, lines 7 to 14: minimise, adapt, agree, project,
// with the methods that the paper compares. Each other one has a file of its own, and
// methods.go the table of all. The monitor of stop.go decides when a run ends, by what
// measure.go measures.
//
// References to algorithms, lines and equations are to that paper.
package difalt
