package tui

import (
	"strings"

	"github.com/adze-dev/adze/internal/app/tui/cell"
)

// Values of [Options.Notifications]. Others mean a bell, and a message where the terminal shows one.
const (
	notifyBell = "bell"
	notifyOff  = "off"
)

// talksOSC reports whether the terminal understands operating system commands: it ignores those that it doesn't know.
func (o *Options) talksOSC() bool {
	name := o.Terminal("TERM")
	return name != "" && name != "dumb" && name != "linux" && !strings.HasPrefix(name, "vt")
}

const (
	saveTitle    = "\x1b[22;2t"
	restoreTitle = "\x1b[23;2t"
)

// retitle sets the title of the terminal's window, if it changed.
func (s *Screen) retitle() {
	if s.o.HideTitle || !s.o.talksOSC() {
		return
	}
	title := "adze: " + s.directory()
	if s.questions.current() != nil {
		title = "? " + title
	}
	if title != s.title {
		s.title = title
		s.term.out.WriteString("\x1b]2;" + oscText(title) + "\x1b\\")
	}
}

// directory is the name of the directory, which doesn't change.
func (s *Screen) directory() string {
	if s.place == "" {
		s.place = s.o.Host.Status().Directory
	}
	return s.place
}

// notify calls a user whose terminal doesn't have the focus.
func (s *Screen) notify(text string) {
	if s.focused || s.o.Notifications == notifyOff {
		return
	}
	out := "\a"
	if s.o.Notifications != notifyBell {
		out += notification(s.o.Terminal, "adze: "+s.directory(), text)
	}
	s.term.out.WriteString(out)
}

// notification is the sequence with which a terminal shows a message; "" if it is not known to show one.
func notification(env func(string) string, title, text string) string {
	title, text = oscText(strings.ReplaceAll(title, ";", ",")), oscText(text)
	name, program := env("TERM"), env("TERM_PROGRAM")
	var out string
	switch {
	case name == "xterm-kitty" || env("KITTY_WINDOW_ID") != "":
		out = "\x1b]99;;" + title + ": " + text + "\x1b\\"
	case strings.HasPrefix(name, "rxvt") || strings.HasPrefix(env("COLORTERM"), "rxvt") ||
		strings.HasPrefix(name, "foot"):
		out = "\x1b]777;notify;" + title + ";" + text + "\x1b\\"
	case program == "iTerm.app" || env("LC_TERMINAL") == "iTerm2" || program == "WezTerm" ||
		env("WEZTERM_PANE") != "" ||
		program == "ghostty" || env("GHOSTTY_RESOURCES_DIR") != "" || program == "WarpTerminal":
		out = "\x1b]9;" + title + ": " + text + "\x1b\\"
	}
	if out != "" && env("TMUX") != "" { // tmux hands it on to the terminal that it is in
		out = "\x1bPtmux;" + strings.ReplaceAll(out, "\x1b", "\x1b\x1b") + "\x1b\\"
	}
	return out
}

// oscText is untrusted text that can stand in an operating system command.
func oscText(s string) string {
	s = strings.ReplaceAll(visible(s), "\ufffd", "")
	return cell.Text(s).Cut(200).String()
}
