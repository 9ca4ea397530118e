#include "collector/store/record_rows.h"

#include <cmath>
#include <limits>
#include <span>

#include "absl/strings/str_cat.h"
#include "collector/store/bulk_insert.h"
#include "collector/store/message_values.h"
#include "common/histogram/histogram.h"

namespace fleetmark::collector {
namespace {

template <typename T>
std::optional<T> If(bool present, T value) {
  return present ? std::optional<T>(value) : std::nullopt;
}

void AddNote(PreparedRecord& prepared, const std::string& note) {
  absl::StrAppend(&prepared.note, prepared.note.empty() ? "" : "; ", note);
}

// Values that are no numbers are not measured values: absent, with the reason.
void CleanRepetition(PreparedRecord& prepared, const v1::Repetition& original) {
  v1::Repetition& repetition = *prepared.clean.mutable_repetition();
  for (int i = 0; i < original.measurements_size(); ++i) {
    const v1::Measurement& before = original.measurements(i);
    v1::Measurement& after = *repetition.mutable_measurements(i);
    if (before.has_value() && !after.has_value()) {
      if (after.missing_reason().empty()) after.set_missing_reason("not a finite number");
      AddNote(prepared, absl::StrCat("the value of ", after.metric(), " is not a finite number"));
    }
    if (!after.latency_histogram().empty() && !LatencyHistogram::Deserialize(after.latency_histogram()).ok()) {
      after.clear_latency_histogram();
      AddNote(prepared, absl::StrCat("the latency histogram of ", after.metric(), " cannot be read"));
    }
  }
}

void CleanSamples(PreparedRecord& prepared) {
  v1::SampleBatch& samples = *prepared.clean.mutable_samples();
  if (samples.values_size() != samples.offset_deltas_us_size()) {
    prepared.invalid = absl::StrCat("samples of ", samples.metric(), ": ", samples.values_size(), " values but ",
                                    samples.offset_deltas_us_size(), " offsets");
    return;
  }
  std::vector<uint32_t> offsets;
  std::vector<double> values;
  uint64_t carried = 0;
  for (int i = 0; i < samples.values_size(); ++i) {
    carried += samples.offset_deltas_us(i);
    if (!std::isfinite(samples.values(i))) continue;
    if (carried > static_cast<uint64_t>(std::numeric_limits<int32_t>::max())) {
      prepared.invalid = absl::StrCat("samples of ", samples.metric(), ": an offset over 35 minutes");
      return;
    }
    offsets.push_back(static_cast<uint32_t>(carried));
    values.push_back(samples.values(i));
    carried = 0;
  }
  if (static_cast<int>(values.size()) == samples.values_size()) return;
  AddNote(prepared, absl::StrCat(samples.values_size() - static_cast<int>(values.size()), " samples of ",
                                 samples.metric(), " are not finite numbers"));
  samples.mutable_offset_deltas_us()->Assign(offsets.begin(), offsets.end());
  samples.mutable_values()->Assign(values.begin(), values.end());
}

constexpr char kRecordColumns[] =
    "fleetmark.record (task_id, attempt, sequence, kind, sha256, received_at, agent_unix_seconds, clock_bad, "
    "quarantined,"
    " message)";

Args RecordRow(const PreparedRecord& record, absl::Time received, bool quarantined) {
  const bool keep = !quarantined && IsApplied(record.clean);
  Args args(record.key.task, record.key.attempt, record.id.sequence(), static_cast<int>(record.clean.kind_case()),
            Bytes{record.sha256}, received, record.clean.agent_unix_seconds(), record.clock_bad, quarantined);
  if (keep) {
    args.Add(Bytes{SerializeStable(record.clean)});
  } else {
    args.Add(std::nullopt);
  }
  return args;
}

Args RepetitionRow(const PreparedRecord& record, absl::Time received) {
  const v1::Repetition& repetition = record.clean.repetition();
  const bool plausible = PlausibleTime(repetition.started_unix_seconds(), received);
  return Args(
      record.key.task, record.key.attempt, repetition.warmup(), repetition.number(), record.id.sequence(),
      plausible ? absl::FromUnixMicros(static_cast<int64_t>(repetition.started_unix_seconds() * 1e6)) : received,
      !plausible, repetition.started_unix_seconds(), If(repetition.has_prepare_seconds(), repetition.prepare_seconds()),
      If(repetition.has_measure_seconds(), repetition.measure_seconds()), MessageToJson(repetition.conditions()),
      FlagsToJson(repetition.flags()));
}

Args MeasurementRow(const PreparedRecord& record, int ordinal) {
  const v1::Repetition& repetition = record.clean.repetition();
  const v1::Measurement& m = repetition.measurements(ordinal);
  Args args(record.key.task, record.key.attempt, repetition.warmup(), repetition.number(), m.metric(), ordinal,
            static_cast<int>(m.unit()), static_cast<int>(m.direction()), m.classic(), If(m.has_value(), m.value()),
            m.missing_reason(), If(m.has_elapsed_seconds(), m.elapsed_seconds()),
            If(m.has_asked_bytes(), m.asked_bytes()), If(m.has_operations(), m.operations()),
            If(m.has_device_bytes(), m.device_bytes()), If(m.has_process_cpu_seconds(), m.process_cpu_seconds()),
            If(m.has_host_cpu_seconds(), m.host_cpu_seconds()), If(m.has_steal_seconds(), m.steal_seconds()),
            If(m.has_cached_fraction(), m.cached_fraction()), If(m.has_unsynced_fraction(), m.unsynced_fraction()),
            If(m.has_flush_seconds(), m.flush_seconds()), If(m.has_residency_before(), m.residency_before()),
            If(m.has_residency_after(), m.residency_after()));
  std::optional<double> p50, p95, p99, p999;
  v1::Measurement stored = m;
  if (m.latency_histogram().empty()) {
    args.Add(p50).Add(p95).Add(p99).Add(p999).Add(std::nullopt);
  } else {
    if (const absl::StatusOr<LatencyHistogram> histogram = LatencyHistogram::Deserialize(m.latency_histogram());
        histogram.ok()) {
      p50 = histogram->Percentile(50).seconds;
      p95 = histogram->Percentile(95).seconds;
      p99 = histogram->Percentile(99).seconds;
      p999 = histogram->Percentile(99.9).seconds;
    }
    args.Add(p50).Add(p95).Add(p99).Add(p999).Add(Bytes{m.latency_histogram()});
    stored.clear_latency_histogram();
  }
  args.Add(FlagsToJson(m.flags())).Add(ParametersToJson(m.derived_parameters())).Add(Bytes{SerializeStable(stored)});
  return args;
}

Args SampleRow(const PreparedRecord& record, absl::Time received) {
  const v1::SampleBatch& samples = record.clean.samples();
  const bool plausible = PlausibleTime(samples.start_unix_seconds(), received);
  return Args(record.key.task, record.key.attempt, samples.metric(), record.id.sequence(), samples.repetition(),
              static_cast<int>(samples.unit()),
              plausible ? absl::FromUnixMicros(static_cast<int64_t>(samples.start_unix_seconds() * 1e6)) : received,
              !plausible, samples.start_unix_seconds(), samples.values_size(),
              std::vector<int64_t>(samples.offset_deltas_us().begin(), samples.offset_deltas_us().end()),
              std::vector<double>(samples.values().begin(), samples.values().end()));
}

// Table by table, so that each finds what it refers to.
void InsertAll(Transaction& transaction, std::span<const PreparedRecord* const> records, absl::Time received) {
  BulkInsert record_rows(transaction, kRecordColumns);
  BulkInsert repetition_rows(transaction,
                             "fleetmark.repetition (task_id, attempt, warmup, number, sequence, started_at, clock_bad,"
                             " started_unix_seconds, prepare_seconds, measure_seconds, conditions, flags)");
  BulkInsert measurement_rows(
      transaction,
      "fleetmark.measurement (task_id, attempt, warmup, repetition, metric, ordinal, unit, direction, classic, value,"
      " missing_reason, elapsed_seconds, asked_bytes, operations, device_bytes, process_cpu_seconds, host_cpu_seconds,"
      " steal_seconds, cached_fraction, unsynced_fraction, flush_seconds, residency_before, residency_after,"
      " latency_p50_seconds, latency_p95_seconds, latency_p99_seconds, latency_p999_seconds, latency_histogram, flags,"
      " derived_parameters, message)");
  BulkInsert sample_rows(transaction,
                         "fleetmark.sample_chunk (task_id, attempt, metric, sequence, repetition, unit, started_at,"
                         " clock_bad, start_unix_seconds, n, dt_us, v)");
  for (const PreparedRecord* record : records) record_rows.Add(RecordRow(*record, received, false));
  record_rows.Flush();
  for (const PreparedRecord* record : records) {
    if (record->clean.has_repetition()) repetition_rows.Add(RepetitionRow(*record, received));
  }
  repetition_rows.Flush();
  for (const PreparedRecord* record : records) {
    if (record->clean.has_samples()) sample_rows.Add(SampleRow(*record, received));
    for (int i = 0; i < record->clean.repetition().measurements_size(); ++i) {
      measurement_rows.Add(MeasurementRow(*record, i));
    }
  }
  measurement_rows.Flush();
  sample_rows.Flush();
}

void MarkPlace(Transaction& transaction, const PreparedRecord& record, absl::Time received) {
  BulkInsert rows(transaction, kRecordColumns);
  rows.Add(RecordRow(record, received, true));
  rows.Flush();
}

void InsertHalving(Transaction& transaction, std::span<const PreparedRecord* const> records, absl::Time received,
                   std::vector<Refused>& refused) {
  if (records.empty()) return;
  const absl::Status status = transaction.Attempt([&] {
    InsertAll(transaction, records, received);
    return absl::OkStatus();
  });
  if (status.ok()) return;
  if (records.size() == 1) {
    MarkPlace(transaction, *records[0], received);
    refused.push_back({records[0], std::string(status.message())});
    return;
  }
  const size_t half = records.size() / 2;
  InsertHalving(transaction, records.first(half), received, refused);
  InsertHalving(transaction, records.subspan(half), received, refused);
}

}  // namespace

bool PlausibleTime(double unix_seconds, absl::Time now) {
  constexpr double k2015 = 1420070400;
  return unix_seconds >= k2015 && unix_seconds <= static_cast<double>(absl::ToUnixSeconds(now + absl::Hours(24)));
}

bool IsApplied(const v1::Record& record) {
  // One of a kind that this version does not know is kept whole, for a later one.
  return record.has_started() || record.has_finished() || record.kind_case() == v1::Record::KIND_NOT_SET;
}

PreparedRecord PrepareRecord(const v1::Record& record, absl::Time now) {
  PreparedRecord prepared;
  prepared.id = record.id();
  prepared.key = {record.id().task_id(), record.id().attempt()};
  prepared.original = SerializeStable(record);
  prepared.sha256 = Sha256(prepared.original);
  prepared.clean = record;
  CleanMessage(prepared.clean);
  prepared.clock_bad = !PlausibleTime(prepared.clean.agent_unix_seconds(), now);
  if (record.id().sequence() == 0 ||
      record.id().sequence() > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    prepared.invalid = "its sequence number cannot be";
  } else if (prepared.clean.has_repetition()) {
    CleanRepetition(prepared, record.repetition());
  } else if (prepared.clean.has_samples()) {
    CleanSamples(prepared);
  }
  return prepared;
}

std::vector<Refused> InsertRecords(Transaction& transaction, const std::vector<const PreparedRecord*>& records,
                                   absl::Time received) {
  std::vector<Refused> refused;
  std::vector<const PreparedRecord*> valid;
  for (const PreparedRecord* record : records) {
    if (record->invalid.empty()) {
      valid.push_back(record);
    } else {
      MarkPlace(transaction, *record, received);
      refused.push_back({record, record->invalid});
    }
  }
  InsertHalving(transaction, valid, received, refused);
  return refused;
}

void Quarantine(Transaction& transaction, const HostId& host, const PreparedRecord& record, const std::string& reason) {
  constexpr char kFind[] =
      "SELECT 1 FROM fleetmark.quarantine WHERE host_id = $1 AND task_id = $2 AND attempt = $3 AND sequence = $4"
      " AND sha256 = $5";
  const Args key(host, record.key.task, record.key.attempt, record.id.sequence(), Bytes{record.sha256});
  if (!transaction.Exec(kFind, key).empty()) return;
  Args row = key;
  row.Add(reason).Add(Bytes{record.original});
  transaction.Exec(
      "INSERT INTO fleetmark.quarantine (host_id, task_id, attempt, sequence, sha256, reason, message)"
      " VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING",
      row);
}

}  // namespace fleetmark::collector
