package report

import (
	"fmt"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/fit"
)

// How says by which method nodes train, and how they agree.
func How(o *difalt.Options) string {
	agreement := fmt.Sprintf("%d rounds of %v an iteration", o.Rounds, o.Agreement)
	switch {
	case o.Method == difalt.DGD:
		agreement = "means over neighbours"
	case !o.Method.Agrees():
		agreement = "one sum along a tree an iteration"
	case o.Agreement.Polynomial == consensus.Tree && o.Agreement.Codec != nil:
		agreement = fmt.Sprintf("sums along a tree in codes of %v", o.Agreement.Codec)
	case o.Agreement.Polynomial == consensus.Tree:
		agreement = "sums along a tree"
	}
	return fmt.Sprintf("method %v, %s", o.Method, agreement)
}

// Private says with which budget nodes add up; empty if there is none.
func Private(p fit.Privacy) string {
	if p == (fit.Privacy{}) {
		return ""
	}
	return fmt.Sprintf("private sums along a tree, epsilon %v", p.Epsilon)
}

// Seen says, in a sentence each, what the owners of so many nodes should know of how they agree
// before they begin: what it shows to neighbours beyond sums over all nodes.
func Seen(o *difalt.Options, p fit.Privacy, nodes int) (sentences []string) {
	if p != (fit.Privacy{}) {
		return nil // its report has the account, also against two nodes
	}
	if o.Agreement.Polynomial != consensus.Tree || o.Method == difalt.DGD {
		sentences = append(sentences, "Neighbours see this node's own estimates of the basis in every round, and what can be computed from them of its data, which no mask hides: --agree tree does without.")
	}
	if nodes == 2 {
		sentences = append(sentences, "There are two nodes: each learns the other's part of every sum, since it knows its own.")
	}
	return sentences
}
