// ScopedLocale: the process under a locale with a decimal comma, whatever is installed. Compiles the locale with
// localedef into a temporary directory if the machine has it in source form only.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <clocale>
#include <filesystem>
#include <string>

namespace fleetmark {

class ScopedLocale {
 public:
  explicit ScopedLocale(const std::string& name) {
    active_ = std::setlocale(LC_ALL, name.c_str()) != nullptr;
    if (!active_) {
      std::string made = testing::TempDir() + "locale-XXXXXX";
      if (mkdtemp(made.data()) == nullptr) return;
      directory_ = made;
      const std::string source = name.substr(0, name.find('.'));
      const std::string command =
          "localedef -i " + source + " -f UTF-8 '" + directory_ + "/" + name + "' >/dev/null 2>&1";
      if (std::system(command.c_str()) == 0) {
        setenv("LOCPATH", directory_.c_str(), 1);
        active_ = std::setlocale(LC_ALL, name.c_str()) != nullptr;
      }
    }
  }
  ~ScopedLocale() {
    std::setlocale(LC_ALL, "C");
    unsetenv("LOCPATH");
    std::error_code ignored;
    if (!directory_.empty()) std::filesystem::remove_all(directory_, ignored);
  }
  ScopedLocale(const ScopedLocale&) = delete;
  ScopedLocale& operator=(const ScopedLocale&) = delete;

  bool active() const { return active_; }

 private:
  bool active_ = false;
  std::string directory_;
};

}  // namespace fleetmark
