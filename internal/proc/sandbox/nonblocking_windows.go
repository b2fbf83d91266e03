package sandbox

const nonBlocking = 0
