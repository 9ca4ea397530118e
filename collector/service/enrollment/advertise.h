// How other machines reach this one: for the join line.
#pragma once

#include <string>
#include <vector>

namespace fleetmark::collector {

// For a listener on `listen_host`: that host itself, or, if it is a wildcard ("0.0.0.0", "::"), this machine's
// addresses (IPv4 first, without loopback, link-local and container bridges) and its name. Never empty.
std::vector<std::string> AdvertisedHosts(const std::string& listen_host);

}  // namespace fleetmark::collector
