#include "discover/walk.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <system_error>

#include "core/file_trouble.hpp"
#include "discover/natural_order.hpp"

namespace fs = std::filesystem;

namespace ccl {
namespace {

fs::path normal(const std::string& name) {
  std::error_code ignored;
  fs::path path = fs::absolute(name, ignored).lexically_normal();
  if (!path.has_filename() && path.has_parent_path()) path = path.parent_path();
  return path;
}

[[noreturn]] void fail_unusable(const std::string& name, const std::string& why) {
  throw FatalError(ExitCode::bad_request, "trace folder or file " + name + " cannot be read (" + why + ")");
}

[[noreturn]] void fail_missing(const std::string& name) {
  std::vector<std::string> siblings;
  std::error_code ec;
  if (fs::is_symlink(fs::symlink_status(normal(name), ec))) fail_unusable(name, "a link that leads to nothing");
  const fs::path parent = normal(name).parent_path();
  for (fs::directory_iterator at(parent, ec), end; !ec && at != end; at.increment(ec))
    siblings.push_back(at->path().filename().string());
  std::sort(siblings.begin(), siblings.end());
  const std::string meant = closest(normal(name).filename().string(), siblings);
  std::string message = "no such trace folder or file: " + name;
  if (!meant.empty()) message += ". Did you mean " + (parent / meant).string() + "?";
  throw FatalError(ExitCode::bad_request, message);
}

fs::path common_folder(const std::vector<fs::path>& folders) {
  fs::path common = folders.front();
  for (const fs::path& other : folders) {
    fs::path shared;
    auto a = common.begin();
    auto b = other.begin();
    for (; a != common.end() && b != other.end() && *a == *b; ++a, ++b) shared /= *a;
    common = shared;
  }
  return common;
}

class Walker {
 public:
  Walker(const fs::path& root, std::vector<FoundFile>& files, Problems& problems)
      : root_(root), files_(files), problems_(problems) {}

  void add_file(const fs::path& path) {
    std::error_code ec;
    const fs::path real = fs::canonical(path, ec);
    if (!seen_.insert(ec ? path : real).second) return;
    const auto bytes = fs::file_size(path, ec);
    if (ec) return unreadable(path, ec.message());
    files_.push_back({path.string(), shown(path), static_cast<std::int64_t>(bytes)});
  }

  void add_folder(const fs::path& folder) {
    std::vector<fs::path> open{folder};
    while (!open.empty()) {
      const fs::path current = std::move(open.back());
      open.pop_back();
      std::error_code ec;
      fs::directory_iterator at(current, ec);
      for (const fs::directory_iterator end; !ec && at != end; at.increment(ec)) add_entry(*at, folder, open);
      if (ec) unreadable(current, ec.message());
    }
  }

 private:
  void add_entry(const fs::directory_entry& entry, const fs::path& top, std::vector<fs::path>& open) {
    const fs::path& path = entry.path();
    if (path.filename().string().front() == '.') return;
    std::error_code ec;
    const fs::file_status own = entry.symlink_status(ec);
    if (ec) return unreadable(path, ec.message());
    if (fs::is_symlink(own)) return check_link(path, top);
    if (fs::is_directory(own)) return open.push_back(path);
    if (fs::is_regular_file(own)) return add_file(path);
    // Never a pipe or socket, which would block.
    if (has_trace_like_name(path.filename().string())) unreadable(path, "not a regular file");
  }

  void check_link(const fs::path& link, const fs::path& top) {
    std::error_code ec;
    const fs::path target = fs::canonical(link, ec);
    const bool trace_like = has_trace_like_name(link.filename().string());
    if (ec) {
      if (trace_like) unreadable(link, "the symbolic link leads nowhere");
      return;
    }
    const fs::path inside = fs::canonical(top, ec);
    const auto [end_of_top, at] = std::mismatch(inside.begin(), inside.end(), target.begin(), target.end());
    (void)at;
    if (end_of_top == inside.end()) return;
    if (trace_like || fs::is_directory(target, ec))
      unreadable(link, "the symbolic link leads out of the trace folder and is not followed; name its target too");
  }

  void unreadable(const fs::path& path, const std::string& why) {
    Problem problem;
    problem.code = Code::unreadable_file;
    problem.file = shown(path);
    problem.detail = why;
    problems_.add(std::move(problem));
  }

  std::string shown(const fs::path& path) const { return path.lexically_relative(root_).generic_string(); }

  const fs::path& root_;
  std::vector<FoundFile>& files_;
  Problems& problems_;
  std::set<fs::path> seen_;
};

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() &&
         std::equal(end.begin(), end.end(), text.end() - static_cast<std::ptrdiff_t>(end.size()),
                    [](char e, char t) { return e == (t >= 'A' && t <= 'Z' ? static_cast<char>(t + 32) : t); });
}

}  // namespace

FileTree walk(const std::vector<std::string>& folders, Problems& problems) {
  if (folders.empty()) throw FatalError(ExitCode::bad_request, "no trace folder was given");
  std::vector<fs::path> named;
  std::vector<fs::path> tops;
  for (const std::string& name : folders) {
    std::error_code ec;
    const fs::file_status status = fs::status(name, ec);
    const std::string trouble = fs::is_directory(status) ? "" : file_trouble(name);
    if (trouble == "no such file") fail_missing(name);
    // A regular file without permission is one of many: it is named among the warnings.
    if (!trouble.empty() && !fs::is_regular_file(status)) fail_unusable(name, trouble);
    named.push_back(normal(name));
    tops.push_back(fs::is_directory(status) ? named.back() : named.back().parent_path());
  }
  const fs::path root = common_folder(tops);
  FileTree tree;
  tree.root = root.string();
  Walker walker(root, tree.files, problems);
  for (const fs::path& path : named) {
    std::error_code ec;
    if (fs::is_directory(path, ec))
      walker.add_folder(path);
    else if (fs::is_regular_file(path, ec))
      walker.add_file(path);
  }
  std::sort(tree.files.begin(), tree.files.end(),
            [](const FoundFile& a, const FoundFile& b) { return natural_less(a.shown, b.shown); });
  return tree;
}

std::string absolute_path(const std::string& name) { return normal(name).string(); }

std::string_view file_name(std::string_view path) { return path.substr(path.find_last_of('/') + 1); }

bool has_trace_like_name(std::string_view name) {
  constexpr std::array<std::string_view, 7> ends{".json", ".gz", ".jsonl", ".sqlite", ".sqlite3", ".pickle", ".pkl"};
  return std::any_of(ends.begin(), ends.end(), [&](std::string_view end) { return ends_with(name, end); });
}

}  // namespace ccl
