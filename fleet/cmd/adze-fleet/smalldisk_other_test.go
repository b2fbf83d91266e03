//go:build !linux

package main

func mountSmall(string) {}
