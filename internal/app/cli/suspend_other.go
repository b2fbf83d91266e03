//go:build !unix

package cli

// onSuspend does nothing: there is no Ctrl-Z here.
func onSuspend(func()) (stop func()) { return func() {} }
