#pragma once
#include <string>

namespace fixture {
namespace detail { struct Tag {}; }

class Forward;

template <typename K, typename V>
class Store final : public Base<K>, private Other {
 public:
  explicit Store(int size) : size_(size) {}
  ~Store() override;
  Store& operator=(const Store&) = delete;
  bool operator()(const K& a, const K& b) const;
  V* find(const K& key) const {
    for (int i = 0; i < size_; i++) {
    }
    return nullptr;
  }
  virtual std::map<K, V> all() = 0;

  enum class Color { kRed, kGreen };

 private:
  struct Node {
    Node* next;
    void link(Node* other);
  };
  int size_ = compute(1);
};

template <typename K, typename V>
Store<K, V>::~Store() {
}

template <typename T> T square(T x) {
  return x * x;
}

std::string Store<int, int>::name() const { return R"(
class InText {
)"; }

bool Point::operator==(const Point& other) const {
  return true;
}

Point::Point(int x)
    : x_(x) {}

}  // namespace fixture
