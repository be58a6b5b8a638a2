// Whether this build has a sanitizer's allocator and threads, which end the process where memory lacks.
#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CCL_TEST_SANITIZED 1
#elif defined(__has_feature)  // Clang has no such macros
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define CCL_TEST_SANITIZED 1
#endif
#endif

namespace ccl::test {

#ifdef CCL_TEST_SANITIZED
inline constexpr bool dies_without_memory = true;
#else
inline constexpr bool dies_without_memory = false;
#endif
inline constexpr const char* why_it_dies = "built with a sanitizer, which ends the process itself where memory lacks";

}  // namespace ccl::test
