#include "bulk/rows/steps.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace minhash::bulk {

namespace {

// Shared bytes for each row: leader, link to a twin, root or first row of the other query, scope.
constexpr std::size_t shared_row_bytes = 16;
constexpr std::size_t shared_set_bytes = 24;           // and more in containment.cpp
constexpr std::size_t shared_member_bytes = 64 * 1024; // notes of each process

// Does without workers if shared memory has no room for what has to be there.
void check_shared_memory(row_set& rows)
{
    host& owner = *rows.owner;
    if (!rows.sharing ||
        owner.keep_sharing(owner,
                           rows.count * (shared_row_bytes + (rows.task.sets_only ? shared_set_bytes : 0)) +
                               static_cast<std::size_t>(owner.most_workers) * shared_member_bytes))
        return;
    rows.sharing = rows.budget->sharing = false;
}

void leave_if_any(byte_store*& store, store_note& note)
{
    if (store != nullptr)
        leave_store(store, note);
    store = nullptr;
}

void open_if_any(memory_budget& budget, byte_store*& store, const store_note& note)
{
    store = note.chunk_bytes > 0 ? open_view(budget, note) : nullptr;
}

// Opens views of the stores that all processes share.
void open_views(row_set& rows)
{
    const shared_rows& shared = *rows.shared;
    memory_budget& budget = *rows.budget;
    open_if_any(budget, rows.starts, shared.starts);
    open_if_any(budget, rows.rests, shared.rests);
    open_if_any(budget, rows.documents, shared.documents);
    open_if_any(budget, rows.document_at, shared.document_at);
    open_if_any(budget, rows.document_sizes, shared.document_sizes);
    open_brought(rows);
    rows.scopes = {find_shared<std::uint32_t>(rows, shared.scopes), 0};
    const auto* const notes = find_shared<store_note>(rows, shared.keys);
    for (std::size_t i = 0; i < key_count(rows.task.shape); i++)
        open_if_any(budget, rows.keys[i], notes[i]);
}

// Frees texts that are not needed once they are signed.
void drop_documents(row_set& rows)
{
    shared_rows& shared = *rows.shared;
    for (byte_store** const view : {&rows.documents, &rows.document_at, &rows.document_sizes}) {
        close_store(*view);
        *view = nullptr;
    }
    for (store_note* const note : {&shared.documents, &shared.document_at, &shared.document_sizes}) {
        rows.budget->used -= note->chunk_count * note->chunk_bytes;
        drop_noted(*rows.owner, *note);
    }
}

// Lets all processes read the rows.
void share_rows(row_set& rows)
{
    host& owner = *rows.owner;
    shared_rows& shared = *rows.shared;
    shared.task = rows.task;
    shared.count = rows.count;
    shared.first_count = rows.first_count;
    shared.memory = rows.budget->limit;
    shared.sharing = rows.budget->sharing;
    shared.texts = rows.signer != nullptr;
    if (rows.task.scoped) {
        auto* const scopes = allocate_shared<std::uint32_t>(owner, shared.scopes, rows.count);
        std::copy_n(rows.scopes.values, rows.count, scopes);
        release(owner, rows.scopes.values);
    }
    leave_if_any(rows.starts, shared.starts);
    leave_if_any(rows.rests, shared.rests);
    leave_if_any(rows.documents, shared.documents);
    leave_if_any(rows.document_at, shared.document_at);
    leave_if_any(rows.document_sizes, shared.document_sizes);
    auto* const notes = allocate_shared<store_note>(owner, shared.keys, key_count(rows.task.shape));
    if (rows.keys == nullptr) {
        rows.keys = allocate<byte_store*>(owner, key_count(rows.task.shape));
        std::fill_n(rows.keys, key_count(rows.task.shape), nullptr);
    }
    for (std::size_t i = 0; i < key_count(rows.task.shape); i++)
        leave_if_any(rows.keys[i], notes[i]);
}

// Rows that are signed at once: few enough to keep all processes busy, and enough to write to files in large pieces.
std::uint32_t rows_at_once(const shared_rows& shared)
{
    constexpr std::uint32_t least = 16;
    constexpr std::uint32_t most = 1024;
    constexpr std::uint32_t units_of_each = 32;
    return std::clamp(shared.count / (units_of_each * static_cast<std::uint32_t>(shared.processes)), least, most);
}

// Tells the host the expected costs of this step and those after it.
void expect_costs(const row_set& rows, step what)
{
    host& owner = *rows.owner;
    const task& task = rows.task;
    const bool last = what == step::verify_pairs || what == step::connect_rows;
    const double cost = what == step::sign      ? task.signing
                        : what == step::collect ? task.banding
                        : last                  ? task.verifying
                                                : 0;
    const double after = last ? 0 : task.verifying + (what < step::collect ? task.banding : 0);
    owner.cost = cost / rows.shared->processes;
    owner.cost_after = after / rows.shared->processes;
    owner.cost_rows = task.banding > 0 ? rows.count : 0;
}

} // namespace

void sign_units(row_set& rows)
{
    const std::uint32_t at_once = rows_at_once(*rows.shared);
    signing_room room = make_signing_room(rows, at_once);
    for (;;) {
        const std::uint64_t from = next_unit(rows) * at_once;
        if (from >= rows.count)
            break;
        report(*rows.owner, "signing rows", from, rows.count);
        sign_rows(rows,
                  room,
                  static_cast<std::uint32_t>(from),
                  static_cast<std::uint32_t>(std::min<std::uint64_t>(at_once, rows.count - from)));
    }
    release_signing_room(*rows.owner, room);
}

