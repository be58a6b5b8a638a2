#include "discover/host_map.hpp"

#include <charconv>
#include <sstream>
#include <utility>

#include "core/lower_case.hpp"
#include "core/problems.hpp"

namespace ccl {

std::map<std::int32_t, std::string> parse_host_map(const std::string& text, const std::string& file) {
  std::map<std::int32_t, std::string> hosts;
  std::istringstream lines(text);
  std::string line;
  bool is_first = true;
  for (int number = 1; std::getline(lines, line); ++number) {
    line.resize(std::min(line.find('#'), line.size()));
    for (char& c : line)
      if (c == ',' || c == ':' || c == '\r') c = ' ';
    std::istringstream words(line);
    std::string rank_text, host, more;
    if (!(words >> rank_text)) continue;
    std::int32_t rank = -1;
    const auto [end, error] = std::from_chars(rank_text.data(), rank_text.data() + rank_text.size(), rank);
    const bool is_rank = error == std::errc() && end == rank_text.data() + rank_text.size() && rank >= 0;
    if (std::exchange(is_first, false) && lower_case(rank_text).starts_with("rank")) continue;
    if (!is_rank || !(words >> host) || (words >> more))
      throw FatalError(ExitCode::bad_request,
                       "--host-map " + file + ", line " + std::to_string(number) + " is not 'rank host': " + line);
    if (!hosts.emplace(rank, host).second && hosts[rank] != host)
      throw FatalError(ExitCode::bad_request, "--host-map " + file + ", line " + std::to_string(number) +
                                                  " gives rank " + rank_text + " a second host");
  }
  return hosts;
}

}  // namespace ccl
