// Package theory evaluates what Theorem 1 and the complexities of the Dif-AltGDmin paper
// ask of a problem on a network: samples, iterations, rounds, bytes and time; and the rate at which
// iterations converge near a solution.
package theory
