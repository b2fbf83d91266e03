package search

// frequency estimates how often a byte occurs in source code and text, in ten-thousandths. It was counted over Go's own
// sources and Python's library; only the order matters, since it picks the byte of a literal to look for.
func frequency(c byte) int {
	if c >= 0x80 {
		return 10
	}
	return int(frequencies[c])
}

var frequencies = [128]uint16{
	0, 0, 0, 0, 0, 0, 0, 0, 0, 900, 290, 0, 0, 20, 0, 0,
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	1500, 11, 91, 8, 5, 8, 10, 41, 116, 116, 19, 12, 242, 24, 125, 105,
	255, 121, 93, 65, 68, 41, 61, 34, 51, 36, 101, 12, 9, 83, 8, 2,
	1, 61, 30, 49, 43, 62, 34, 17, 15, 49, 2, 9, 36, 38, 35, 49,
	44, 7, 59, 71, 64, 20, 33, 12, 34, 10, 4, 25, 50, 25, 1, 87,
	7, 350, 77, 177, 156, 600, 160, 94, 91, 380, 6, 39, 191, 108, 400, 330,
	132, 8, 410, 350, 520, 151, 60, 37, 194, 66, 9, 58, 9, 58, 1, 0,
}
