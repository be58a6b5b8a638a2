// Settings files as worker 0 reads them.
#pragma once
#include <string>

#include "comm/comm.hpp"
#include "config/config.hpp"
#include "parse/classify.hpp"

namespace ccl {

/// The text of a settings file, the user's laid over ours: it need not exist on every node. Collective.
std::string shared_settings(const std::string& name, const Config& config, const Comm& comm);

/// The rules for names of kernels, and for CPU slices of Megatron and torchtitan. Collective.
Classifier shared_classifier(const Config& config, const Comm& comm);

}  // namespace ccl
