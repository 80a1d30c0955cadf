// Package testnet has transports for tests: between goroutines or processes of one machine,
// over links that work, or lose, delay, duplicate and corrupt what is sent, and exchanges
// that fail on purpose. They have no authentication and do not reconnect.
package testnet
