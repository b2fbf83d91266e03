package session

// alive reports whether a process of this machine exists. Where that isn't known, it does.
func alive(int) bool { return true }
