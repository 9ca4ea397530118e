#include "agent/platform/linux/disk_facts.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "agent/platform/linux/block_layers.h"
#include "agent/platform/linux/sysfs.h"
#include "common/text/text.h"

namespace fleetmark::agent {
namespace {

constexpr double kSectorBytes = 512;

bool Contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }
bool StartsWith(std::string_view text, std::string_view part) { return text.substr(0, part.size()) == part; }

// Words of an ATA IDENTIFY answer, which has its bytes swapped in pairs.
std::string AtaText(std::string_view identify, size_t first_word, size_t words) {
  std::string text;
  for (size_t word = first_word; word < first_word + words && word * 2 + 1 < identify.size(); ++word) {
    text.push_back(identify[word * 2 + 1]);
    text.push_back(identify[word * 2]);
  }
  return text;
}

// The IDENTIFY data within the SCSI page "ATA information"; empty where there is none.
std::string AtaIdentify(const std::string& directory) {
  constexpr size_t kAt = 60, kLength = 512;
  const std::string page = ReadText(directory + "/device/vpd_pg89").value_or("");
  return page.size() >= kAt + kLength ? page.substr(kAt, kLength) : "";
}

std::string UdevValue(const std::string& directory, const std::string& root, std::string_view name) {
  const std::string number = ReadTrimmed(directory + "/dev").value_or("");
  if (number.empty()) return "";
  const std::string text = ReadText(root + "/run/udev/data/b" + number).value_or("");
  const std::string start = "E:" + std::string(name) + "=";
  for (const std::string_view line : SplitLines(text)) {
    if (StartsWith(line, start)) return std::string(line.substr(start.size()));
  }
  return "";
}

std::string WorldWideId(const std::string& directory) {
  for (const char* file : {"/wwid", "/device/wwid"}) {
    std::string id = WithoutPlaceholder(ReadTrimmed(directory + file).value_or(""));
    if (!id.empty()) return id;
  }
  return "";
}

std::string SerialNumber(const std::string& directory, const std::string& root) {
  const std::string identify = AtaIdentify(directory);
  std::string serial = WithoutPlaceholder(AtaText(identify, 10, 10));
  if (!serial.empty()) return serial;
  const std::string page = ReadText(directory + "/device/vpd_pg80").value_or("");  // four bytes of header
  if (page.size() > 4) serial = WithoutPlaceholder(std::string_view(page).substr(4));
  for (const char* file : {"/device/serial", "/serial", "/device/cid"}) {
    if (serial.empty()) serial = WithoutPlaceholder(ReadTrimmed(directory + file).value_or(""));
  }
  if (serial.empty()) serial = WithoutPlaceholder(UdevValue(directory, root, "ID_SERIAL_SHORT"));
  return serial;
}

// Where the disk is plugged in, without the numbers that a restart may change: bus positions and the LUN.
std::string PlugPath(const std::string& real_path) {
  std::string path;
  const size_t devices = real_path.find("/devices/");
  std::string_view rest = real_path;
  rest.remove_prefix(devices == std::string::npos ? 0 : devices + 9);
  while (!rest.empty()) {
    const size_t slash = rest.find('/');
    std::string_view part = rest.substr(0, slash);
    rest.remove_prefix(slash == std::string_view::npos ? rest.size() : slash + 1);
    if (part == "block") break;
    if (StartsWith(part, "host") || StartsWith(part, "target") || StartsWith(part, "ata")) continue;
    if (std::count(part.begin(), part.end(), ':') == 3) part.remove_prefix(part.find(':') + 1);  // 6:0:0:0, host first
    path.append("/").append(part);
  }
  return path;
}

std::string Transport(const std::string& name, const std::string& real_path) {
  if (StartsWith(name, "loop")) return "loop";
  if (StartsWith(name, "zram")) return "zram";
  if (StartsWith(name, "nvme")) return "nvme";
  if (StartsWith(name, "mmcblk")) return "mmc";
  if (Contains(real_path, "/usb")) return "usb";
  if (Contains(real_path, "/virtio")) return "virtio";
  if (Contains(real_path, "/vbd-")) return "xen";
  if (Contains(real_path, "/ata")) return "sata";
  if (Contains(real_path, "/end_device-") || Contains(real_path, "/sas_")) return "sas";
  if (Contains(real_path, "/session")) return "iscsi";
  if (Contains(real_path, "/rport-")) return "fc";
  return "";
}

std::string Model(const std::string& directory, const std::string& root, const std::string& transport) {
  // The full identify string where there is one: SCSI's has 16 characters (C-081).
  std::string model = WithoutPlaceholder(AtaText(AtaIdentify(directory), 27, 20));
  if (!model.empty()) return model;
  if (transport == "virtio") return "";  // "vendor" is the PCI number there
  std::string short_model = WithoutPlaceholder(ReadTrimmed(directory + "/device/model").value_or(""));
  std::string name = WithoutPlaceholder(ReadTrimmed(directory + "/device/name").value_or(""));  // mmc
  if (short_model.empty()) return transport == "mmc" ? name : "";
  if (transport == "nvme") return short_model;
  const std::string vendor = WithoutPlaceholder(ReadTrimmed(directory + "/device/vendor").value_or(""));
  if (vendor.empty() || vendor == "ATA" || StartsWith(vendor, "0x")) {
    // udev knows the whole name, with underscores for blanks.
    std::string full = UdevValue(directory, root, "ID_MODEL");
    std::replace(full.begin(), full.end(), '_', ' ');
    full = WithoutPlaceholder(full);
    return full.size() > short_model.size() && StartsWith(full, short_model) ? full : short_model;
  }
  return vendor + " " + short_model;
}

bool IsVirtualModel(std::string_view model) {
  static constexpr std::array<std::string_view, 9> kMarks = {"QEMU",
                                                             "VMware",
                                                             "VBOX",
                                                             "Virtual disk",
                                                             "Virtual Disk",
                                                             "Msft Virtual",
                                                             "Amazon Elastic Block",
                                                             "Google PersistentDisk",
                                                             "nvme_card-pd"};
  return std::any_of(kMarks.begin(), kMarks.end(), [&](std::string_view mark) { return Contains(model, mark); });
}

// Another disk of this machine that claims to be the same, and is not merely a second path to it.
bool HasTwin(const std::string& name, const std::string& id, const std::string& root) {
  const std::vector<std::string> holders = ListDirectory(BlockDirectory(name, root) + "/holders");
  for (const std::string& other : ListDirectory(root + "/sys/class/block")) {
    if (other == name || IsPartition(other, root)) continue;
    const std::string directory = BlockDirectory(other, root);
    if (!PathExists(directory + "/device")) continue;
    if (WorldWideId(directory) != id && SerialNumber(directory, root) != id) continue;
    const std::vector<std::string> others_holders = ListDirectory(directory + "/holders");
    const bool multipath = std::any_of(holders.begin(), holders.end(), [&](const std::string& holder) {
      return std::find(others_holders.begin(), others_holders.end(), holder) != others_holders.end() &&
             StartsWith(ReadTrimmed(BlockDirectory(holder, root) + "/dm/uuid").value_or(""), "mpath-");
    });
    if (!multipath) return true;
  }
  return false;
}

}  // namespace

