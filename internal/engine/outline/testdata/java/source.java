package fixture;

import java.util.Map;

/**
 * class InComment {
 */
@Deprecated
public final class Store<K, V> extends Base implements Runnable {
    private static final int LIMIT = 10;
    private final Map<K, V> items = create();

    public Store(int size) {
        super(size);
        if (size > LIMIT) {
            throw new IllegalArgumentException("class Foo {");
        }
    }

    Store() {
        this(1);
    }

    @Override
    public void run() {
        Runnable r = new Runnable() {
            @Override public void run() {}
        };
    }

    public static <T extends Comparable<T>> Map<String, T[]> sort(
            Map<String, T> in, int n) throws Exception {
        return null;
    }

    @Nullable private V get(K key) { return items.get(key); }

    abstract int size();

    enum Color {
        RED(1), GREEN(2);

        private final int code;

        Color(int code) {
            this.code = code;
        }
    }

    interface Listener {
        void changed(String name);
    }

    record Point(int x, int y) {}

    static final String TEXT = """
        class InText {
        """;
}

@interface Marker {}
