#include "collector/fresh_directory.h"

#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace fleetmark::collector {

FreshDirectory::FreshDirectory(const std::string& path, const std::vector<std::string>& files) {
  std::error_code ignored;
  for (const std::string& file : files) {
    std::string whole = absl::StrCat(path, "/", file);
    if (!std::filesystem::exists(whole, ignored)) files_.push_back(std::move(whole));
  }
  std::filesystem::path directory = path;
  while (directory.has_relative_path() && !std::filesystem::exists(directory, ignored)) {
    directories_.push_back(directory.string());
    directory = directory.parent_path();
  }
}

FreshDirectory::~FreshDirectory() {
  for (const std::string& file : files_) unlink(file.c_str());
  // One that holds something stays.
  for (const std::string& directory : directories_) rmdir(directory.c_str());
}

void FreshDirectory::Keep() {
  files_.clear();
  directories_.clear();
}

}  // namespace fleetmark::collector
