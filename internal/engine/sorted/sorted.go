// Package sorted sorts slices of structs with little code: each slices.SortStableFunc of a new type adds about 15 KB to
// the program.
package sorted

import "sort"

// By sorts a slice. Equal elements keep their order.
func By[T any](s []T, compare func(a, b T) int) {
	sort.SliceStable(s, func(i, j int) bool { return compare(s[i], s[j]) < 0 })
}
