// Before the exports are read for good: what each says of NCCL's communicators and of its clock, put together by one
// gather_all (cost: 16 bytes per rank and communicator it is in).
#pragma once
#include "comm/comm.hpp"
#include "discover/discover.hpp"
#include "parse/nsys_survey.hpp"

namespace ccl {

/// Collective. Each worker surveys its files; nothing is read where one export is all there is.
Communicators survey_communicators(const Input& input, const Comm& comm);

}  // namespace ccl
