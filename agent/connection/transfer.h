// Transfer: which records of the spool are under way on the present stream. Pure bookkeeping, no I/O, no threads; the
// link's thread owns it.
//
// Records are sent in the spool's order from a position on; what is sent and not acknowledged is bounded by a window. A
// new stream or a Hold starts again from the first unacknowledged record: receiving twice is harmless.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "agent/spool/spool.h"
#include "fleetmark/v1/agent.pb.h"

namespace fleetmark::agent {

class Transfer {
 public:
  struct Options {
    size_t batch_bytes = size_t{1000} << 10;   // of one message; agent.proto allows 1 MiB
    size_t window_bytes = size_t{4} << 20;     // sent and not acknowledged
    int64_t ack_deadline_ns = 30'000'000'000;  // without any acknowledgement while records wait for one
  };

  explicit Transfer(Options options) : options_(options), batch_bytes_(options.batch_bytes) {}

  // A new stream.
  void Restart();
  // What the collector of this stream asks for, bytes; it counts if it is less than the option. 0: it asks for nothing.
  void LimitBatch(size_t bytes);

  // Where to read on, and how much; nothing while the window is full or the collector asked to hold.
  struct Want {
    uint64_t after_position = 0;
    size_t max_bytes = 0;
  };
  std::optional<Want> Next(int64_t now_ns) const;

  // What was read and is now sent. Records that a collector could not take alone are emptied here (only their id goes):
  // the same message is never sent for ever.
  v1::RecordBatch Take(Spool::Batch batch, int64_t now_ns);

  void OnAck(const v1::Ack& ack, int64_t now_ns);
  void OnHold(double seconds, int64_t now_ns);

  // The stream ended since a message was too large for the collector: the next are half the size; a record that was
  // alone in its message is given up.
  void OnTooLarge();

  bool AckIsOverdue(int64_t now_ns) const;
  // When AckIsOverdue or Next will change by themselves.
  std::optional<int64_t> Deadline(int64_t now_ns) const;

  size_t in_flight_bytes() const { return in_flight_bytes_; }
  bool idle() const { return in_flight_.empty(); }
  size_t given_up() const { return given_up_.size(); }

 private:
  struct Sent {
    int64_t task_id = 0;
    uint32_t attempt = 0;
    uint64_t sequence = 0;
    uint64_t position = 0;
    size_t bytes = 0;
    int64_t at_ns = 0;
  };

  const Options options_;
  size_t batch_bytes_;  // halved by OnTooLarge
  size_t asked_bytes_ = SIZE_MAX;
  uint64_t position_ = 0;
  std::deque<Sent> in_flight_;
  size_t in_flight_bytes_ = 0;
  bool one_by_one_ = false;  // a message was too large: the next waits for the acknowledgement of the one before
  int64_t last_ack_ns_ = 0;
  std::optional<int64_t> hold_until_ns_;
  std::set<uint64_t> given_up_;  // positions
};

}  // namespace fleetmark::agent
