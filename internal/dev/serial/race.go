//go:build race

package serial

const race = true
