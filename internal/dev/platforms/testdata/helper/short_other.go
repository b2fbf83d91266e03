//go:build !windows

package main

func short(string) { panic("only Windows has short names") }
