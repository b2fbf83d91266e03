package session

// alive reports whether a process of this machine exists. It returns true if that is unknown.
func alive(int) bool { return true }
