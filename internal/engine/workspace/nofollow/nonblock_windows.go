package nofollow

const nonblock = 0 // opening a file never blocks here
