package tui

// suspend does nothing: there is no shell that could continue the program.
func (s *Screen) suspend() { s.note = "suspending is not supported on Windows" }
