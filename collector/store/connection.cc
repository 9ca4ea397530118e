#include "collector/store/connection.h"

#include <optional>
#include <pqxx/pqxx>
#include <vector>

#include "absl/strings/str_cat.h"
#include "collector/store/error_mapping.h"

namespace fleetmark::collector {
namespace {

pqxx::result ExecBound(pqxx::transaction_base& transaction, const std::string& statement, const Args& args) {
#if PQXX_VERSION_MAJOR >= 7
  pqxx::params bound;
  bound.reserve(args.size());
  for (const std::optional<std::string>& value : args.values()) {
    if (value.has_value()) {
      bound.append(*value);
    } else {
      bound.append();
    }
  }
#if PQXX_VERSION_MAJOR > 7 || PQXX_VERSION_MINOR >= 10
  return transaction.exec(statement, bound);
#else
  return transaction.exec_params(statement, bound);
#endif
#else
  // Also without parameters: in 6.4 a failing exec() ends the transaction, exec_params() leaves that to a savepoint.
  std::vector<const char*> bound;
  bound.reserve(args.size());
  for (const std::optional<std::string>& value : args.values()) {
    bound.push_back(value.has_value() ? value->c_str() : nullptr);
  }
  return transaction.exec_params(statement, pqxx::prepare::make_dynamic_params(bound));
#endif
}

Rows ToRows(const pqxx::result& result) {
  auto kept = std::make_shared<const pqxx::result>(result);  // shares its rows
  const auto columns = kept->columns();
  const auto rows = kept->size();
  std::vector<std::string_view> cells;
  cells.reserve(static_cast<size_t>(columns) * static_cast<size_t>(rows));
  for (const auto& row : *kept) {
    for (const auto& field : row) {
      cells.push_back(field.is_null() ? std::string_view() : std::string_view(field.c_str(), field.size()));
    }
  }
  const size_t affected = static_cast<size_t>(kept->affected_rows());
  return Rows(kept, std::move(cells), static_cast<size_t>(columns), static_cast<size_t>(rows), affected);
}

class PqxxTransaction : public Transaction {
 public:
  explicit PqxxTransaction(pqxx::transaction_base& transaction) : transaction_(transaction) {}

  Rows Exec(const std::string& statement, const Args& args) override {
    return ToRows(ExecBound(transaction_, statement, args));
  }
  void ExecScript(const std::string& statements) override { transaction_.exec(statements); }

  absl::Status Attempt(const std::function<absl::Status()>& work) override {
    const std::string savepoint = absl::StrCat("s", ++depth_);
    transaction_.exec("SAVEPOINT " + savepoint);
    absl::Status status;
    try {
      status = work();
    } catch (const std::exception& error) {
      const ErrorInfo info = ExplainError(error);
      if (info.kind != ErrorKind::kData) throw;
      status = info.ToStatus("store");
    }
    if (status.ok()) {
      transaction_.exec("RELEASE SAVEPOINT " + savepoint);
    } else {
      transaction_.exec("ROLLBACK TO SAVEPOINT " + savepoint);
    }
    --depth_;
    return status;
  }

 private:
  pqxx::transaction_base& transaction_;
  int depth_ = 0;
};

class PqxxConnection : public Connection {
 public:
  // Errors come back as exceptions; what libpqxx would print on stderr besides is dropped.
#if PQXX_VERSION_MAJOR > 7 || (PQXX_VERSION_MAJOR == 7 && PQXX_VERSION_MINOR >= 10)
  explicit PqxxConnection(const std::string& connection_string) : connection_(connection_string) {
    connection_.set_notice_handler([](pqxx::zview) noexcept {});
  }
#else
  explicit PqxxConnection(const std::string& connection_string) : connection_(connection_string), quiet_(connection_) {}
#endif

  absl::Status RunTransaction(const std::string& settings, const std::function<absl::Status(Transaction&)>& work,
                              bool* commit_sent) override {
    pqxx::work transaction(connection_);
    if (!settings.empty()) transaction.exec(settings);
    PqxxTransaction facade(transaction);
    absl::Status status = work(facade);
    if (!status.ok()) {
      transaction.abort();
      return status;
    }
    *commit_sent = true;
    transaction.commit();
    return status;
  }

 private:
  pqxx::connection connection_;
#if PQXX_VERSION_MAJOR < 7 || (PQXX_VERSION_MAJOR == 7 && PQXX_VERSION_MINOR < 10)
  pqxx::quiet_errorhandler quiet_;
#endif
};

}  // namespace

std::unique_ptr<Connection> Connect(const std::string& connection_string) {
  return std::make_unique<PqxxConnection>(connection_string);
}

ErrorInfo ExplainError(const std::exception& error) {
  if (dynamic_cast<const pqxx::in_doubt_error*>(&error) != nullptr) return ClassifyError("", error.what(), true);
  if (dynamic_cast<const pqxx::broken_connection*>(&error) != nullptr) return ClassifyError("", error.what(), true);
  if (const auto* sql = dynamic_cast<const pqxx::sql_error*>(&error)) {
    return ClassifyError(sql->sqlstate(), error.what(), false);
  }
  // Everything else that libpqxx throws itself (pqxx::failure without SQLSTATE) comes from a connection that went away.
  const bool lost = dynamic_cast<const pqxx::failure*>(&error) != nullptr;
  return lost ? ClassifyError("", error.what(), true) : ErrorInfo{ErrorKind::kOurs, "", error.what()};
}

}  // namespace fleetmark::collector
