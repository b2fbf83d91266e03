#include <stdio.h>
#define LIMIT 10
#  define SQUARE(x) ((x) * (x))

/* int commented(void) {
} */
typedef struct point {
    int x, y;
} point;
typedef unsigned long word;
typedef int (*compare)(const void *a, const void *b);
struct store *global;
static struct store cache = { 0 };

struct store {
    int (*open)(const char *path);
    char *name;
};
enum color { RED, GREEN };
union value { int i; double d; };

static int helper(int a);
extern void *allocate(size_t size,
                      int flags);

static inline struct store *store_open(const char *path)
{
    if (path) {
        return open(path);
    }
    return NULL;
}

int
gnu_style (int a, char *b)
{
  return helper (a);
}

void (*handler(int sig))(int) {
    return 0;
}

int main(int argc, char **argv) {
#ifdef DEBUG
    printf("int in_text(void) {\n");
#endif
    return helper(1);
}
