#include "agent/executor/own_image.h"

#include <fcntl.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#ifdef __APPLE__
#include <mach-o/dyld.h>
#endif

namespace fleetmark::agent {
namespace {

int g_image_fd = -1;

}  // namespace

void RememberOwnImage() {
#ifdef __linux__
  if (g_image_fd >= 0) return;
  const int fd = ::open("/proc/self/exe", O_PATH | O_CLOEXEC);
  if (fd < 0) return;
  // Out of the way of the numbers that a worker's pipes get.
  g_image_fd = ::fcntl(fd, F_DUPFD_CLOEXEC, 64);
  if (g_image_fd < 0) {
    g_image_fd = fd;
  } else {
    ::close(fd);
  }
#endif
}

std::string OwnImage() {
#ifdef __APPLE__
  char buffer[PATH_MAX];
  uint32_t size = sizeof buffer;
  char real[PATH_MAX];
  if (_NSGetExecutablePath(buffer, &size) == 0 && ::realpath(buffer, real) != nullptr) return real;
  return "";
#else
  // In the child that execs it, "self" is the child, which still has the descriptor.
  return g_image_fd >= 0 ? absl::StrCat("/proc/self/fd/", g_image_fd) : std::string();
#endif
}

}  // namespace fleetmark::agent
