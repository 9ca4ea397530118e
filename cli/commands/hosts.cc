// fleetmark hosts, hosts show|label|rename|remove, disks.
#include <memory>

#include "cli/commands/arguments.h"
#include "cli/commands/command.h"
#include "cli/commands/tables.h"

namespace fleetmark::cli {
namespace {

std::shared_ptr<std::string> AddHostArgument(CLI::App& app) {
  const auto host = std::make_shared<std::string>();
  app.add_option("host", *host, "its name, or the beginning of its id")->required();
  return host;
}

int ShowHost(Context& context, const v1::Host& host) { return context.Print(host, HostTables(host), HostCsv(host)); }

int ShowInList(Context& context, const v1::Host& host) {
  v1::ListHostsResponse list;
  *list.add_hosts() = host;
  return context.Print(host, HostsTable(list));
}

}  // namespace

Action DeclareHosts(CLI::App& app) {
  const auto where = std::make_shared<std::vector<std::string>>();
  app.add_option("--where", *where, "only hosts with this label (room=attic)")->allow_extra_args(false);
  return [where](Context& context) {
    const auto labels = ParseKeyValues(*where, "--where");
    if (!labels.ok()) return context.Fail(labels.status());
    v1::ListHostsRequest request;
    request.mutable_where()->insert(labels->begin(), labels->end());
    v1::ListHostsResponse response;
    if (const absl::Status status = context.Ask(request, response); !status.ok()) return context.Fail(status);
    if (response.hosts().empty() && !labels->empty()) {
      return context.Fail(absl::NotFoundError("no host has these labels; fleetmark hosts lists all"));
    }
    if (response.hosts().empty()) context.Say("no hosts yet; fleetmark hosts invite prints the line that adds one");
    return context.Print(response, HostsTable(response));
  };
}

Action DeclareHostsShow(CLI::App& app) {
  const auto host = AddHostArgument(app);
  return [host](Context& context) {
    v1::GetHostRequest request;
    request.set_host(*host);
    v1::GetHostResponse response;
    if (const absl::Status status = context.Ask(request, response); !status.ok()) return context.Fail(status);
    return ShowHost(context, response.host());
  };
}

Action DeclareHostsLabel(CLI::App& app) {
  const auto host = AddHostArgument(app);
  const auto words = std::make_shared<std::vector<std::string>>();
  app.add_option("labels", *words, "key=value sets one, key- removes it")->required();
  return [host, words](Context& context) {
    v1::LabelHostRequest request;
    request.set_host(*host);
    std::vector<std::string> sets;
    for (const std::string& word : *words) {
      if (word.size() > 1 && word.back() == '-' && word.find('=') == std::string::npos) {
        request.add_remove(word.substr(0, word.size() - 1));
      } else {
        sets.push_back(word);
      }
    }
    const auto set = ParseKeyValues(sets, "a label");
    if (!set.ok()) return context.Fail(set.status());
    request.mutable_set()->insert(set->begin(), set->end());
    v1::LabelHostResponse response;
    if (const absl::Status status = context.Ask(request, response); !status.ok()) return context.Fail(status);
    return ShowInList(context, response.host());
  };
}

Action DeclareHostsRename(CLI::App& app) {
  const auto host = AddHostArgument(app);
  const auto name = std::make_shared<std::string>();
  app.add_option("new-name", *name, "its new name")->required();
  return [host, name](Context& context) {
    v1::RenameHostRequest request;
    request.set_host(*host);
    request.set_new_name(*name);
    v1::RenameHostResponse response;
    if (const absl::Status status = context.Ask(request, response); !status.ok()) return context.Fail(status);
    return ShowInList(context, response.host());
  };
}

Action DeclareHostsRemove(CLI::App& app) {
  const auto host = AddHostArgument(app);
  return [host](Context& context) {
    v1::RemoveHostRequest request;
    request.set_host(*host);
    v1::RemoveHostResponse response;
    if (const absl::Status status = context.Ask(request, response); !status.ok()) return context.Fail(status);
    context.Say("removed " + response.host().name() + "; its certificate is revoked, its results stay");
    return ShowInList(context, response.host());
  };
}

Action DeclareDisks(CLI::App& app) {
  const auto host = std::make_shared<std::string>();
  app.add_option("host", *host, "only of this host");
  return [host](Context& context) {
    v1::ListHostsResponse hosts;
    if (host->empty()) {
      v1::ListHostsRequest request;
      request.set_with_inventory(true);
      if (const absl::Status status = context.Ask(request, hosts); !status.ok()) return context.Fail(status);
    } else {
      v1::GetHostRequest request;
      request.set_host(*host);
      v1::GetHostResponse response;
      if (const absl::Status status = context.Ask(request, response); !status.ok()) return context.Fail(status);
      *hosts.add_hosts() = response.host();
    }
    return context.Print(hosts, DisksTable({hosts.hosts().begin(), hosts.hosts().end()}));
  };
}

}  // namespace fleetmark::cli
