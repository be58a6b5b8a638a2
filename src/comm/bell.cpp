// A datagram socket with an abstract name, which the system chooses: no file, nothing to clean up.
#include "comm/bell.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <thread>

#ifdef __linux__
#include <poll.h>
#endif

namespace ccl {

#ifdef __linux__
namespace {

constexpr std::size_t name_at = offsetof(sockaddr_un, sun_path);
constexpr std::size_t name_bytes = 6;  // a zero and five digits (unix(7), autobind)

}  // namespace

Bell::Bell() : socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) {
  sockaddr_un own{};
  own.sun_family = AF_UNIX;
  socklen_t size = sizeof own;
  auto* const address = reinterpret_cast<sockaddr*>(&own);
  if (socket_ >= 0 && ::bind(socket_, address, sizeof own.sun_family) == 0 && ::getsockname(socket_, address, &size) == 0 &&
      size == name_at + name_bytes)
    std::memcpy(name_.data(), own.sun_path, name_bytes);
}

Bell::~Bell() {
  if (socket_ >= 0) ::close(socket_);
}

void Bell::ring(const Name& other) const {
  if (other == Name{} || socket_ < 0) return;
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  std::memcpy(to.sun_path, other.data(), name_bytes);
  constexpr char nothing = 0;
  // Where nobody hears it, or it rings already, that is all right.
  [[maybe_unused]] const ssize_t sent =
      ::sendto(socket_, &nothing, 1, MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&to), name_at + name_bytes);
}

bool Bell::wait(std::chrono::microseconds longest) const {
  if (name_ == Name{}) {
    std::this_thread::sleep_for(longest);
    return false;
  }
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(longest);
  const timespec time{.tv_sec = seconds.count(),
                      .tv_nsec = std::chrono::nanoseconds(longest - seconds).count()};
  pollfd own{.fd = socket_, .events = POLLIN, .revents = 0};
  if (::ppoll(&own, 1, &time, nullptr) <= 0) return false;
  char rung[64];
  while (::recv(socket_, rung, sizeof rung, 0) > 0) continue;  // of several at once one is enough
  return true;
}

#else

Bell::Bell() = default;
Bell::~Bell() = default;
void Bell::ring(const Name&) const {}
bool Bell::wait(std::chrono::microseconds longest) const {
  std::this_thread::sleep_for(longest);
  return false;
}

#endif

}  // namespace ccl
