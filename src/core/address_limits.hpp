// What addresses cost that are reserved and never used.
#pragma once

namespace ccl {

/// Whether they cost nothing: the process has no limit on them (ulimit -v, ulimit -d), and the kernel does not count them as
/// memory (vm.overcommit_memory = 2). Asked once.
bool unused_addresses_are_free();

}  // namespace ccl
