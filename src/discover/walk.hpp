// The folders the user named in; every regular file below them out, in natural path order. Runs on worker 0 only.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/problems.hpp"

namespace ccl {

struct FoundFile {
  std::string path;   // as opened
  std::string shown;  // relative to FileTree::root, '/' separated
  std::int64_t bytes = 0;
};

struct FileTree {
  std::string root;  // the one folder, or the deepest folder above all that were named
  std::vector<FoundFile> files;
};

/// Hidden entries (".…") are passed over, and so are symbolic links below the named folders: what they reach inside
/// is found anyway, and one that leads outside is named if it looks like a trace or is a folder. So loops cannot
/// occur. A name in `folders` may itself be a link or one file. Folders that cannot be listed become
/// Code::unreadable_file. Throws FatalError(bad_request) if a named folder does not exist, or
/// is a pipe or a device.
FileTree walk(const std::vector<std::string>& folders, Problems& problems);

/// A path as FoundFile::path begins: absolute, without "." and ".." and trailing '/'.
std::string absolute_path(const std::string& name);
/// Last part of a path.
std::string_view file_name(std::string_view path);
/// Whether the name alone suggests a trace: .json .json.gz .gz .sqlite .pickle (any case), or .jsonl.
bool has_trace_like_name(std::string_view name);

}  // namespace ccl
