#include "bulk/rows/steps.h"

#include <algorithm>
#include <cassert>

namespace minhash::bulk {

namespace {

// How many bytes of shared memory each row needs: 4 for its leader, 4 for its next twin, 4 for its scope, and 4 for its
// root or for its first row in the second query.
constexpr std::size_t shared_row_bytes = 16;
constexpr std::size_t shared_member_bytes = 64 * 1024; // for the store_notes of each process

// At most how many more bytes the arrays of a sets_only task need. If it looks for rows of one query within those of
// another, only the rows of the first query need much.
std::size_t bytes_of_sets(const row_set& rows)
{
    constexpr std::size_t of_weighted = 72;
    constexpr std::size_t of_containing = 4;
    constexpr std::size_t of_contained = 20;
    if (!rows.task.sets_only)
        return 0;
    if (rows.task.weighted)
        return rows.count * of_weighted;
    // first_count is 0 if there is one query, and also if the first of two has no rows. More memory than needed does no
    // harm then, because there are no pairs.
    const std::uint32_t contained = rows.first_count > 0 ? rows.first_count : rows.count;
    return rows.count * of_containing + contained * of_contained;
}

// Does without workers if shared memory has no room for the data that cannot go to a file.
void check_shared_memory(row_set& rows)
{
    host& owner = *rows.owner;
    if (owner.sharing)
        owner.keep_sharing(owner,
                           rows.count * shared_row_bytes + bytes_of_sets(rows) +
                               static_cast<std::size_t>(owner.most_workers) * shared_member_bytes);
}

// Calls take(store, note) for each store of `rows` that all processes read, with the store's note in shared memory.
template <typename Take>
void each_store(row_set& rows, Take&& take)
{
    shared_rows& shared = shared_of(rows);
    take(rows.first_slots, shared.first_slots);
    take(rows.other_slots, shared.other_slots);
    take(rows.documents, shared.documents);
    take(rows.document_locations, shared.document_locations);
    take(rows.document_sizes, shared.document_sizes);
    auto* const notes = find_shared<store_note>(rows, shared.keys);
    for (std::size_t i = 0; notes != nullptr && i < key_count(rows.task.banding); i++)
        take(rows.keys[i], notes[i]);
}

// Frees the texts, which are not needed after signing.
void drop_documents(const row_set& rows)
{
    shared_rows& shared = shared_of(rows);
    for (store_note* const note : {&shared.documents, &shared.document_locations, &shared.document_sizes}) {
        drop_noted(rows, *note);
        *note = {};
    }
    auto* const brought = find_shared<store_note>(rows, shared.brought);
    for (std::size_t i = 0; i < shared.brought_count; i++)
        drop_noted(rows, brought[i]);
    shared.brought_count = 0;
}

// Makes the rows accessible to all processes.
void share_rows(row_set& rows)
{
    host& owner = *rows.owner;
    shared_number number;
    shared_rows& shared = *allocate_shared<shared_rows>(owner, number);
    rows.shared = &shared;
    shared.number = number;
    shared.task = rows.task;
    shared.count = rows.count;
    shared.first_count = rows.first_count;
    if (rows.task.scoped) {
        std::copy_n(rows.scopes.values, rows.count, allocate_shared<std::uint32_t>(owner, shared.scopes, rows.count));
        release(owner, rows.scopes.values);
    }
    if (!rows.task.sets_only)
        allocate_shared<store_note>(owner, shared.keys, key_count(rows.task.banding));
    each_store(rows, [](byte_store* store, store_note& note) {
        if (store != nullptr)
            leave_store(store, note);
    });
    auto* const notes = allocate_shared<store_note>(owner, shared.brought, rows.brought_count);
    for (std::size_t i = 0; i < rows.brought_count; i++)
        leave_store(rows.brought[i], notes[i]);
    shared.brought_count = rows.brought_count;
}

// Opens views of the stores that all processes share, and finds the arrays that they share.
void open_views(row_set& rows)
{
    const shared_rows& shared = shared_of(rows);
    if (shared.keys != 0)
        rows.keys = allocate<byte_store*>(*rows.owner, key_count(rows.task.banding));
    each_store(rows, [&rows](byte_store*& store, const store_note& note) {
        store = has_store(note) ? open_view(*rows.budget, note) : nullptr;
    });
    rows.brought = open_views(rows, shared.brought, shared.brought_count);
    rows.brought_count = shared.brought_count;
    rows.scopes = {find_shared<std::uint32_t>(rows, shared.scopes), 0};
    rows.leader = find_shared<std::uint32_t>(rows, shared.leader);
    rows.next = find_shared<std::uint32_t>(rows, shared.next);
    rows.rights = find_shared<std::uint32_t>(rows, shared.rights);
    rows.search = find_shared<shared_search>(rows, shared.search);
}

// Does one process's part of the current step.
void do_part(process& self)
{
    const auto& shared = static_cast<shared_rows&>(*self.shared);
    row_set rows = {};
    static_cast<process&>(rows) = self;
    set_task(rows, shared.task);
    rows.count = shared.count;
    rows.first_count = shared.first_count;
    if (!shared.task.given)
        rows.signer = make_signer(*rows.owner, shared.task.scheme);
    open_views(rows);
    function_at<step>(shared.step)(rows);
}

} // namespace

void start_steps(row_set& rows)
{
    if (rows.shared != nullptr)
        return;
    assert(rows.first_count <= rows.count);
    check_shared_memory(rows);
    if (!rows.task.sets_only)
        open_signatures(rows);
    share_rows(rows);
    start_work(rows, do_part);
    if (!rows.task.sets_only)
        do_step(rows, sign_units);
    if (!has_documents(rows.task))
        drop_documents(rows);
    open_views(rows);
}

void do_step(row_set& rows, step& what)
{
    shared_of(rows).step = distance_of(what);
    do_step(rows);
}

void add_brought(row_set& rows, shared_number notes)
{
    host& owner = *rows.owner;
    shared_rows& shared = shared_of(rows);
    const std::size_t before = shared.brought_count;
    const shared_number former = shared.brought;
    shared.brought_count = before + shared.processes;
    auto* const all = allocate_shared<store_note>(owner, shared.brought, shared.brought_count);
    std::copy_n(find_shared<store_note>(rows, former), before, all);
    std::copy_n(find_shared<store_note>(rows, notes), shared.processes, all + before);
    owner.release_shared(owner, former);
    owner.release_shared(owner, notes);
    for (std::size_t i = 0; i < before; i++)
        close_view(rows.brought[i]);
    release(owner, rows.brought);
    rows.brought = open_views(rows, shared.brought, shared.brought_count);
    rows.brought_count = shared.brought_count;
}

} // namespace minhash::bulk
