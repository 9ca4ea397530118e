#include "collector/store/states.h"

#include <set>

#include "tests/collector/store/store_fixture.h"

namespace fleetmark::collector {
namespace {

// "CHECK ((state = ANY (ARRAY['created'::text, ...])))" -> the words.
std::set<std::string> WordsOfConstraint(const std::string& definition) {
  std::set<std::string> words;
  for (size_t at = definition.find('\''); at != std::string::npos; at = definition.find('\'', at + 1)) {
    const size_t end = definition.find('\'', at + 1);
    words.insert(definition.substr(at + 1, end - at - 1));
    at = end;
  }
  return words;
}

TEST_F(StoreTest, TheSchemaKnowsTheSameStatesAsTheCode) {
  const auto constraint = [&](const std::string& name) {
    return WordsOfConstraint(
        Value("SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = '" + name + "'"));
  };
  std::set<std::string> runs, tasks, attempts;
  for (int i = 1; i < v1::RunState_ARRAYSIZE; ++i) runs.emplace(Name(static_cast<v1::RunState>(i)));
  for (int i = 1; i < v1::TaskState_ARRAYSIZE; ++i) tasks.emplace(Name(static_cast<v1::TaskState>(i)));
  for (const AttemptState state :
       {AttemptState::kStarted, AttemptState::kFinished, AttemptState::kInterrupted, AttemptState::kDisowned}) {
    attempts.emplace(Name(state));
  }
  EXPECT_EQ(constraint("run_state"), runs);
  EXPECT_EQ(constraint("task_state"), tasks);
  EXPECT_EQ(constraint("attempt_state"), attempts);
}

TEST(StatesTest, NamesReadBack) {
  for (int i = 1; i < v1::RunState_ARRAYSIZE; ++i) {
    EXPECT_EQ(RunStateNamed(Name(static_cast<v1::RunState>(i))), static_cast<v1::RunState>(i));
  }
  for (int i = 1; i < v1::TaskState_ARRAYSIZE; ++i) {
    EXPECT_EQ(TaskStateNamed(Name(static_cast<v1::TaskState>(i))), static_cast<v1::TaskState>(i));
  }
  EXPECT_EQ(TaskStateNamed("nonsense"), v1::TASK_STATE_UNSPECIFIED);
  EXPECT_FALSE(AttemptStateNamed("nonsense").has_value());
}

// The whole table, written down a second time: one line per state, what may follow.
TEST(StatesTest, Transitions) {
  const std::map<std::string, std::string> tasks = {
      {"queued", "assigned cancelled lost"},
      {"assigned", "queued running failed skipped cancelled lost"},
      {"running", "queued succeeded failed skipped cancelled lost"},
      {"succeeded", ""},
      {"failed", ""},
      {"skipped", ""},
      {"cancelled", ""},
      {"lost", "succeeded"},
  };
  for (const auto& [from, next] : tasks) {
    for (const auto& [to, unused] : tasks) {
      EXPECT_EQ(MayBecome(TaskStateNamed(from), TaskStateNamed(to)),
                absl::StrCat(" ", next, " ").find(" " + to + " ") != std::string::npos)
          << from << " to " << to;
    }
    EXPECT_EQ(IsFinal(TaskStateNamed(from)), next.empty() || from == "lost") << from;
  }
  const std::map<std::string, std::string> runs = {
      {"created", "running succeeded partial failed cancelled"},
      {"running", "succeeded partial failed cancelled"},
      {"succeeded", ""},
      {"partial", "succeeded"},
      {"failed", "partial succeeded"},
      {"cancelled", ""},
  };
  for (const auto& [from, next] : runs) {
    for (const auto& [to, unused] : runs) {
      EXPECT_EQ(MayBecome(RunStateNamed(from), RunStateNamed(to)),
                absl::StrCat(" ", next, " ").find(" " + to + " ") != std::string::npos)
          << from << " to " << to;
    }
    EXPECT_EQ(IsFinal(RunStateNamed(from)), from != "created" && from != "running") << from;
  }
  EXPECT_TRUE(MayBecome(AttemptState::kStarted, AttemptState::kDisowned));
  EXPECT_FALSE(MayBecome(AttemptState::kDisowned, AttemptState::kFinished));
  EXPECT_THAT(MayPrecede(v1::TASK_STATE_SUCCEEDED), ::testing::ElementsAre("running", "lost"));
}

TEST(StatesTest, TheStateOfARunFollowsFromItsTasks) {
  struct Case {
    TaskCounts counts;
    bool cancelled;
    v1::RunState want;
  };
  const Case cases[] = {
      {{.open = 2, .begun = 0}, false, v1::RUN_STATE_CREATED},
      {{.open = 1, .begun = 1, .succeeded = 1}, false, v1::RUN_STATE_RUNNING},
      {{.open = 1, .begun = 1, .cancelled = 1}, true, v1::RUN_STATE_RUNNING},
      {{.begun = 2, .succeeded = 2}, false, v1::RUN_STATE_SUCCEEDED},
      {{.begun = 2, .succeeded = 2}, true, v1::RUN_STATE_SUCCEEDED},
      {{.begun = 2, .succeeded = 1, .other = 1}, false, v1::RUN_STATE_PARTIAL},
      {{.begun = 1, .succeeded = 1, .cancelled = 1}, true, v1::RUN_STATE_CANCELLED},
      {{.begun = 2, .other = 2}, false, v1::RUN_STATE_FAILED},
      {{.other = 1}, false, v1::RUN_STATE_FAILED},
      {{.cancelled = 1}, true, v1::RUN_STATE_CANCELLED},
  };
  for (const Case& one : cases) EXPECT_EQ(RunStateFor(one.counts, one.cancelled), one.want);
}

}  // namespace
}  // namespace fleetmark::collector
