#include "common/enroll/new_directories.h"

#include <unistd.h>

#include <filesystem>

#include "common/pki/files.h"

namespace fleetmark {

NewDirectories::~NewDirectories() {
  for (auto path = made_.rbegin(); path != made_.rend(); ++path) ::rmdir(path->c_str());
}

absl::Status NewDirectories::Make(const std::string& path) {
  std::vector<std::string> missing;
  for (std::filesystem::path at(path); !at.empty() && !FileExists(at.string()); at = at.parent_path()) {
    if (at.has_filename()) missing.push_back(at.string());
    if (at == at.parent_path()) break;
  }
  // Whatever of them was made before an error is ours to remove too.
  made_.insert(made_.end(), missing.rbegin(), missing.rend());
  return MakePrivateDirectory(path);
}

}  // namespace fleetmark
