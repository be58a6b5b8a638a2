// 128-bit integers for products of nanoseconds or bytes, without the pedantic warning.
#pragma once
namespace ccl {
__extension__ typedef __int128 Wide;
}
