#include "tests/agent/engine/job_file.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <thread>

namespace fleetmark::agent {

JobFile::JobFile(uint64_t bytes)
    : path_(directory_ / "file"), pool_(DataPool::Make(7, size_t{1} << 20).value()), bytes_(bytes) {
  fd_ = open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd_ < 0) std::abort();
  for (uint64_t offset = 0; offset < bytes; offset += 65536) {
    if (pwrite(fd_, pool_.data(), 65536, static_cast<off_t>(offset)) != 65536) std::abort();
  }
}

JobFile::~JobFile() { close(fd_); }

IoJob JobFile::Job() {
  IoJob job;
  job.fd = fd_;
  job.file_bytes = bytes_;
  job.block_bytes = 4096;
  job.depth = 4;
  job.ramp_seconds = 0.02;
  job.run_seconds = 0.06;
  job.pool = &pool_;
  return job;
}

void WithoutUring(const std::function<void()>& body) {
  // A filter holds for the thread that installs it, and those it starts.
  std::thread thread([&body] {
    sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    sock_fprog program{static_cast<unsigned short>(sizeof filter / sizeof filter[0]), filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) std::abort();
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) std::abort();
    body();
  });
  thread.join();
}

}  // namespace fleetmark::agent
