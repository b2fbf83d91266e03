package homedir

import (
	"errors"
	"os/user"
	"runtime"
	"slices"
	"strings"
	"testing"
)

func TestDir(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("HOME means nothing there")
	}
	none := func() (*user.User, error) { return nil, errors.New("unknown user") }
	known := func() (*user.User, error) { return &user.User{HomeDir: "/home/me"}, nil }
	homeless := func() (*user.User, error) { return &user.User{}, nil }
	for _, c := range []struct {
		env     string
		current func() (*user.User, error)
		want    string
	}{
		{"/elsewhere", known, "/elsewhere"},
		{"/elsewhere", none, "/elsewhere"},
		{"", known, "/home/me"},
		{"", none, ""},
		{"", homeless, ""},
	} {
		t.Setenv("HOME", c.env)
		got, err := dir(c.current)
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("HOME=%q: %q, %v", c.env, got, err)
		}
		if err != nil && !strings.Contains(err.Error(), "HOME is not set, and user ") {
			t.Errorf("HOME=%q: %v", c.env, err)
		}
	}
}

func TestEnviron(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("HOME means nothing there")
	}
	home := func() (string, error) { return "/home/me", nil }
	none := func() (string, error) { return "", errors.New("none") }
	for _, c := range []struct {
		env  string
		dir  func() (string, error)
		want string
	}{
		{"A=1 HOME=/x", home, "A=1 HOME=/x"},
		{"A=1", home, "A=1 HOME=/home/me"},
		{"HOME= A=1", home, "A=1 HOME=/home/me"},
		{"HOME=/x HOME=", home, "HOME=/home/me"},
		{"HOME= HOME=/x", home, "HOME= HOME=/x"},
		{"HOMES=1", home, "HOMES=1 HOME=/home/me"},
		{"HOME= A=1", none, "HOME= A=1"},
	} {
		in := strings.Fields(c.env)
		given := slices.Clone(in)
		if got := strings.Join(environ(in, c.dir), " "); got != c.want || !slices.Equal(in, given) {
			t.Errorf("%s: %s, want %s; %v is left", c.env, got, c.want, in)
		}
	}
}
