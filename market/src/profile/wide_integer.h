#pragma once
/// 128-bit integers, an extension that g++ and clang share.

namespace rekindle::market::profile {

__extension__ typedef __int128 Int128;
__extension__ typedef unsigned __int128 UInt128;

} // namespace rekindle::market::profile
