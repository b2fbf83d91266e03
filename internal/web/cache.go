package web

import (
	"slices"
	"sync"
	"time"
)

const (
	cacheAge   = 15 * time.Minute
	cachePages = 32
	cacheBytes = 16 << 20
)

// cache keeps pages for a while: a model often looks at one page several times. It holds a bounded number of bytes.
type cache struct {
	now   func() time.Time
	mu    sync.Mutex
	items []cached // the one used last stands last
}

type cached struct {
	key  string
	at   time.Time
	page *Page
}

func (c *cache) get(key string) *Page {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.items, func(it cached) bool { return it.key == key })
	if i < 0 {
		return nil
	}
	item := c.items[i]
	c.items = slices.Delete(c.items, i, i+1)
	if age := c.now().Sub(item.at); age < 0 || age >= cacheAge {
		return nil
	}
	c.items = append(c.items, item)
	page := *item.page
	page.Cached = true
	return &page
}

// put keeps a page, unless it is only half of one, came over a way that may work better next time, or must not be kept.
func (c *cache) put(key string, p *Page) {
	if p.Redirect != "" || p.Incomplete != "" || p.Note != "" || p.noStore || len(p.Body) > cacheBytes/4 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.items = slices.DeleteFunc(c.items, func(it cached) bool { return it.key == key })
	kept := *p
	c.items = append(c.items, cached{key, c.now(), &kept})
	size := 0
	for i := len(c.items) - 1; i >= 0; i-- {
		size += len(c.items[i].page.Body)
		if size > cacheBytes || len(c.items)-i > cachePages {
			c.items = slices.Delete(c.items, 0, i+1)
			break
		}
	}
}
