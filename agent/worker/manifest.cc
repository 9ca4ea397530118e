#include "agent/worker/manifest.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "agent/worker/scratch.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/text_format.h"

namespace fleetmark::agent {
namespace {

absl::Status Failed(const char* what, const std::string& path) {
  return absl::UnavailableError(
      absl::StrCat(what, " ", path, ": ", strerror(errno), "; the state directory must be writable and have room"));
}

class SilentErrors : public google::protobuf::io::ErrorCollector {
  void AddError(int, int, const std::string&) override {}
  void AddWarning(int, int, const std::string&) override {}
};

absl::Status WriteAndSync(int fd, const std::string& text, const std::string& path) {
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t count = ::write(fd, text.data() + done, text.size() - done);
    if (count < 0 && errno != EINTR) return Failed("write", path);
    if (count > 0) done += static_cast<size_t>(count);
  }
  return ::fsync(fd) == 0 ? absl::OkStatus() : Failed("sync", path);
}

}  // namespace

absl::Status WriteManifest(const std::string& path, const v1::ScratchManifest& manifest) {
  std::string text;
  google::protobuf::TextFormat::PrintToString(manifest, &text);
  const std::string temporary = path + ".tmp";
  OwnedFd file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.valid()) return Failed("create", temporary);
  const absl::Status written = WriteAndSync(file.get(), text, temporary);
  file.Close();
  if (!written.ok() || std::rename(temporary.c_str(), path.c_str()) != 0) {
    const absl::Status failure = written.ok() ? Failed("rename", temporary) : written;
    ::unlink(temporary.c_str());
    return failure;
  }
  const std::string directory = path.substr(0, path.rfind('/') + 1);
  const OwnedFd parent(::open(directory.empty() ? "." : directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!parent.valid() || ::fsync(parent.get()) != 0) return Failed("sync", directory);
  return absl::OkStatus();
}

absl::StatusOr<v1::ScratchManifest> ReadManifest(const std::string& path) {
  const OwnedFd file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!file.valid()) {
    return errno == ENOENT ? absl::NotFoundError(path) : Failed("open", path);
  }
  char buffer[65536];
  const ssize_t count = ::read(file.get(), buffer, sizeof buffer);
  if (count < 0) return Failed("read", path);
  v1::ScratchManifest manifest;
  SilentErrors errors;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&errors);
  if (!parser.ParseFromString(std::string(buffer, static_cast<size_t>(count)), &manifest)) {
    return absl::DataLossError(absl::StrCat(path, " is not a manifest"));
  }
  return manifest;
}

absl::Status RemoveManifest(const std::string& path) {
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return Failed("remove", path);
  return absl::OkStatus();
}

}  // namespace fleetmark::agent
