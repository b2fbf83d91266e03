package main

import (
	"os"

	"github.com/adze-dev/adze"
	"github.com/adze-dev/adze/internal/app/cli"
)

// panicFile is a file in the current directory that makes brokenMain panic.
const panicFile = "panic-now"

// brokenMain is main, except that looking up a variable panics once there is a file panicFile. The screen looks up TERM for every
// frame.
func brokenMain() {
	env := cli.FromOS("v0.0.0", adze.Main())
	getenv := env.Getenv
	env.Getenv = func(name string) string {
		if _, err := os.Stat(panicFile); err == nil {
			panic("the variable " + name + " is broken")
		}
		return getenv(name)
	}
	os.Exit(runIn(env))
}
