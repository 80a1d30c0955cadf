package kernel

// Panic messages of programmer errors.
const (
	badBasis       = "kernel: basis dimensions do not fit"
	badTasks       = "kernel: need at least one feature and no negative sample count"
	badStorage     = "kernel: unknown storage"
	badRow         = "kernel: row has the wrong length"
	badResponses   = "kernel: need one response for every sample"
	badIndex       = "kernel: task or sample out of range"
	badParts       = "kernel: samples of the least squares and of the gradient are not parts of the same tasks"
	badPart        = "kernel: need 0 <= part < parts"
	groupTwice     = "kernel: one group twice"
	badGroup       = "kernel: group and workspace do not fit"
	outOfRange     = "kernel: samples below 1e-27 or above 1e27 cannot be copied to 16 bits: rescale them"
	notReduced     = "kernel: group is not reduced"
	builderDone    = "kernel: builder used after Tasks"
	badFirst       = "kernel: tasks begin where the one before ends, the first at 0, and the last ends with the samples"
	badRidge       = "kernel: ridge must be finite and not negative"
	aliased        = "kernel: result and basis are the same"
	tooManyWorkers = "kernel: more than MaxWorkers workers"
	poolClosed     = "kernel: pool used after Close"
	poolBusy       = "kernel: pool used while it runs"
)
