// The short run of a target that every build has: its seeds, the files named on the command line, and a fixed number
// of changed seeds, always the same ones. Ends early when its time is over.
#include <chrono>
#include <fstream>
#include <iterator>
#include <random>

#include "target.hpp"

namespace {

using Random = std::mt19937_64;

std::string changed(std::string text, const std::vector<std::string>& seeds, Random& random) {
  static constexpr std::string_view letters = "{}[]\",:\\0-e.\n x\xff\x1f#'&*|>=$<";
  const auto below = [&](std::size_t n) { return n == 0 ? 0 : random() % n; };
  for (std::size_t change = 1 + below(4); change > 0; --change) {
    const std::size_t at = below(text.size());
    switch (random() % 7) {
      case 0: text.erase(at, 1 + below(40)); break;
      case 1: text.insert(at, 1, letters[below(letters.size())]); break;
      case 2: text.insert(at, text.substr(below(text.size()), below(60))); break;
      case 3: text.resize(at); break;
      case 4: {
        const std::string& other = seeds[below(seeds.size())];
        text.insert(at, other.substr(below(other.size()), below(200)));
        break;
      }
      case 5: text.insert(at, std::to_string(static_cast<std::int64_t>(random()) >> below(64))); break;
      default:
        if (!text.empty()) text[at] = static_cast<char>(random() % 256);
    }
  }
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace std::chrono;
  constexpr seconds longest{5};
  constexpr int rounds = 2000;
  for (int i = 1; i < argc; ++i) {
    std::ifstream file(argv[i], std::ios::binary);
    ccl::fuzz::run(std::string(std::istreambuf_iterator<char>(file), {}));
  }
  if (argc > 1) return 0;
  const std::vector<std::string> seeds = ccl::fuzz::seeds();
  for (const std::string& seed : seeds) ccl::fuzz::run(seed);
  Random random(11);
  const auto end = steady_clock::now() + longest;
  int done = 0;
  for (; done < rounds && steady_clock::now() < end; ++done)
    ccl::fuzz::run(changed(seeds[random() % seeds.size()], seeds, random));
  std::printf("%zu seeds and %d changed ones\n", seeds.size(), done);
}
