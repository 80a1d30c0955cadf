package main

// ignoreBrokenPipes does nothing: there are no signals.
func ignoreBrokenPipes() {}
