#include "common/usage/usage.h"

#include <gtest/gtest.h>

namespace fleetmark {
namespace {

// What a program with a few commands says of these words, or "" if it takes them.
std::string Explained(std::vector<const char*> words) {
  unsigned limit = 0, count = 0;
  std::vector<std::string> labels, sets;
  std::string output;
  CLI::App app("", "program");
  app.require_subcommand(1);
  app.fallthrough();
  app.add_option("--output", output, "")->check(CLI::IsMember({"table", "json"}));
  CLI::App* hosts = app.add_subcommand("hosts", "");
  hosts->fallthrough();
  CLI::App* label = hosts->add_subcommand("label", "");
  label->fallthrough();
  label->add_option("labels", labels, "key=value or key-")->required();
  hosts->add_subcommand("rename", "")->fallthrough();
  CLI::App* run = app.add_subcommand("run", "");
  run->fallthrough();
  run->add_option("--set", sets, "")->allow_extra_args(false);
  run->add_option("--limit", limit, "")->check(CLI::Range(1U, 10U));
  run->add_option("--count", count, "");
  CLI::App* people = app.add_subcommand("people", "");
  people->require_subcommand(1);
  people->add_subcommand("invite", "");
  words.insert(words.begin(), "program");
  try {
    app.parse(static_cast<int>(words.size()), words.data());
  } catch (const CLI::ParseError& error) {
    return ExplainUsage(app, error);
  }
  return "";
}

TEST(UsageTest, WhatIsUnknownIsNamedWithTheNearest) {
  EXPECT_EQ(Explained({"hots"}), "there is no command 'hots'; did you mean 'hosts'? See: program --help");
  EXPECT_EQ(Explained({"frobnicate"}), "there is no command 'frobnicate'; see: program --help");
  EXPECT_EQ(Explained({"hosts", "renme"}),
            "there is no command 'hosts renme'; did you mean 'hosts rename'? See: program hosts --help");
  EXPECT_EQ(Explained({"run", "--sett", "x"}),
            "there is no option '--sett'; did you mean '--set'? See: program run --help");
  EXPECT_EQ(Explained({"run", "--outptu=json"}),
            "there is no option '--outptu=json'; did you mean '--output'? See: program run --help");
  EXPECT_EQ(Explained({"run", "a"}), "'a' is one word too many for 'program run'; see: program run --help");
}

// C-149: a mistyped option is not blamed on what it hides.
TEST(UsageTest, TheUnknownComesBeforeTheMissing) {
  EXPECT_EQ(Explained({"hosts", "label", "--frob"}), "there is no option '--frob'; see: program hosts label --help");
}

TEST(UsageTest, WhatIsMissingIsNamed) {
  EXPECT_EQ(Explained({}), "'program' needs a command: hosts, run, people; see: program --help");
  EXPECT_EQ(Explained({"people"}), "'program people' needs a command: invite; see: program people --help");
  EXPECT_EQ(Explained({"hosts", "label"}),
            "'program hosts label' needs labels (key=value or key-); see: program hosts label --help");
  EXPECT_EQ(Explained({"run", "--set"}), "--set needs a value; see: program run --help");
}

TEST(UsageTest, AWrongValueIsQuoted) {
  EXPECT_EQ(Explained({"run", "--count", "x"}), "--count: 'x' is not a number; see: program run --help");
  const std::string output = Explained({"run", "--output", "xml"});
  EXPECT_NE(output.find("--output: xml not in {"), std::string::npos) << output;
  EXPECT_EQ(Explained({"run", "--limit", "3", "--set", "a=b"}), "");
}

}  // namespace
}  // namespace fleetmark
