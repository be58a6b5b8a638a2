#include "exchange/communicators.hpp"

#include <map>

#include "core/bytes.hpp"

namespace ccl {

Communicators survey_communicators(const Input& input, const Comm& comm) {
  std::size_t exports = 0;
  for (const TraceFile& file : input.files) exports += file.format == TraceFormat::nsys_sqlite ? 1 : 0;
  Communicators all;
  if (exports < 2) return all;
  ByteWriter mine;
  together(comm, [&] {
    for (std::size_t i = 0; i < input.files.size(); ++i) {
      const TraceFile& file = input.files[i];
      if (file.format != TraceFormat::nsys_sqlite || file.owner != comm.worker()) continue;
      mine.value<std::uint64_t>(i);
      const NsysSurvey survey = survey_export(file);
      mine.array(survey.seats);
      mine.text(survey.session.host);
      mine.value(survey.session.utc_ns);
      mine.value(survey.session.system_ns);
    }
  });
  const std::vector<Bytes> parts = comm.gather_all(mine.take());
  std::map<std::uint64_t, std::vector<NsysSeat>> by_file;  // in the order of the files, whoever read them
  std::map<std::string, NsysSession> sessions;
  for (const Bytes& part : parts)
    for (ByteReader in(part); !in.at_end();) {
      const auto number = in.value<std::uint64_t>();
      by_file[number] = in.array<NsysSeat>();
      NsysSession& session = sessions[input.files[static_cast<std::size_t>(number)].shown];
      session.host = in.text();
      session.utc_ns = in.value<std::int64_t>();
      session.system_ns = in.value<std::int64_t>();
    }
  all.align(sessions);
  for (const auto& [number, seats] : by_file) {
    const TraceFile& file = input.files[static_cast<std::size_t>(number)];
    all.add({file.iteration, file.replica}, seats);
  }
  return all;
}

}  // namespace ccl
