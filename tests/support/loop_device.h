// Loop devices and mounted images for tests that need a disk of their own. Need root; where the system permits none,
// the errors say why, and the test skips with that text.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "tests/support/temp_directory.h"

namespace fleetmark::test {

// A loop device over a file; detached when the object is gone. Movable.
class LoopDevice {
 public:
  static absl::StatusOr<LoopDevice> Attach(const std::string& file, bool direct_io = false);
  LoopDevice(LoopDevice&& other) noexcept;
  LoopDevice& operator=(LoopDevice&& other) noexcept;
  ~LoopDevice();

  std::string path() const { return "/dev/" + name_; }
  const std::string& name() const { return name_; }  // "loop3"

 private:
  explicit LoopDevice(std::string name) : name_(std::move(name)) {}
  std::string name_;
};

// An ext4 file system of its own: an image file, a loop device over it, a mount. All gone with the object. Movable.
class MountedImage {
 public:
  // The image lies below `parent` ("" = where temporary files are; "/dev/shm" = in memory).
  static absl::StatusOr<MountedImage> Make(uint64_t bytes, const std::string& parent = "", bool direct_io = false);
  MountedImage(MountedImage&& other) noexcept = default;
  MountedImage& operator=(MountedImage&& other) noexcept = delete;
  ~MountedImage();

  const std::string& path() const { return mount_point_; }
  const LoopDevice& device() const { return *device_; }

 private:
  MountedImage() = default;
  std::unique_ptr<TempDirectory> directory_;  // declared first: gone last
  std::unique_ptr<LoopDevice> device_;
  std::string mount_point_;
};

}  // namespace fleetmark::test
