#include "tests/support/machine_tree.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace fleetmark::test {
namespace {

[[noreturn]] void Fail(const std::string& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  std::abort();
}

bool Starts(const std::string& line, const char* start) { return line.rfind(start, 0) == 0; }

}  // namespace

std::string ReadTestData(const std::string& name) {
  const char* tree = std::getenv("FLEETMARK_SOURCE_DIR");
  const std::string path = std::string(tree != nullptr ? tree : FLEETMARK_SOURCE_DIR) + "/tests/data/" + name;
  std::ifstream file(path, std::ios::binary);
  if (!file) Fail("no test data " + path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

MachineTree::MachineTree(const std::string& machine) { Add(ReadTestData("linux/" + machine + ".tree")); }

void MachineTree::Add(const std::string& text) {
  std::string file;
  std::string content;
  const auto finish = [&] {
    if (!file.empty()) WriteFile(root() + file, content);
    file.clear();
    content.clear();
  };
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const bool entry = Starts(line, "== /") || Starts(line, "= /") || Starts(line, "=> /") || Starts(line, "/ /");
    if (!entry) {
      if (!file.empty()) {
        content += line + "\n";
      } else if (!line.empty() && !Starts(line, "#")) {
        Fail("machine tree: do not understand: " + line);
      }
      continue;
    }
    finish();
    const std::string rest = line.substr(line.find(' ') + 1);
    const size_t blank = rest.find(' ');
    const std::string path = rest.substr(0, blank);
    const std::string value = blank == std::string::npos ? "" : rest.substr(blank + 1);
    if (Starts(line, "== ")) {
      file = path;
    } else if (Starts(line, "= ")) {
      WriteFile(root() + path, value + "\n");
    } else if (Starts(line, "=> ")) {
      std::filesystem::create_directories(std::filesystem::path(root() + path).parent_path());
      std::filesystem::create_symlink(value, root() + path);
    } else {
      std::filesystem::create_directories(root() + path);
    }
  }
  finish();
}

}  // namespace fleetmark::test
