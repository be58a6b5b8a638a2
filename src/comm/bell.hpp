// Wakes a process of the same node that waits without a processor; MPI waits awake only.
#pragma once
#include <array>
#include <chrono>

namespace ccl {

class Bell {
 public:
  /// Where the system has none, or no descriptor is left, nobody is woken: a wait takes its whole time.
  Bell();
  Bell(const Bell&) = delete;
  Bell& operator=(const Bell&) = delete;
  ~Bell();

  /// By which another process of the node rings it; all zero: there is none.
  using Name = std::array<char, 8>;
  const Name& name() const { return name_; }

  /// Does not wait, and does not tell whether it was heard.
  void ring(const Name& other) const;
  /// Until someone rings, or has rung since the last wait: true. False: the time is over.
  bool wait(std::chrono::microseconds longest) const;

 private:
  int socket_ = -1;
  Name name_{};
};

}  // namespace ccl
