-- The SQL interface for people (psql, Grafana): views that stay when tables change.

CREATE SCHEMA fleetmark_report;
COMMENT ON SCHEMA fleetmark_report IS 'Views for reading results with SQL. Tables of the schema fleetmark may change; these do not.';

CREATE FUNCTION fleetmark.unit_name(unit integer) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE unit WHEN 0 THEN 'unspecified' WHEN 1 THEN 'bytes' WHEN 2 THEN 'bytes/s' WHEN 3 THEN 'operations/s'
                   WHEN 4 THEN 'seconds' WHEN 5 THEN 'ratio' WHEN 6 THEN 'count' ELSE 'unknown(' || unit || ')' END
$$;
CREATE FUNCTION fleetmark.direction_name(direction integer) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE direction WHEN 0 THEN 'unspecified' WHEN 1 THEN 'higher is better' WHEN 2 THEN 'lower is better'
                        WHEN 3 THEN 'none' ELSE 'unknown(' || direction || ')' END
$$;

CREATE VIEW fleetmark_report.host AS
  SELECT h.id AS host_id, h.name, h.reported_name, h.last_seen, c.expires_at > now() AS connected, h.agent_version,
         h.operating_system, h.processor_model, h.usable_cpus, h.memory_bytes, h.clock_offset_seconds,
         coalesce((SELECT jsonb_object_agg(l.key, l.value) FROM fleetmark.host_label l WHERE l.host_id = h.id), '{}') AS labels
    FROM fleetmark.host h LEFT JOIN fleetmark.claim c ON c.host_id = h.id
   WHERE h.removed_at IS NULL;
COMMENT ON VIEW fleetmark_report.host IS 'One row per host that has not been removed.';

CREATE VIEW fleetmark_report.run AS
  SELECT r.id AS run_id, r.name, r.suite, r.suite_version, r.state, r.created_by, r.created_at, r.started_at, r.finished_at,
         count(t.id) AS tasks, count(t.id) FILTER (WHERE t.state = 'succeeded') AS tasks_succeeded
    FROM fleetmark.run r LEFT JOIN fleetmark.task t ON t.run_id = r.id
   GROUP BY r.id;
COMMENT ON VIEW fleetmark_report.run IS 'One row per run.';

CREATE VIEW fleetmark_report.task AS
  SELECT t.id AS task_id, t.run_id, t.host_id, t.host_name, t.labels, t.position, t.workload, t.version, t.target, t.state,
         t.reason, t.late, t.attempt, a.started_at, a.finished_at, a.identity_parameters, a.derived_parameters,
         a.disk_identity, a.disk_label, a.target_path, a.stack, a.agent_build, a.repetitions, a.stop_reason, a.flags
    FROM fleetmark.task t LEFT JOIN fleetmark.attempt a ON a.task_id = t.id AND a.number = t.attempt;
COMMENT ON VIEW fleetmark_report.task IS 'One row per task, with its newest attempt.';

CREATE VIEW fleetmark_report.result AS
  SELECT t.run_id, m.task_id, t.host_id, t.host_name, t.labels, t.workload, t.version, t.target, a.disk_identity, a.disk_label,
         a.identity_parameters, m.attempt, m.repetition, m.metric, m.value, fleetmark.unit_name(m.unit) AS unit,
         fleetmark.direction_name(m.direction) AS direction, m.missing_reason, m.classic, m.flags || r.flags AS flags,
         r.started_at, m.elapsed_seconds, m.asked_bytes, m.operations, m.device_bytes, m.process_cpu_seconds,
         m.host_cpu_seconds, m.cached_fraction, m.unsynced_fraction, m.latency_p50_seconds, m.latency_p95_seconds,
         m.latency_p99_seconds, m.latency_p999_seconds, r.conditions
    FROM fleetmark.measurement m
    JOIN fleetmark.repetition r USING (task_id, attempt, warmup)
    JOIN fleetmark.task t ON t.id = m.task_id AND t.attempt = m.attempt
    JOIN fleetmark.attempt a ON a.task_id = m.task_id AND a.number = m.attempt
   WHERE r.number = m.repetition AND NOT m.warmup AND a.state NOT IN ('interrupted', 'disowned');
COMMENT ON VIEW fleetmark_report.result IS
  'One row per repetition and metric. Warm-ups and superseded attempts are left out. value IS NULL: not measured, see missing_reason.';

CREATE VIEW fleetmark_report.sample AS
  SELECT t.run_id, s.task_id, t.host_id, t.host_name, t.workload, t.version, t.target, s.metric,
         fleetmark.unit_name(s.unit) AS unit, s.repetition,
         s.started_at + make_interval(secs => sum(u.dt_us) OVER (PARTITION BY s.task_id, s.attempt, s.metric, s.sequence
                                                                 ORDER BY u.place) / 1e6) AS at,
         u.value
    FROM fleetmark.sample_chunk s
    JOIN fleetmark.task t ON t.id = s.task_id AND t.attempt = s.attempt
    CROSS JOIN LATERAL unnest(s.dt_us, s.v) WITH ORDINALITY AS u(dt_us, value, place);
COMMENT ON VIEW fleetmark_report.sample IS 'One row per sample of a time series.';

CREATE VIEW fleetmark_report.quarantine AS
  SELECT q.received_at, h.name AS host_name, q.task_id, q.attempt, q.sequence, q.reason
    FROM fleetmark.quarantine q LEFT JOIN fleetmark.host h ON h.id = q.host_id;
COMMENT ON VIEW fleetmark_report.quarantine IS 'What agents sent that could not be stored, and why.';
