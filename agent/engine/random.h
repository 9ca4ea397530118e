// Random: xoroshiro128+ (Blackman, Vigna), two words of state, about 1 ns a number. Not for secrets.
#pragma once

#include <bit>
#include <cstdint>

namespace fleetmark::agent {

class Random {
 public:
  // Any seed will do: it is spread by splitmix64.
  explicit Random(uint64_t seed) noexcept : a_(Spread(seed)), b_(Spread(seed)) {
    if ((a_ | b_) == 0) a_ = 1;
  }

  uint64_t Next() noexcept {
    const uint64_t result = a_ + b_;
    const uint64_t mixed = a_ ^ b_;
    a_ = std::rotl(a_, 24) ^ mixed ^ (mixed << 16);
    b_ = std::rotl(mixed, 37);
    return result;
  }

  // Uniform in [0, limit). The bias is below limit / 2^64.
  uint64_t Below(uint64_t limit) noexcept {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(Next()) * limit) >> 64);
  }

 private:
  static uint64_t Spread(uint64_t& seed) noexcept {
    seed += 0x9e3779b97f4a7c15;
    uint64_t z = seed;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

  uint64_t a_;
  uint64_t b_;
};

}  // namespace fleetmark::agent
