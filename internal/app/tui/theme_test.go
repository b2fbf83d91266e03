package tui

import "testing"

func TestIsLight(t *testing.T) {
	for color, want := range map[string][2]bool{
		"rgb:ffff/ffff/ffff":      {true, true},
		"rgb:0000/0000/0000":      {false, true},
		"rgb:fd/f6/e3":            {true, true},
		"rgba:0000/2b2b/3636/ff":  {false, true},
		"rgb:f/f/f":               {true, true},
		"":                        {},
		"?":                       {},
		"rgb:":                    {},
		"rgb:ffff/ffff":           {},
		"rgb:xx/yy/zz":            {},
		"rgb:fffff/ffff/ffff":     {},
		"rgb:-1/0/0":              {},
		"#ffffff":                 {},
		"rgb:ffff/ffff/ffff/more": {true, true},
	} {
		if light, ok := isLight(color); light != want[0] || ok != want[1] {
			t.Errorf("%q: %v, %v", color, light, ok)
		}
	}
}

func TestBackgroundHint(t *testing.T) {
	for value, want := range map[string]backdrop{
		"": unknownBackground, "15;0": darkBackground, "0;15": lightBackground, "0;default;7": lightBackground, "15": unknownBackground, "x;y": unknownBackground,
	} {
		if got := backgroundHint(value); got != want {
			t.Errorf("%q: %v, not %v", value, got, want)
		}
	}
}

func TestNotification(t *testing.T) {
	for _, c := range []struct {
		env  map[string]string
		text string
		want string
	}{
		{map[string]string{"TERM": "xterm-256color"}, "done", ""},
		{map[string]string{"TERM": "xterm-kitty"}, "done", "\x1b]99;;adze: a, b: done\x1b\\"},
		{map[string]string{"TERM": "rxvt-unicode-256color"}, "done", "\x1b]777;notify;adze: a, b;done\x1b\\"},
		{map[string]string{"TERM_PROGRAM": "WezTerm"}, "done", "\x1b]9;adze: a, b: done\x1b\\"},
		{map[string]string{"TERM": "tmux-256color", "TMUX": "x", "KITTY_WINDOW_ID": "1"}, "done", "\x1bPtmux;\x1b\x1b]99;;adze: a, b: done\x1b\x1b\\\x1b\\"},
		{map[string]string{"TERM": "tmux-256color", "TMUX": "x"}, "done", ""},
		{map[string]string{"TERM": "xterm-kitty"}, "a\x1b\\\x1b]52;c;aGk=\a\nb\u009c", "\x1b]99;;adze: a, b: a\\x1b\\\\x1b]52;c;aGk=\\x07 b\\u009C\x1b\\"},
	} {
		got := notification(func(name string) string { return c.env[name] }, "adze: a; b", c.text)
		if got != c.want {
			t.Errorf("%v: %q, not %q", c.env, got, c.want)
		}
	}
}
