// Memory for I/O. AlignedBuffer: page-aligned, touched, freed by its destructor. DataPool: incompressible data from a
// seeded generator, whose 4 KiB blocks are stamped with (seed, offset, pass) just before they are written, so that no
// two blocks of a file, and no two versions of a block, are alike (C-005).
//
// Not thread-safe; threads of one job use disjoint parts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "absl/status/statusor.h"

namespace fleetmark::agent {

class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  static absl::StatusOr<AlignedBuffer> Allocate(size_t bytes);  // ResourceExhausted with the size
  AlignedBuffer(AlignedBuffer&& other) noexcept;
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept;
  ~AlignedBuffer();

  uint8_t* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  uint8_t* data_ = nullptr;
  size_t size_ = 0;
};

class DataPool {
 public:
  static constexpr size_t kDefaultBytes = size_t{16} << 20;
  static constexpr size_t kStampBlock = 4096;

  // Fills `bytes` (a multiple of 4 KiB) from `seed`.
  static absl::StatusOr<DataPool> Make(uint64_t seed, size_t bytes = kDefaultBytes);

  // Marks the 4 KiB blocks of [block, block + bytes), which is about to be written at `offset`. Blocks shorter than
  // 4 KiB get one stamp.
  void Stamp(uint8_t* block, size_t bytes, uint64_t offset, uint64_t pass) const noexcept {
    for (size_t at = 0; at < bytes; at += kStampBlock) {
      const uint64_t stamp[3] = {seed_, offset + at, pass};
      std::memcpy(block + at, stamp, sizeof stamp);
    }
  }

  uint8_t* data() const { return buffer_.data(); }
  size_t size() const { return buffer_.size(); }
  uint64_t seed() const { return seed_; }

 private:
  AlignedBuffer buffer_;
  uint64_t seed_ = 0;
};

}  // namespace fleetmark::agent
