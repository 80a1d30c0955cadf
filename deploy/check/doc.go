// Package check holds the tests of the files in deploy: it is a module of its own, so that
// nobody else gets the modules of Kubernetes and Compose.
package check
