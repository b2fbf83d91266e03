package tui

import (
	"slices"
	"strconv"
	"strings"

	"github.com/adze-dev/adze/internal/app/tui/cell"
)

// backdrop is what is known of the terminal's background.
type backdrop uint8

const (
	unknownBackground backdrop = iota
	darkBackground
	lightBackground
)

// colorsOn is how the theme looks on a background.
func (o *Options) colorsOn(on backdrop) cell.Colors {
	out := cell.Full
	switch {
	case o.NoColor:
		return cell.Attributes
	case o.Theme == "high-contrast":
		return cell.Contrast
	case o.Theme == "light" || o.Theme != "dark" && on == lightBackground:
		out = cell.Light
	}
	if o.hasPalette() && (on != unknownBackground || o.Theme == "light" || o.Theme == "dark") {
		out |= cell.Tinted
	}
	return out
}

// hasPalette reports whether the terminal has 256 colors or more.
func (o *Options) hasPalette() bool {
	if strings.HasSuffix(o.Terminal("TERM"), "-256color") || o.Terminal("COLORTERM") != "" {
		return true
	}
	return slices.Contains([]string{"xterm-kitty", "xterm-ghostty", "alacritty", "foot", "wezterm"}, o.Terminal("TERM"))
}

// setTheme changes the theme. What was printed keeps its colors.
func (s *Screen) setTheme(name string) {
	s.o.Theme = name
	s.recolor()
}

// recolor draws the live area in the colors of the theme.
func (s *Screen) recolor() {
	if c := s.o.colorsOn(s.backdrop); c != s.painter.Colors {
		s.painter.Colors = c
		s.painter.Redraw()
	}
}

// setBackground takes the terminal's answer to the request for its background, such as "rgb:ffff/ffff/ffff".
func (s *Screen) setBackground(answer string) {
	if light, ok := isLight(answer); ok {
		s.backdrop = darkBackground
		if light {
			s.backdrop = lightBackground
		}
		s.recolor()
	}
}

// isLight reports whether a color in X11's notation is light. ok is false if it isn't a color.
func isLight(color string) (light, ok bool) {
	_, values, found := strings.Cut(color, ":") // rgb: or rgba:
	parts := strings.Split(values, "/")
	if !found || len(parts) < 3 {
		return false, false
	}
	sum := 0.0
	for i, weight := range []float64{0.299, 0.587, 0.114} {
		n, err := strconv.ParseUint(parts[i], 16, 16)
		if err != nil {
			return false, false
		}
		sum += weight * float64(n) / float64(uint64(1)<<(4*len(parts[i]))-1)
	}
	return sum > 0.5, true
}

// backgroundHint is the background by the variable COLORFGBG, which some terminals set: "0;15" is black on white.
func backgroundHint(value string) backdrop {
	fields := strings.Split(value, ";")
	n, err := strconv.Atoi(fields[len(fields)-1])
	switch {
	case err != nil || len(fields) < 2:
		return unknownBackground
	case n == 7 || n == 15:
		return lightBackground
	}
	return darkBackground
}

// asksBackground reports whether a terminal is asked for its background. The Linux console would print the request.
func (o *Options) asksBackground() bool {
	return o.talksOSC() && !o.NoColor
}
