// The floor under every run: linked to all that ccl-analyze is linked to, it does nothing; with an argument it starts
// and ends MPI.
#include "comm/comm.hpp"

int main(int argc, char** argv) {
  if (argc > 1) const ccl::Comm comm(argc, argv);
  return 0;
}
