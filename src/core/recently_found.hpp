// A map asked for the same few keys again and again, each until the next of its kind: where their values lie is remembered.
#pragma once
#include <array>
#include <cstddef>

namespace ccl {

/// Map: a std::map or one whose values stay where they are. It must not lose any while this object is used.
template <class Map>
class RecentlyFound {
 public:
  explicit RecentlyFound(Map& map) : map_(map) {}
  /// As map[key]. kind: alike for the keys that follow each other; different ones, if not too many, do not displace each other.
  typename Map::mapped_type& operator()(const typename Map::key_type& key, std::size_t kind = 0) {
    typename Map::value_type*& found = found_[kind % places];
    if (found == nullptr || found->first != key) found = &*map_.try_emplace(key).first;
    return found->second;
  }

 private:
  static constexpr std::size_t places = 127;
  Map& map_;
  std::array<typename Map::value_type*, places> found_{};
};

}  // namespace ccl
