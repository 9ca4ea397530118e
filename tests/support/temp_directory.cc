#include "tests/support/temp_directory.h"

#include <linux/magic.h>
#include <stdlib.h>
#include <sys/vfs.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

namespace fleetmark::test {

TempDirectory::TempDirectory(const std::string& parent, const std::string& name) {
  const char* variable = std::getenv("TMPDIR");
  path_ = (!parent.empty() ? parent : variable != nullptr ? variable : "/tmp") + "/" + name + "XXXXXX";
  if (mkdtemp(path_.data()) == nullptr) {
    std::perror(path_.c_str());
    std::abort();
  }
}

TempDirectory::~TempDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string DirectoryOnDisk() {
  if (const char* variable = std::getenv("TMPDIR"); variable != nullptr) return variable;
  struct statfs facts = {};
  return statfs("/tmp", &facts) == 0 && facts.f_type == TMPFS_MAGIC ? "/var/tmp" : "/tmp";
}

void WriteFile(const std::string& path, const std::string& bytes) {
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << bytes;
  file.close();
  if (!file) {
    std::perror(path.c_str());
    std::abort();
  }
}

}  // namespace fleetmark::test
