#include <openssl/evp.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "store/hdf5_file.hpp"
#include "store/results.hpp"

namespace ccl {
namespace {

class Sha256 {
 public:
  Sha256() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
    if (!context_ || EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) != 1) throw std::bad_alloc();
  }
  void add(std::span<const std::byte> bytes) { EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()); }
  void add(std::int64_t value) { add(std::as_bytes(std::span<const std::int64_t, 1>(&value, 1))); }
  /// The length goes in first, so that "ab","c" and "a","bc" differ.
  void add(const std::string& text) {
    add(static_cast<std::int64_t>(text.size()));
    add(std::as_bytes(std::span<const char>(text)));
  }
  std::string hex() {
    std::array<unsigned char, 32> digest{};
    EVP_DigestFinal_ex(context_.get(), digest.data(), nullptr);
    std::string out;
    for (const unsigned char byte : digest) {
      out += "0123456789abcdef"[byte >> 4U];
      out += "0123456789abcdef"[byte & 15U];
    }
    return out;
  }

 private:
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

// Every NaN counts as the same value: its sign and payload depend on the compiler, not on the traces.
double canonical(double value) { return std::isnan(value) ? std::numeric_limits<double>::quiet_NaN() : value; }

bool depends_on_place(const std::string& path, const std::string& attribute) {
  return path == "/" && (attribute == "created_utc" || attribute == "command_line" || attribute == "program_version" ||
                         attribute == "workers");
}

void add_attributes(Sha256& hash, const InputFile& file, const std::string& path) {
  for (const auto& [name, value] : file.attributes(path)) {
    if (depends_on_place(path, name)) continue;
    hash.add(name);
    hash.add(static_cast<std::int64_t>(value.index()));
    if (const auto* integer = std::get_if<std::int64_t>(&value)) hash.add(*integer);
    if (const auto* text = std::get_if<std::string>(&value)) hash.add(*text);
    if (const auto* number = std::get_if<double>(&value)) {
      const double plain = canonical(*number);
      hash.add(std::as_bytes(std::span<const double, 1>(&plain, 1)));
    }
  }
}

void make_canonical(const DatasetLayout& layout, Bytes& rows) {
  std::size_t offset = 0;
  for (const ColumnInfo& column : layout.columns) {
    for (std::size_t at = offset; column.type == CellType::float64 && at < rows.size(); at += layout.row_bytes()) {
      double value = 0;
      std::memcpy(&value, rows.data() + at, sizeof value);
      value = canonical(value);
      std::memcpy(rows.data() + at, &value, sizeof value);
    }
    offset += column.width;
  }
}

void add_values(Sha256& hash, const InputFile& file, const std::string& path) {
  const DatasetLayout layout = file.layout(path);
  for (const ColumnInfo& column : layout.columns) {
    hash.add(column.name);
    hash.add(static_cast<std::int64_t>(column.type));
    hash.add(static_cast<std::int64_t>(column.width));
  }
  hash.add(static_cast<std::int64_t>(layout.number_type));
  const auto block = static_cast<std::int64_t>(std::max<std::size_t>(1, (std::size_t{8} << 20) / layout.row_bytes()));
  for (std::int64_t at = 0; at < layout.rows_count; at += block) {
    Bytes rows = file.rows(layout, at, std::min(block, layout.rows_count - at));
    make_canonical(layout, rows);
    hash.add(rows);
  }
}

}  // namespace

std::string content_hash(const std::string& hdf5_path) {
  const InputFile file(hdf5_path);
  Sha256 hash;
  for (const StoredObject& object : file.objects()) {
    if (object.path == "/timings" || object.path.starts_with("/timings/")) continue;
    hash.add(object.path);
    hash.add(static_cast<std::int64_t>(object.is_group ? 0 : object.shape.size()));
    for (const std::int64_t extent : object.shape) hash.add(extent);
    add_attributes(hash, file, object.path);
    if (!object.is_group) add_values(hash, file, object.path);
  }
  return hash.hex();
}

}  // namespace ccl
