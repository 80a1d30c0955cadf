// Package difalt recovers the representation that many small, related linear regressions share, over a
// network of nodes that keep their data: Dif-AltGDmin of D. Kang and S. Moothedath, "Diffusion-based
// Decentralized Federated Multi-Task Representation Learning", arXiv:2512.23161, 2025.
//
// Task t has n_t samples, y_t = X_t U b_t + noise, with one d x r matrix U for all tasks. Every node holds
// some of the tasks and exchanges messages with its neighbours only; docs/privacy.md lists what neighbours
// can compute from these messages.
//
// With all tasks on one machine, start with Fit, which needs no graph and takes data in any units:
//
//	tasks, err := kernel.NewTasks(x, y)       // matrices or rows, and responses, of every task
//	model, err := difalt.Fit(ctx, tasks, 4)   // a Model: y = intercept_t + x'U b_t, with U of rank 4
//	yhat := model.Predict(nil, task, row)
//	more, err := model.Adapt(ctx, newTasks)   // new tasks on this U
//	err = model.Save(file)                    // LoadModel reads it
//
// With nodes, InProcess and Run simulate them in one process, and a Solver runs one of them in a process of
// its own. The source begins with Solver.Step in solver.go, which is Algorithm 3, lines 7 to 14. Next,
// methods.go has the steps that the paper's four methods take before and after the nodes agree. start.go has
// Algorithm 2, accelerated.go a faster method, stop.go the rule that ends a run, and ending.go the
// confirmation. References to algorithms, lines and equations are to the paper.
//
// Package features brings data into the form that the paper assumes, and package minimum checks whether the
// end of a run is a minimum.
package difalt
