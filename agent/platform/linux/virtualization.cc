#include <array>
#include <string_view>
#include <utility>

#include "agent/platform/linux/cpuinfo.h"
#include "agent/platform/linux/sysfs.h"
#include "agent/platform/machine.h"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>

#include <cstring>
#endif

namespace fleetmark::agent {
namespace {

bool HasHypervisorFlag(const std::string& root) {
  const std::vector<CpuinfoEntry> entries = ParseCpuinfo(ReadText(root + "/proc/cpuinfo").value_or(""));
  if (entries.empty()) return false;
  for (const std::string& flag : entries.front().flags) {
    if (flag == "hypervisor") return true;
  }
  return false;
}

std::string ByCpuid() {
#if defined(__x86_64__) || defined(__i386__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & (1u << 31)) == 0) return "";
  __cpuid(0x40000000, a, b, c, d);
  char vendor[13] = {};
  std::memcpy(vendor, &b, 4);
  std::memcpy(vendor + 4, &c, 4);
  std::memcpy(vendor + 8, &d, 4);
  static constexpr std::array<std::pair<std::string_view, const char*>, 8> kVendors = {{{"KVMKVMKVM", "kvm"},
                                                                                        {"Linux KVM Hv", "kvm"},
                                                                                        {"TCGTCGTCGTCG", "qemu"},
                                                                                        {"VMwareVMware", "vmware"},
                                                                                        {"XenVMMXenVMM", "xen"},
                                                                                        {"Microsoft Hv", "hyper-v"},
                                                                                        {"bhyve bhyve ", "bhyve"},
                                                                                        {"prl hyperv  ", "parallels"}}};
  for (const auto& [text, name] : kVendors) {
    if (text == std::string_view(vendor)) return name;
  }
#endif
  return "";
}

std::string ByFirmware(const std::string& root) {
  static constexpr std::array<std::pair<std::string_view, const char*>, 11> kMarks = {{{"KVM", "kvm"},
                                                                                       {"QEMU", "qemu"},
                                                                                       {"VMware", "vmware"},
                                                                                       {"VirtualBox", "virtualbox"},
                                                                                       {"innotek", "virtualbox"},
                                                                                       {"Xen", "xen"},
                                                                                       {"Bochs", "qemu"},
                                                                                       {"Parallels", "parallels"},
                                                                                       {"BHYVE", "bhyve"},
                                                                                       {"Google Compute Engine", "kvm"},
                                                                                       {"Amazon EC2", "kvm"}}};
  for (const char* file : {"product_name", "sys_vendor", "board_vendor", "bios_vendor"}) {
    const std::string text = ReadTrimmed(root + "/sys/class/dmi/id/" + file).value_or("");
    for (const auto& [mark, name] : kMarks) {
      if (text.find(mark) != std::string::npos) return name;
    }
    if (text == "Virtual Machine") return "hyper-v";
  }
  if (const auto type = ReadTrimmed(root + "/sys/hypervisor/type")) return *type;
  // A list of NUL-terminated strings: "linux,kvm".
  const std::string tree = ReadTrimmed(root + "/proc/device-tree/hypervisor/compatible").value_or("");
  if (tree.find("kvm") != std::string::npos) return "kvm";
  if (tree.find("xen") != std::string::npos) return "xen";
  return "";
}

bool InContainer(const std::string& root) {
  if (PathExists(root + "/.dockerenv") || PathExists(root + "/run/.containerenv") ||
      PathExists(root + "/run/systemd/container")) {
    return true;
  }
  // Readable for root only; elsewhere the files above have to do.
  const std::string environment = ReadText(root + "/proc/1/environ").value_or("");
  return environment.substr(0, 10) == "container=" ||
         environment.find(std::string("\0container=", 11)) != std::string::npos;
}

}  // namespace

std::string DetectVirtualization(const std::string& root) {
  std::string machine = root.empty() ? ByCpuid() : "";
  if (machine.empty()) machine = ByFirmware(root);
  if (machine.empty() && HasHypervisorFlag(root)) machine = "virtual machine";
  if (!InContainer(root)) return machine;
  return machine.empty() ? "container" : "container, " + machine;
}

}  // namespace fleetmark::agent
