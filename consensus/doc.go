// Package consensus is how nodes agree: messages and their bytes, averaging with the
// neighbours, and sums, maxima and broadcasts over the whole network.
package consensus
