// Why a command line could not be parsed, in one line and in our own words instead of the parser's.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace fleetmark {

// "there is no command 'hosts frobnicate'; did you mean 'hosts rename'? See: fleetmark hosts --help".
// REQUIRES: `error` was thrown by app.parse(). Quotes what was typed: escape it before it is shown.
std::string ExplainUsage(const CLI::App& app, const CLI::ParseError& error);

// "Options of every command:" and what `app` itself has: for the footers of commands that fall through to it.
std::string SharedOptionsHelp(const CLI::App& app);

}  // namespace fleetmark
