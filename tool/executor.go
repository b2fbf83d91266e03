package tool

// entry is one call on its way through an executor.
type entry struct{}
