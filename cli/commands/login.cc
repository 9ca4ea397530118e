// fleetmark login: makes this account a person of a fleet.
#include <memory>

#include "cli/client/client_config.h"
#include "cli/commands/command.h"
#include "common/enroll/enroll_client.h"
#include "common/units/format.h"

namespace fleetmark::cli {

Action DeclareLogin(CLI::App& app) {
  const auto line = std::make_shared<std::string>();
  app.add_option("line", *line, "what 'fleetmark people invite' printed")->required();
  return [line](Context& context) {
    const std::string& chosen = context.options().config_directory;
    const std::string directory = chosen.empty() ? DefaultConfigDirectory() : chosen;
    const TlsFiles files = PersonFiles(directory);
    EnrollOptions options;
    options.line = *line;
    options.kind = IdentityKind::kPerson;
    options.files = files;
    options.how_to_reset = "rm " + files.key_file + " " + files.certificate_file;
    const absl::StatusOr<EnrolledIdentity> enrolled = EnrollWithLine(options);
    if (!enrolled.ok()) return context.Fail(enrolled.status());
    if (const absl::Status status = WriteClientConfig(directory, enrolled->collectors); !status.ok()) {
      return context.Fail(status);
    }
    context.Say("You are " + enrolled->identity.id + ", " + enrolled->identity.role +
                " of this fleet; your certificate in " + directory + " ends " +
                FormatTimestamp(enrolled->expires, absl::LocalTimeZone()) + ".");
    return kExitOk;
  };
}

}  // namespace fleetmark::cli
