#include "collector/service/enrollment/advertise.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

namespace fleetmark::collector {
namespace {

// Bridges of containers and virtual machines: addresses no other machine reaches.
bool IsLocalBridge(std::string_view interface) {
  for (const std::string_view prefix : {"docker", "br-", "virbr", "veth", "lxc", "cni", "podman"}) {
    if (interface.starts_with(prefix)) return true;
  }
  return false;
}

std::string Ipv4Text(const sockaddr* address) {
  char text[INET_ADDRSTRLEN] = "";
  const auto* ip = reinterpret_cast<const sockaddr_in*>(address);
  if ((ntohl(ip->sin_addr.s_addr) >> 16) == 0xa9fe) return "";  // 169.254/16, link-local
  return ::inet_ntop(AF_INET, &ip->sin_addr, text, sizeof(text)) != nullptr ? text : "";
}

std::string Ipv6Text(const sockaddr* address) {
  char text[INET6_ADDRSTRLEN] = "";
  const auto* ip = reinterpret_cast<const sockaddr_in6*>(address);
  if (IN6_IS_ADDR_LINKLOCAL(&ip->sin6_addr) || IN6_IS_ADDR_LOOPBACK(&ip->sin6_addr)) return "";
  return ::inet_ntop(AF_INET6, &ip->sin6_addr, text, sizeof(text)) != nullptr ? text : "";
}

std::vector<std::string> InterfaceAddresses() {
  std::vector<std::string> ipv4;
  std::vector<std::string> ipv6;
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return {};
  for (const ifaddrs* at = list; at != nullptr; at = at->ifa_next) {
    if (at->ifa_addr == nullptr || (at->ifa_flags & IFF_UP) == 0 || (at->ifa_flags & IFF_LOOPBACK) != 0) continue;
    if (IsLocalBridge(at->ifa_name)) continue;
    if (at->ifa_addr->sa_family == AF_INET) ipv4.push_back(Ipv4Text(at->ifa_addr));
    if (at->ifa_addr->sa_family == AF_INET6) ipv6.push_back(Ipv6Text(at->ifa_addr));
  }
  ::freeifaddrs(list);
  // Temporary addresses of IPv6 come in numbers: two are enough.
  std::erase(ipv4, "");
  std::erase(ipv6, "");
  if (ipv6.size() > 2) ipv6.resize(2);
  ipv4.insert(ipv4.end(), ipv6.begin(), ipv6.end());
  return ipv4;
}

std::string HostName() {
  char name[256] = "";
  if (::gethostname(name, sizeof(name) - 1) != 0) return "";
  const std::string text = name;
  const bool good = !text.empty() && text.front() != '-' && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' ||
           c == '_';
  });
  return good && text != "localhost" ? text : "";
}

}  // namespace

std::vector<std::string> AdvertisedHosts(const std::string& listen_host) {
  const bool ipv4_only = listen_host == "0.0.0.0";
  if (!ipv4_only && listen_host != "::") return {listen_host};
  std::vector<std::string> hosts = InterfaceAddresses();
  if (ipv4_only) std::erase_if(hosts, [](const std::string& host) { return host.find(':') != std::string::npos; });
  if (const std::string name = HostName(); !name.empty()) hosts.push_back(name);
  if (hosts.empty()) hosts.push_back("127.0.0.1");
  return hosts;
}

}  // namespace fleetmark::collector
