#include "metrics/pack_report.hpp"

namespace ccl {
namespace {

void pack_texts(const std::vector<std::string>& texts, ByteWriter& out) {
  out.value<std::uint64_t>(texts.size());
  for (const std::string& text : texts) out.text(text);
}
std::vector<std::string> unpack_texts(ByteReader& in) {
  std::vector<std::string> texts(in.value<std::uint64_t>());
  for (std::string& text : texts) text = in.text();
  return texts;
}

}  // namespace

void pack_report(const Report& report, ByteWriter& out) {
  out.value(report.status);
  out.text(report.reason);
  out.value(report.ranks_covered);
  out.value<std::uint64_t>(report.headlines.size());
  for (const Headline& headline : report.headlines) {
    out.text(headline.name);
    out.value(headline.value);
    out.text(headline.text);
    out.text(headline.description);
  }
  pack_texts(report.page, out);
  pack_texts(report.details, out);
  out.value<std::uint64_t>(report.vectors.size());
  for (const ResultVector& vector : report.vectors) {
    pack_texts({vector.path, vector.description, vector.unit}, out);
    out.array(vector.values);
  }
}
void unpack_report(ByteReader& in, Report& report) {
  report.status = in.value<Status>();
  report.reason = in.text();
  report.ranks_covered = in.value<std::int64_t>();
  report.headlines.resize(in.value<std::uint64_t>());
  for (Headline& headline : report.headlines) {
    headline.name = in.text();
    headline.value = in.value<double>();
    headline.text = in.text();
    headline.description = in.text();
  }
  report.page = unpack_texts(in);
  report.details = unpack_texts(in);
  report.vectors.resize(in.value<std::uint64_t>());
  for (ResultVector& vector : report.vectors) {
    std::vector<std::string> texts = unpack_texts(in);
    vector = {std::move(texts.at(0)), std::move(texts.at(1)), std::move(texts.at(2)), in.array<std::int64_t>()};
  }
}

}  // namespace ccl
