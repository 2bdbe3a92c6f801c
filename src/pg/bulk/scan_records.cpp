#include "pg/bulk/scan_records.h"

#include <algorithm>
#include <atomic>

extern "C" {
#include "access/detoast.h"
#include "utils/datum.h"
#include "utils/memutils.h"
}

namespace minhash::pg {

namespace {

constexpr std::uint32_t most_rows_of_stretch = 1024;

struct stretch {
    std::uint64_t offset; // of the records, in the store of their process
    std::uint64_t bytes;
    std::uint32_t rows;
    BlockNumber first; // the block of the first row
};

// A record is this struct, the header of the signature if there is one, and then the serialized id, scope and rank.
struct row_head {
    std::uint64_t location;
    std::uint32_t size;
    row_content content;
};

} // namespace

// Collects a process's records.
struct recorder {
    bulk_host* host;
    shared_scan* scan;
    bulk::host_signer* signer;
    bulk::byte_store* rows;
    bulk::byte_store* stretches;
    bulk::byte_store* values; // those that the query computes
    bulk::memory_budget budget;
    bulk::growing<char> record;
    stretch current;  // not yet in `stretches`; no rows: there is none
    BlockNumber last; // the block of the last row
    std::uint64_t skipped;
    std::size_t counted; // how much of what this process has in memory is in shared_scan::used
};

namespace {

// Gives this process its part of the memory that is still free. One process may read most rows, if others start late.
void share_memory(recorder& self)
{
    shared_scan& scan = *self.scan;
    bulk::memory_budget& budget = self.budget;
    const std::size_t more = budget.used - self.counted; // modulo 2^64
    const std::size_t used = std::atomic_ref(scan.used).fetch_add(more, std::memory_order_relaxed) + more;
    self.counted = budget.used;
    budget.limit = budget.used + (scan.allowance - std::min(scan.allowance, used)) / scan.processes;
}

void end_stretch(recorder& self)
{
    if (self.current.rows == 0)
        return;
    self.current.bytes = self.rows->size - self.current.offset;
    bulk::append(*self.stretches, &self.current, sizeof(self.current));
    const std::atomic_ref read(self.scan->read);
    const std::uint64_t all = read.fetch_add(self.current.rows, std::memory_order_relaxed) + self.current.rows;
    self.current = {};
    share_memory(self);
    if (self.host->member == 0)
        report_read(*self.host, "reading rows", all, self.scan->expected);
}

void keep(recorder& self, row_head& head, const void* bytes, std::size_t count)
{
    head.location = self.values->size;
    bulk::append(*self.values, bytes, count);
}

// Records the size of a text, or that it has no shingles.
void record_text(recorder& self, row_head& head, Datum value)
{
    text_beginning start;
    if (!self.scan->computed && beginning_of(value, start) && bulk::has_shingles(*self.signer, start.bytes)) {
        head.size = static_cast<std::uint32_t>(start.size);
        return;
    }
    const bulk::text_bytes whole = utf8_of(*self.host, DatumGetTextPP(value));
    head.size = static_cast<std::uint32_t>(whole.size());
    if (!bulk::has_shingles(*self.signer, whole))
        head.content = row_content::empty;
    else if (self.scan->computed)
        keep(self, head, whole.data(), whole.size());
}

// Records the size of a stored signature. Copies its header, or as much of it as there is.
void record_signature(recorder& self, row_head& head, Datum value, std::uint8_t (&header)[header_bytes])
{
    const struct varlena* const start =
        self.scan->computed ? PG_DETOAST_DATUM(value) : PG_DETOAST_DATUM_SLICE(value, 0, header_bytes);
    memcpy(header, VARDATA_ANY(start), std::min<std::size_t>(VARSIZE_ANY_EXHDR(start), header_bytes));
    head.size = static_cast<std::uint32_t>(toast_raw_datum_size(value) - VARHDRSZ);
    if (self.scan->computed) {
        constexpr char padding[MAXIMUM_ALIGNOF] = {}; // slots must be aligned
        keep(self, head, VARDATA(start), head.size);
        bulk::append(*self.values, padding, MAXALIGN(head.size) - head.size);
    }
}

// Serializes a column after the first `bytes` bytes of the record, and adds to `bytes`.
void add_column(recorder& self, TupleTableSlot* slot, int column, Datum value, bool null, std::size_t& bytes)
{
    const Form_pg_attribute type = TupleDescAttr(slot->tts_tupleDescriptor, column - 1);
    const std::size_t more = datumEstimateSpace(value, null, type->attbyval, type->attlen);
    bulk::grow(*self.host, self.record, bytes, bytes + more);
    char* at = self.record.values + bytes;
    datumSerialize(value, null, type->attbyval, type->attlen, &at);
    bytes += more;
}

void append_record(recorder& self, TupleTableSlot* slot, row_head head, Datum id, Datum value)
{
    std::uint8_t header[header_bytes] = {};
    if (!self.scan->from_texts && head.content != row_content::null)
        record_signature(self, head, value, header);
    else if (head.content != row_content::null)
        record_text(self, head, value);
    bulk::grow(*self.host, self.record, 0, sizeof(head) + sizeof(header));
    memcpy(self.record.values, &head, sizeof(head));
    memcpy(self.record.values + sizeof(head), header, sizeof(header));
    std::size_t bytes = sizeof(head) + (self.scan->from_texts ? 0 : sizeof(header));
    add_column(self, slot, 1, id, false, bytes);
    for (const int column : {self.scan->scope_column, self.scan->rank_column})
        if (column > 0) {
            bool null;
            const Datum other = slot_getattr(slot, column, &null);
            add_column(self, slot, column, other, null, bytes);
        }
    bulk::append(*self.rows, self.record.values, bytes);
}

// What a process has left, to be merged.
struct left_rows {
    bulk::byte_store* rows;
    bulk::byte_store* stretches;
    std::size_t values; // the number of the store of computed values (scanned_row)
    std::uint64_t next; // the next stretch's number
    stretch first;      // the next stretch
    bool ended;
};

void go_on(left_rows& left)
{
    left.ended = left.next * sizeof(stretch) == left.stretches->size;
    if (!left.ended)
        left.first = bulk::fetch_value<stretch>(*left.stretches, left.next++);
}

Datum restore(const char*& at, bool& null)
{
    char* from = const_cast<char*>(at); // not written to
    const Datum value = datumRestore(&from, &null);
    at = from;
    return value;
}

void take_stretch(bulk_call& call, const char* at, std::uint32_t rows, std::size_t values)
{
    for (std::uint32_t i = 0; i < rows; i++) {
        bulk::pause(call);
        MemoryContextReset(call.row_memory);
        const MemoryContext former = MemoryContextSwitchTo(call.row_memory);
        row_head head;
        memcpy(&head, at, sizeof(head));
        at += sizeof(head);
        scanned_row row = {head.location, values, head.size, head.content, at, 0, 0, 0, true, true};
        if (!call.from_texts)
            at += header_bytes;
        bool no_id;
        row.id = restore(at, no_id);
        if (call.scope_column > 0)
            row.scope = restore(at, row.no_scope);
        if (call.rank_column > 0)
            row.rank = restore(at, row.no_rank);
        MemoryContextSwitchTo(former);
        take_scanned_row(call, row);
    }
}

// Hands the stores of computed values over to the call, and returns the number that the first store has there.
std::size_t adopt_values(bulk_call& call, const shared_scan& scan)
{
    const std::size_t before = call.value_count;
    const auto* const notes = bulk::find_shared<bulk::store_note>(call, scan.values);
    for (int i = 0; notes != nullptr && i < call.processes; i++)
        bulk::add(call, call.values, call.value_count, bulk::adopt_store(call.budget, notes[i]));
    return before;
}

} // namespace

recorder& start_recording(bulk_host& host, shared_scan& scan)
{
    recorder& self = *bulk::allocate<recorder>(host);
    self = {};
    self.host = &host;
    self.scan = &scan;
    self.last = InvalidBlockNumber;
    self.budget = bulk::make_budget(host, scan.allowance / scan.processes);
    if (scan.from_texts)
        self.signer = bulk::make_signer(host, scan.texts);
    const std::size_t chunk = bulk::chunk_for(self.budget, 3, 1024 * 1024);
    self.rows = bulk::open_shared_store(self.budget, chunk, bulk::reading::in_order);
    self.stretches =
        bulk::open_shared_store(self.budget, std::min<std::size_t>(chunk, 64 * 1024), bulk::reading::in_order);
    if (scan.computed)
        self.values = bulk::open_shared_store(self.budget, bulk::chunk_for(self.budget, 3, scan.values_chunk));
    return self;
}

void record_row(recorder& self, TupleTableSlot* slot, const ItemPointerData& at)
{
    bool no_id;
    bool no_value;
    const Datum id = slot_getattr(slot, 1, &no_id);
    const Datum value = slot_getattr(slot, 2, &no_value);
    if (no_id || (no_value && !self.scan->lone_ids)) {
        self.skipped++;
        return;
    }
    const BlockNumber block = ItemPointerGetBlockNumber(&at);
    const bool adjacent = block == self.last || block == self.last + 1;
    if (!adjacent || self.current.rows == most_rows_of_stretch)
        end_stretch(self);
    if (self.current.rows == 0)
        self.current = {self.rows->size, 0, 0, block};
    const row_head head = {self.scan->computed ? 0 : location_at(self.scan->table, at),
                           0,
                           no_value ? row_content::null : row_content::value};
    append_record(self, slot, head, convert_id(self.scan->short_id, id), value);
    self.current.rows++;
    self.last = block;
}

void end_recording(recorder& self)
{
    end_stretch(self);
    const auto leave = [&self](bulk::byte_store* store, bulk::shared_number notes) {
        bulk::leave_store(store, bulk::find_shared<bulk::store_note>(*self.host, notes)[self.host->member]);
    };
    std::atomic_ref(self.scan->skipped).fetch_add(self.skipped, std::memory_order_relaxed);
    leave(self.rows, self.scan->rows);
    leave(self.stretches, self.scan->stretches);
    if (self.scan->computed)
        leave(self.values, self.scan->values);
}

void merge_records(bulk_call& call, const shared_scan& scan)
{
    const auto* const rows = bulk::find_shared<bulk::store_note>(call, scan.rows);
    const auto* const stretches = bulk::find_shared<bulk::store_note>(call, scan.stretches);
    const std::size_t values = adopt_values(call, scan);
    bulk::memory_budget budget = bulk::make_budget(call, scan.allowance);
    left_rows parts[most_members];
    const std::span all(parts, static_cast<std::size_t>(call.processes));
    for (std::size_t i = 0; i < all.size(); i++) {
        all[i] = {bulk::open_view(budget, rows[i]),
                  bulk::open_view(budget, stretches[i]),
                  scan.computed ? values + i : in_table,
                  0,
                  {},
                  false};
        go_on(all[i]);
    }
    bulk::growing<char> buffer = {};
    const auto is_before = [](const left_rows& a, const left_rows& b) {
        return a.ended != b.ended ? b.ended : a.first.first < b.first.first;
    };
    for (;;) {
        left_rows& next = *std::min_element(all.begin(), all.end(), is_before);
        if (next.ended)
            break;
        const stretch taken = next.first;
        if (!bulk::in_place(*next.rows, taken.offset, taken.bytes))
            bulk::grow(call, buffer, 0, taken.bytes);
        const void* const records = bulk::fetch(*next.rows, taken.offset, taken.bytes, buffer.values);
        take_stretch(call, static_cast<const char*>(records), taken.rows, next.values);
        go_on(next);
    }
    bulk::release(call, buffer.values);
    for (std::size_t i = 0; i < all.size(); i++) {
        bulk::close_view(all[i].rows);
        bulk::close_view(all[i].stretches);
        bulk::free_noted(call, rows[i]);
        bulk::free_noted(call, stretches[i]);
    }
}

} // namespace minhash::pg
