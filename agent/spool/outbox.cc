#include "agent/spool/outbox.h"

#include <algorithm>

namespace fleetmark::agent {

Outbox::Outbox(Spool& spool, size_t memory_bytes) : spool_(spool), memory_bytes_(memory_bytes) {
  covered_from_ = covered_to_ = spool_.LastPosition();
}

void Outbox::BeginTask() {
  MutexLock lock(mutex_);
  AcknowledgeDeferred();
  RefillCopies();
  task_runs_ = true;
}

void Outbox::OpenGap() {
  MutexLock lock(mutex_);
  gap_ = true;
  AcknowledgeDeferred();
}

void Outbox::CloseGap() {
  MutexLock lock(mutex_);
  RefillCopies();
  gap_ = false;
}

void Outbox::EndTask() {
  MutexLock lock(mutex_);
  task_runs_ = false;
  AcknowledgeDeferred();
}

absl::Status Outbox::Append(int64_t task_id, uint32_t attempt, std::vector<v1::Record>& records) {
  MutexLock lock(mutex_);
  const absl::StatusOr<uint64_t> first = spool_.Append(task_id, attempt, records);
  if (!first.ok()) return first.status();
  Remember(*first, records);
  return absl::OkStatus();
}

bool Outbox::IfDiskIsFree(const std::function<void(Spool&)>& work) {
  MutexLock lock(mutex_);
  if (!DiskIsFree()) return false;
  work(spool_);
  return true;
}

absl::StatusOr<Spool::Batch> Outbox::Read(uint64_t after_position, size_t max_bytes) {
  MutexLock lock(mutex_);
  if (!CopiesCover(after_position)) {
    if (DiskIsFree()) return spool_.Read(after_position, max_bytes);
    wanted_ = true;
    wanted_after_ = after_position;
    return Spool::Batch();
  }
  Spool::Batch batch;
  size_t bytes = 0;
  for (const Copy& copy : copies_) {
    if (copy.position <= after_position) continue;
    if (!batch.records.empty() && bytes + copy.body.size() > max_bytes) break;
    bytes += copy.body.size();
    v1::Record record;
    if (!record.ParseFromString(copy.body)) return absl::InternalError("a record's copy in memory cannot be read");
    batch.records.push_back(std::move(record));
    batch.positions.push_back(copy.position);
  }
  return batch;
}

absl::Status Outbox::Acknowledge(int64_t task_id, uint32_t attempt, uint64_t sequence) {
  MutexLock lock(mutex_);
  const Key key{task_id, attempt};
  if (DiskIsFree()) {
    const absl::Status status = spool_.Acknowledge(task_id, attempt, sequence);
    if (!status.ok()) return status;
  } else {
    uint64_t& highest = deferred_[key];
    highest = std::max(highest, sequence);
  }
  size_t freed = 0;
  std::erase_if(copies_, [&](const Copy& copy) {
    if (copy.task != key || copy.sequence > sequence) return false;
    freed += copy.body.size();
    return true;
  });
  copied_bytes_ -= freed;
  return absl::OkStatus();
}

void Outbox::AcknowledgeDeferred() {
  // One that fails is dropped: its records are sent again after the next connection, and acknowledged again.
  for (const auto& [key, sequence] : deferred_) (void)spool_.Acknowledge(key.first, key.second, sequence);
  deferred_.clear();
}

// What a reader missed, or will: the records after its position, or the oldest ones, as far as memory allows.
void Outbox::RefillCopies() {
  if (!wanted_) return;
  wanted_ = false;
  if (CopiesCover(wanted_after_)) return;
  const absl::StatusOr<Spool::Batch> batch = spool_.Read(wanted_after_, memory_bytes_);
  if (!batch.ok()) return;
  copies_.clear();
  copied_bytes_ = 0;
  covered_from_ = wanted_after_;
  covered_to_ = batch->positions.empty() ? spool_.LastPosition() : batch->positions.back();
  for (size_t i = 0; i < batch->records.size(); ++i) {
    const v1::Record& record = batch->records[i];
    copies_.push_back({batch->positions[i],
                       {record.id().task_id(), record.id().attempt()},
                       record.id().sequence(),
                       record.SerializeAsString()});
    copied_bytes_ += copies_.back().body.size();
  }
}

void Outbox::Remember(uint64_t first_position, const std::vector<v1::Record>& records) {
  if (covered_to_ + 1 != first_position) return;  // the copies end before: they are of older records, still to be read
  uint64_t position = first_position;
  for (const v1::Record& record : records) {
    copies_.push_back(
        {position, {record.id().task_id(), record.id().attempt()}, record.id().sequence(), record.SerializeAsString()});
    copied_bytes_ += copies_.back().body.size();
    covered_to_ = position++;
  }
  while (copied_bytes_ > memory_bytes_ && !copies_.empty()) {
    copied_bytes_ -= copies_.front().body.size();
    covered_from_ = copies_.front().position;
    copies_.pop_front();
  }
}

bool Outbox::CopiesCover(uint64_t after_position) const {
  if (covered_to_ != spool_.LastPosition() && after_position >= covered_to_) return false;
  if (after_position >= covered_from_) return true;
  // Everything older has been acknowledged: the copies are all there is.
  return deferred_.empty() && covered_to_ == spool_.LastPosition() &&
         spool_.Status().spooled_records() == copies_.size();
}

}  // namespace fleetmark::agent
