// TempDirectory: a directory of its own for one test, gone with everything in it when the object is.
#pragma once

#include <string>

namespace fleetmark::test {

class TempDirectory {
 public:
  // Below `parent`, or where the system keeps temporary files, with a name that begins so. Aborts if it cannot be made.
  explicit TempDirectory(const std::string& parent = "", const std::string& name = "fleetmark-test-");
  ~TempDirectory();
  TempDirectory(const TempDirectory&) = delete;
  TempDirectory& operator=(const TempDirectory&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// $TMPDIR, or /tmp, or where that is in memory (disks cannot be measured there) /var/tmp.
std::string DirectoryOnDisk();

// Makes the directories on the way. Aborts on failure.
void WriteFile(const std::string& path, const std::string& bytes);

}  // namespace fleetmark::test
