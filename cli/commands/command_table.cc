#include "cli/commands/command.h"

namespace fleetmark::cli {

const std::vector<Command>& CommandTable() {
  static const std::vector<Command>& table = *new std::vector<Command>{
      {"run", "measure a suite or a workload on hosts, and watch",
       "fleetmark run quick --all\n"
       "fleetmark run quick --hosts mac-pro,thinkpad --target ssd --target thinkpad=data\n"
       "fleetmark run disk.profile --where room=attic --set size=2GiB --repeat 5 --serial",
       DeclareRun},
      {"runs", "list runs, newest first", "fleetmark runs\nfleetmark runs --limit 100 --output csv", DeclareRuns},
      {"runs show", "one run and its tasks", "fleetmark runs show 12", DeclareRunsShow},
      {"runs watch", "follow a run until it ends", "fleetmark runs watch 12", DeclareRunsWatch},
      {"runs cancel", "cancel a run on every host", "fleetmark runs cancel 12", DeclareRunsCancel},
      {"compare", "hosts and runs side by side",
       "fleetmark compare mac-pro thinkpad macbook     the newest results of each\n"
       "fleetmark compare --run 12                     the hosts of one run\n"
       "fleetmark compare run:12 run:15                two runs",
       DeclareCompare},
      {"hosts", "list the machines of the fleet", "fleetmark hosts\nfleetmark hosts --where room=attic", DeclareHosts},
      {"hosts show", "all that is known of one machine", "fleetmark hosts show mac-pro", DeclareHostsShow},
      {"hosts invite", "print the line that enrols another machine",
       "fleetmark hosts invite\nfleetmark hosts invite --valid 24h", DeclareHostsInvite},
      {"hosts label", "set labels (key=value) or remove them (key-)",
       "fleetmark hosts label mac-pro room=attic slot=2\nfleetmark hosts label mac-pro slot-", DeclareHostsLabel},
      {"hosts rename", "give a machine another name", "fleetmark hosts rename debian thinkpad", DeclareHostsRename},
      {"hosts remove", "revoke a machine's certificate; its results stay", "fleetmark hosts remove old-laptop",
       DeclareHostsRemove},
      {"disks", "list the targets of every host", "fleetmark disks\nfleetmark disks mac-pro", DeclareDisks},
      {"workloads", "list what can be measured, with its parameters",
       "fleetmark workloads\nfleetmark workloads disk.profile", DeclareWorkloads},
      {"suites", "list the suites", "fleetmark suites\nfleetmark suites quick", DeclareSuites},
      {"suites add", "add a suite of your own, or a new version of it", "fleetmark suites add my.textproto",
       DeclareSuitesAdd},
      {"collectors", "further collectors on the same database", "fleetmark collectors invite", nullptr},
      {"collectors invite", "print the line that lets another collector join", "fleetmark collectors invite",
       DeclareCollectorsInvite},
      {"people", "further people", "fleetmark people invite alice --role viewer", nullptr},
      {"people invite", "print the line that lets another person use the fleet",
       "fleetmark people invite alice --role viewer", DeclarePeopleInvite},
      {"login", "use a fleet from this account, with the line of 'people invite'", "fleetmark login LINE",
       DeclareLogin},
      {"status", "is the collector there, and its database?", "fleetmark status", DeclareStatus},
  };
  return table;
}

}  // namespace fleetmark::cli
