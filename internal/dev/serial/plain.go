//go:build !race

package serial

const race = false
