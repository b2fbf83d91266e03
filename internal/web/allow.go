package web

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// allowList are the hosts that may be reached wherever they are.
type allowList []allowed

type allowed struct {
	host host
	port string // "": every port
}

// CheckAllowed says what is wrong with an entry of [Options].AllowPrivate.
func CheckAllowed(entry string) error {
	_, err := parseAllowList([]string{entry})
	return err
}

func parseAllowList(entries []string) (allowList, error) {
	var list allowList
	for _, e := range entries {
		a, err := parseAllowed(strings.TrimSpace(e))
		if err != nil {
			return nil, fmt.Errorf("invalid private host %q: %w (expected host or host:port)", shown(e), err)
		}
		list = append(list, a)
	}
	return list, nil
}

func parseAllowed(entry string) (allowed, error) {
	if strings.Contains(entry, "://") {
		return allowed{}, errors.New("it is a URL")
	}
	name, port := entry, ""
	if i := strings.LastIndexByte(entry, ':'); i >= 0 && (strings.Count(entry, ":") == 1 || strings.HasSuffix(entry[:i], "]")) {
		name, port = entry[:i], entry[i+1:]
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return allowed{}, fmt.Errorf("its port is not between 1 and 65535")
		}
		port = strconv.FormatUint(n, 10)
	}
	h, err := parseHost(name)
	return allowed{h, port}, err
}

// names reports whether the list names the host of a target.
func (l allowList) names(t Target) bool {
	for _, a := range l {
		if a.host == t.host && (a.port == "" || a.port == t.port) {
			return true
		}
	}
	return false
}

// opens reports whether a target that the list names may be reached at an address.
func (l allowList) opens(t Target, a netip.Addr) bool {
	return l.names(t) && (!metadata(a) || t.host.addr.IsValid())
}
