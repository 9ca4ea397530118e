#include "common/usage/usage.h"

#include <vector>

#include "common/text/text.h"

namespace fleetmark {
namespace {

// The commands that were recognized, outermost first; the last is the one the error is about.
std::vector<const CLI::App*> Chosen(const CLI::App& app) {
  std::vector<const CLI::App*> chosen = {&app};
  while (!chosen.back()->get_subcommands().empty()) chosen.push_back(chosen.back()->get_subcommands().front());
  return chosen;
}

std::string Words(const std::vector<const CLI::App*>& commands, size_t first) {
  std::string words;
  for (size_t i = first; i < commands.size(); ++i) words += (i == first ? "" : " ") + commands[i]->get_name();
  return words;
}

std::vector<std::string> CommandsOf(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  return names;
}

std::string DidYouMean(const std::string& word, const std::vector<std::string>& names, const std::string& before) {
  const std::string nearest = NearestMatch(word, names);
  return nearest.empty() ? "" : "; did you mean '" + before + nearest + "'?";
}

std::string UnknownWord(const std::string& word, const std::vector<const CLI::App*>& chosen) {
  if (word.size() > 1 && word[0] == '-') {
    std::vector<std::string> names;
    for (const CLI::App* command : chosen) {
      for (const CLI::Option* option : command->get_options()) {
        for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
      }
    }
    return "there is no option '" + word + "'" + DidYouMean(word.substr(0, word.find('=')), names, "");
  }
  const std::vector<std::string> commands = CommandsOf(*chosen.back());
  if (commands.empty()) return "'" + word + "' is one word too many for '" + Words(chosen, 0) + "'";
  const std::string group = Words(chosen, 1) + (chosen.size() > 1 ? " " : "");
  return "there is no command '" + group + word + "'" + DidYouMean(word, commands, group);
}

std::string Missing(const std::vector<const CLI::App*>& chosen, const CLI::ParseError& error) {
  for (const CLI::Option* option : chosen.back()->get_options()) {
    if (!option->get_required() || option->count() > 0) continue;
    return "'" + Words(chosen, 0) + "' needs " + option->get_single_name() + " (" + option->get_description() + ")";
  }
  std::string names;
  for (const std::string& name : CommandsOf(*chosen.back())) names += (names.empty() ? "" : ", ") + name;
  return names.empty() ? error.what() : "'" + Words(chosen, 0) + "' needs a command: " + names;
}

std::string Why(const CLI::App& app, const std::vector<const CLI::App*>& chosen, const CLI::ParseError& error) {
  // Said first: a mistyped word is the reason for whatever else is missing.
  if (const std::vector<std::string> unknown = app.remaining(true); !unknown.empty()) {
    return UnknownWord(unknown.front(), chosen);
  }
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) return Missing(chosen, error);
  const std::string text = error.what();
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr && text.find(" missing") != std::string::npos) {
    return text.substr(0, text.find(':')) + " needs a value";
  }
  // "Could not convert: --limit = x": numbers are all that the programs have converted.
  const std::string convert = "Could not convert: ";
  if (const size_t equals = text.find(" = "); text.starts_with(convert) && equals != std::string::npos) {
    return text.substr(convert.size(), equals - convert.size()) + ": '" + text.substr(equals + 3) + "' is not a number";
  }
  return text;
}

}  // namespace

std::string SharedOptionsHelp(const CLI::App& app) {
  const CLI::Formatter formatter;
  std::string text = "Options of every command:\n";
  for (const CLI::Option* option : app.get_options()) {
    if (option != app.get_help_ptr() && option != app.get_version_ptr()) text += formatter.make_option(option, false);
  }
  return text;
}

std::string ExplainUsage(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<const CLI::App*> chosen = Chosen(app);
  const std::string why = Why(app, chosen, error);
  return why + (why.back() == '?' ? " See: " : "; see: ") + Words(chosen, 0) + " --help";
}

}  // namespace fleetmark
