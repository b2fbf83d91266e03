package tui

// watchFatal does nothing: there are no such signals.
func (t *terminal) watchFatal() (stop func()) { return func() {} }
