#include "tests/support/loop_device.h"

#include <fcntl.h>
#include <linux/loop.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tests/support/run_program.h"

namespace fleetmark::test {
namespace {

absl::Status SystemError(const std::string& what) { return absl::UnavailableError(what + ": " + std::strerror(errno)); }

constexpr int kTries = 20;  // another test may take the free device first

}  // namespace

absl::StatusOr<LoopDevice> LoopDevice::Attach(const std::string& file, bool direct_io) {
  const int backing = open(file.c_str(), O_RDWR | O_CLOEXEC);
  if (backing < 0) return SystemError("open " + file);
  const int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
  if (control < 0) {
    absl::Status status = SystemError("open /dev/loop-control");
    close(backing);
    return status;
  }
  absl::StatusOr<LoopDevice> result = absl::UnavailableError("every free loop device was taken by others");
  for (int attempt = 0; attempt < kTries; ++attempt) {
    const int number = ioctl(control, LOOP_CTL_GET_FREE);
    if (number < 0) {
      result = SystemError("ask for a free loop device");
      break;
    }
    const std::string name = "loop" + std::to_string(number);
    const int device = open(("/dev/" + name).c_str(), O_RDWR | O_CLOEXEC);
    if (device < 0) {
      result = SystemError("open /dev/" + name);
      break;
    }
    if (ioctl(device, LOOP_SET_FD, backing) == 0) {
      if (direct_io) ioctl(device, LOOP_SET_DIRECT_IO, 1UL);
      close(device);
      result = LoopDevice(name);
      break;
    }
    const bool taken = errno == EBUSY;
    result = SystemError(absl::StrCat("attach ", file, " to /dev/", name));
    close(device);
    if (!taken) break;
  }
  close(control);
  close(backing);
  return result;
}

LoopDevice::LoopDevice(LoopDevice&& other) noexcept : name_(std::exchange(other.name_, "")) {}

LoopDevice& LoopDevice::operator=(LoopDevice&& other) noexcept {
  std::swap(name_, other.name_);
  return *this;
}

LoopDevice::~LoopDevice() {
  if (name_.empty()) return;
  const int device = open(path().c_str(), O_RDWR | O_CLOEXEC);
  if (device < 0) return;
  ioctl(device, LOOP_CLR_FD, 0);
  close(device);
}

absl::StatusOr<MountedImage> MountedImage::Make(uint64_t bytes, const std::string& parent, bool direct_io) {
  MountedImage image;
  image.directory_ = std::make_unique<TempDirectory>(parent);
  const std::string file = *image.directory_ / "image";
  const int fd = open(file.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return SystemError("create " + file);
  const bool sized = ftruncate(fd, static_cast<off_t>(bytes)) == 0;
  close(fd);
  if (!sized) return SystemError("size " + file);
  const ProgramResult made = RunProgram({"mkfs.ext4", "-q", "-F", file});
  if (made.exit_code != 0) return absl::UnavailableError("mkfs.ext4 " + file + ": " + made.output);
  absl::StatusOr<LoopDevice> device = LoopDevice::Attach(file, direct_io);
  if (!device.ok()) return device.status();
  image.device_ = std::make_unique<LoopDevice>(*std::move(device));
  const std::string mount_point = *image.directory_ / "mnt";
  if (mkdir(mount_point.c_str(), 0700) != 0) return SystemError("mkdir " + mount_point);
  if (mount(image.device_->path().c_str(), mount_point.c_str(), "ext4", MS_NOATIME, nullptr) != 0) {
    return SystemError("mount " + image.device_->path());
  }
  image.mount_point_ = mount_point;
  return image;
}

MountedImage::~MountedImage() {
  if (!mount_point_.empty() && directory_ != nullptr) umount2(mount_point_.c_str(), MNT_DETACH);
}

}  // namespace fleetmark::test
