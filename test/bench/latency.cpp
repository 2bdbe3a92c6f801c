// Measures how long statements with one text parameter take, as seen by the client:
//
//     latency ROUNDS CALLS TEXTS SQL...
//
// Connects to the server that the environment names, and prepares each statement once. The statements run in turns: in
// each round, each of them runs CALLS times (or for three seconds) with texts from the query TEXTS. No statement gets a
// text twice while there are texts that it has not had. Prints for each round and statement
//
//     PLACE ROUND STATEMENT P50 P99        in microseconds; statements are counted from 0
//
// Measures once with client and backend on one core ("one"), where a round trip costs two context switches, and once on
// two cores ("two"), where a round trip wakes an idle core each way. If the scheduler chose the cores, the result would
// change from run to run.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <libpq-fe.h>
#include <sched.h>
#include <string>
#include <vector>

namespace {

using steady = std::chrono::steady_clock;

PGconn* connection;

PGresult* checked(PGresult* result)
{
    const ExecStatusType status = PQresultStatus(result);
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
        std::fprintf(stderr, "latency: %s", PQerrorMessage(connection));
        std::exit(1);
    }
    return result;
}

// The cores that this process may use.
std::vector<int> cores()
{
    cpu_set_t set;
    sched_getaffinity(0, sizeof(set), &set);
    std::vector<int> found;
    for (int core = 0; core < CPU_SETSIZE; core++)
        if (CPU_ISSET(core, &set))
            found.push_back(core);
    return found;
}

void pin(pid_t process, int core)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    if (sched_setaffinity(process, sizeof(set), &set) != 0) {
        std::perror("latency: sched_setaffinity");
        std::exit(1);
    }
}

double call(int statement, const std::string& text)
{
    const std::string name = "s" + std::to_string(statement);
    const char* const values[] = {text.c_str()};
    const auto start = steady::now();
    PGresult* const result = PQexecPrepared(connection, name.c_str(), 1, values, nullptr, nullptr, 0);
    const std::chrono::duration<double, std::micro> took = steady::now() - start;
    PQclear(checked(result));
    return took.count();
}

double quantile(const std::vector<double>& sorted, double share)
{
    return sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1))];
}

} // namespace

int main(int argc, char** argv)
{
    if (argc < 5) {
        std::fprintf(stderr, "usage: latency ROUNDS CALLS TEXTS SQL...\n");
        return 2;
    }
    const int rounds = std::atoi(argv[1]);
    const int calls = std::atoi(argv[2]);
    const int statements = argc - 4;
    connection = PQconnectdb("");
    if (PQstatus(connection) != CONNECTION_OK) {
        std::fprintf(stderr, "latency: %s", PQerrorMessage(connection));
        return 1;
    }

    std::vector<std::string> texts;
    PGresult* const rows = checked(PQexec(connection, argv[3]));
    for (int row = 0; row < PQntuples(rows); row++)
        texts.emplace_back(PQgetvalue(rows, row, 0));
    PQclear(rows);
    if (texts.empty())
        return 1;
    // The parameter is always a text, even if the statement does not use it.
    const Oid text_type = 25;
    for (int statement = 0; statement < statements; statement++) {
        const std::string name = "s" + std::to_string(statement);
        PQclear(checked(PQprepare(connection, name.c_str(), argv[4 + statement], 1, &text_type)));
        // PostgreSQL decides after five executions whether to keep the plan.
        for (std::size_t warm = 0; warm < 7; warm++)
            call(statement, texts[warm % texts.size()]);
    }

    const std::vector<int> usable = cores();
    const std::size_t places = std::min<std::size_t>(usable.size(), 2);
    std::vector<std::size_t> next(static_cast<std::size_t>(statements));
    for (std::size_t i = 0; i < next.size(); i++)
        // Statements that run one after the other do not share a text.
        next[i] = i * texts.size() / next.size();
    for (int round = 0; round < rounds; round++) {
        for (std::size_t place = 0; place < places; place++) {
            pin(0, usable[0]);
            pin(PQbackendPID(connection), usable[place]);
            for (int statement = 0; statement < statements; statement++) {
                std::size_t& text = next[static_cast<std::size_t>(statement)];
                std::vector<double> took;
                const auto start = steady::now();
                while (static_cast<int>(took.size()) < calls &&
                       (took.size() < 5 || steady::now() - start < std::chrono::seconds(3))) {
                    took.push_back(call(statement, texts[text]));
                    text = text + 1 == texts.size() ? 0 : text + 1;
                }
                std::sort(took.begin(), took.end());
                std::printf("%s %d %d %.1f %.1f\n",
                            place == 0 ? "one" : "two",
                            round,
                            statement,
                            quantile(took, 0.5),
                            quantile(took, 0.99));
            }
        }
    }
    PQfinish(connection);
}
