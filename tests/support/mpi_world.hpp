// The communicator of a test run under mpirun.
#pragma once
#include "comm/comm.hpp"

namespace ccl::test {
const Comm& world();
}
