#include <limits.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "agent/platform/linux/sysfs.h"
#include "agent/platform/machine.h"
#include "common/text/text.h"

namespace fleetmark::agent {
namespace {

// A value of os-release: bare, or in quotes with \ before " $ ` and \ .
std::string Unquote(std::string_view text) {
  text = Trim(text);
  if (text.size() < 2 || (text.front() != '"' && text.front() != '\'') || text.back() != text.front()) {
    return std::string(text);
  }
  std::string value;
  for (size_t i = 1; i + 1 < text.size(); ++i) {
    if (text[i] == '\\' && i + 2 < text.size()) ++i;
    value.push_back(text[i]);
  }
  return value;
}

std::string PrettyName(const std::string& root) {
  for (const char* file : {"/etc/os-release", "/usr/lib/os-release"}) {
    std::string name;
    const std::string text = ReadText(root + file).value_or("");
    for (const std::string_view line : SplitLines(text)) {
      if (line.substr(0, 12) == "PRETTY_NAME=") return Unquote(line.substr(12));
      if (line.substr(0, 5) == "NAME=") name = Unquote(line.substr(5));
    }
    if (!name.empty()) return name;
  }
  return "";
}

}  // namespace

v1::OperatingSystem ReadOperatingSystem(const std::string& root, std::vector<v1::UnreadFact>& unread) {
  v1::OperatingSystem system;
  system.set_name(CleanUtf8(PrettyName(root)));
  if (system.name().empty()) {
    v1::UnreadFact& fact = unread.emplace_back();
    fact.set_fact("os.name");
    fact.set_reason("/etc/os-release: no PRETTY_NAME");
  }
  std::string release = ReadTrimmed(root + "/proc/sys/kernel/osrelease").value_or("");
  std::string architecture = ReadTrimmed(root + "/proc/sys/kernel/arch").value_or("");
  utsname names;
  if (root.empty() && uname(&names) == 0) {
    if (release.empty()) release = names.release;
    architecture = names.machine;
  }
  if (!release.empty()) system.set_kernel(CleanUtf8("Linux " + release));
  system.set_architecture(CleanUtf8(architecture));
  return system;
}

std::string ReadBootId(const std::string& root) {
  return CleanUtf8(ReadTrimmed(root + "/proc/sys/kernel/random/boot_id").value_or(""));
}

std::string ReadHostName() {
  char name[HOST_NAME_MAX + 1] = {};
  if (gethostname(name, sizeof name - 1) != 0) return "";
  return CleanUtf8(name);
}

}  // namespace fleetmark::agent