void start_steps(row_set& rows)
{
    if (rows.shared != nullptr)
        return;
    assert(rows.first_count <= rows.count);
    host& owner = *rows.owner;
    check_shared_memory(rows);
    if (!rows.task.sets_only)
        open_signatures(rows);
    shared_number number;
    rows.shared = allocate_shared<shared_rows>(owner, number);
    rows.shared->number = number;
    share_rows(rows);
    open_views(rows);
    rows.shared->processes = rows.sharing ? owner.start_workers(owner, number) : 1;
    rows.shared->helped = rows.shared->processes > 1;
    if (!rows.task.sets_only)
        do_step(rows, step::sign);
    if (!has_documents(rows.task))
        drop_documents(rows);
}

void open_brought(row_set& rows)
{
    const shared_rows& shared = *rows.shared;
    if (shared.brought == 0)
        return;
    const auto processes = static_cast<std::size_t>(shared.processes);
    const auto* const notes = find_shared<store_note>(rows, shared.brought);
    rows.brought = allocate<byte_store*>(*rows.owner, processes);
    for (std::size_t member = 0; member < processes; member++)
        open_if_any(*rows.budget, rows.brought[member], notes[member]);
}

void do_step(row_set& rows, step what)
{
    assert(rows.shared != nullptr && rows.member == 0 && rows.shared->processes > 0);
    host& owner = *rows.owner;
    shared_rows& shared = *rows.shared;
    expect_costs(rows, what);
    memory_budget& budget = *rows.budget;
    shared.first_count = rows.first_count;
    shared.step = what;
    shared.next_unit = 0;
    shared.allowance =
        (budget.limit - std::min(budget.limit, budget.used)) / static_cast<std::size_t>(shared.processes);
    shared.used = shared.filed = 0;
    if (shared.helped)
        owner.meet_workers(owner);
    do_part(rows);
    if (shared.helped)
        owner.meet_workers(owner);
    budget.used += shared.used;
    budget.filed += shared.filed;
    owner.cost_rows = 0;
}

void expect_candidates(row_set& rows, std::uint64_t recorded)
{
    task& task = rows.task;
    const double of_all = static_cast<double>(recorded) * rows.shared->processes;
    if (task.candidates == 0 || of_all <= task.candidates)
        return;
    task.verifying *= of_all / task.candidates;
    task.candidates = of_all;
    rows.owner->cost_after = task.verifying / rows.shared->processes;
}

void help(host& owner, shared_number number, int member)
{
    shared_rows& shared = *find_shared<shared_rows>(owner, number);
    assert(member > 0 && member < shared.processes);
    memory_budget budget = make_budget(owner, shared.allowance);
    row_set rows = {};
    rows.owner = &owner;
    rows.budget = &budget;
    rows.shared = &shared;
    rows.member = member;
    set_task(rows, shared.task);
    rows.count = shared.count;
    rows.first_count = shared.first_count;
    rows.keys = allocate<byte_store*>(owner, key_count(shared.task.shape));
    if (shared.texts)
        rows.signer = make_signer(owner, shared.task.scheme);
    open_views(rows);
    do_part(rows);
    close_stores(budget);
    std::atomic_ref(shared.used).fetch_add(budget.used, std::memory_order_relaxed);
    std::atomic_ref(shared.filed).fetch_add(budget.filed, std::memory_order_relaxed);
    release(owner, rows.brought);
    release(owner, rows.keys);
}

void end_steps(row_set& rows)
{
    if (rows.shared->helped)
        rows.owner->end_workers(*rows.owner);
    rows.shared->helped = false;
}

void end_rows(row_set& rows)
{
    if (rows.shared == nullptr)
        return;
    end_steps(rows);
    host& owner = *rows.owner;
    shared_rows& shared = *rows.shared;
    for (store_note* const note :
         {&shared.starts, &shared.rests, &shared.documents, &shared.document_at, &shared.document_sizes})
        drop_noted(owner, *note);
    auto* const notes = find_shared<store_note>(rows, shared.keys);
    for (std::size_t i = 0; i < key_count(rows.task.shape); i++)
        drop_noted(owner, notes[i]);
    auto* const brought = find_shared<store_note>(rows, shared.brought);
    for (int i = 0; brought != nullptr && i < shared.processes; i++)
        drop_noted(owner, brought[i]);
    release(owner, std::exchange(rows.brought, nullptr));
    for (const shared_number number : {shared.keys,
                                       shared.scopes,
                                       shared.brought,
                                       shared.leader,
                                       shared.next,
                                       shared.rights,
                                       shared.candidates,
                                       shared.large_count,
                                       shared.found,
                                       shared.ranges,
                                       shared.parent,
                                       shared.groups,
                                       shared.group_places,
                                       shared.containment,
                                       shared.number})
        if (number != 0)
            owner.release_shared(owner, number);
    rows.shared = nullptr;
    rows.scopes = {};
}

memory_budget step_budget(const row_set& rows)
{
    assert(rows.shared != nullptr);
    memory_budget made = make_budget(*rows.owner, rows.shared->allowance);
    made.sharing = rows.shared->sharing;
    return made;
}

} // namespace minhash::bulk