std::string WithoutPlaceholder(std::string_view text) {
  std::string clean;
  for (const char c : text.substr(0, 256)) {
    const bool blank = c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\0';
    if (!blank) {
      clean.push_back(c);
    } else if (!clean.empty() && clean.back() != ' ') {
      clean.push_back(' ');
    }
  }
  if (!clean.empty() && clean.back() == ' ') clean.pop_back();
  if (clean.empty()) return "";

  std::string lower = clean;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  static constexpr std::array<std::string_view, 16> kPlaceholders = {"0123456789abcdef",
                                                                     "123456789abcdef",
                                                                     "1234567890",
                                                                     "0123456789",
                                                                     "123456789",
                                                                     "12345678",
                                                                     "none",
                                                                     "default string",
                                                                     "not specified",
                                                                     "not available",
                                                                     "not applicable",
                                                                     "unknown",
                                                                     "n/a",
                                                                     "system product name",
                                                                     "system serial number",
                                                                     "null"};
  for (const std::string_view placeholder : kPlaceholders) {
    if (lower == placeholder) return "";
  }
  if (StartsWith(lower, "to be filled")) return "";
  if (std::all_of(clean.begin(), clean.end(), [&](char c) { return c == clean.front() || c == ' ' || c == '-'; })) {
    return "";  // 00000000, ........, 0
  }
  return clean;
}

std::string StableHash(std::string_view text) {
  // FNV-1a, 128 bits: prime 2^88 + 0x13B.
  __extension__ using Wide = unsigned __int128;
  Wide hash = (static_cast<Wide>(0x6C62272E07BB0142ull) << 64) | 0x62B821756295C58Dull;
  const Wide prime = (static_cast<Wide>(1) << 88) | 0x13B;
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= prime;
  }
  std::string digits;
  for (int shift = 124; shift >= 0; shift -= 4)
    digits.push_back("0123456789abcdef"[static_cast<unsigned>(hash >> shift) & 15]);
  return digits;
}

v1::Disk ReadDisk(const std::string& kernel_name, const std::string& root) {
  const std::string directory = BlockDirectory(kernel_name, root);
  const std::string real_path = RealPath(directory).value_or(directory);
  v1::Disk disk;
  disk.set_kernel_name(CleanUtf8(kernel_name));
  const std::string transport = Transport(kernel_name, real_path);
  disk.set_transport(transport);
  const std::string model = CleanUtf8(Model(directory, root, transport));
  if (!model.empty()) disk.set_model(model);
  if (const std::optional<uint64_t> sectors = ReadUnsigned(directory + "/size")) {
    disk.set_size_bytes(static_cast<double>(*sectors) * kSectorBytes);
  }
  disk.set_is_virtual(transport == "virtio" || transport == "xen" || Contains(real_path, "/devices/virtual/") ||
                      IsVirtualModel(model));
  // A virtual disk says rotational=1 whatever is below it.
  const std::optional<uint64_t> rotational = ReadUnsigned(directory + "/queue/rotational");
  if (rotational && !disk.is_virtual()) disk.set_rotational(*rotational != 0);

  const std::string wwid = WorldWideId(directory);
  const std::string serial = SerialNumber(directory, root);
  const std::string id = wwid.empty() ? serial : wwid;
  // The serial of a virtio disk is whatever its host's configuration says, often the same for all of its guests.
  const bool strong = !id.empty() && transport != "virtio" && !HasTwin(kernel_name, id, root);
  disk.set_weak_identity(!strong);
  if (strong) {
    disk.set_identity(StableHash("disk:" + id));
  } else {
    const std::string plug = PlugPath(real_path);
    const std::string where = Contains(real_path, "/devices/virtual/") || plug.empty() ? kernel_name : plug;
    disk.set_identity(StableHash("place:" + where + "|" + id + "|" + ReadTrimmed(directory + "/size").value_or("")));
  }
  return disk;
}

}  // namespace fleetmark::agent
