// The rows of a user's query, (id, signature) or (id, text), as the bulk functions want them: ids,
// signatures, texts to be compared exactly, and the halves of the band keys, each in a store of its
// own that goes to a temporary file when memory is short. Rows are numbered from 0 as they come.
#pragma once

#include "pg/bulk/progress.h"
#include "pg/bulk/spill.h"
#include "pg/signer.h"

namespace minhash::pg {

enum class verification { by_default, estimate, exact };

// What a bulk function was asked for.
struct bulk_request {
    double threshold;
    double recall;
    banding shape; // bands = 0: threshold and recall choose
    verification verify;
    int max_bucket; // 0: no limit
    scheme texts;   // how texts are signed
    Oid id_type;    // InvalidOid: that of the query
    bool ranked;    // the query has a third column
    bool lone_ids;  // ids of empty and NULL texts are wanted, too
};

// Values of one type.
struct datum_store {
    Oid type;
    std::int16_t length;
    bool by_value;
    byte_store values; // Datums; of types by reference, where they are
    byte_store bytes;
};

Datum fetch_datum(datum_store& store, std::uint32_t row, bool& null);

struct bulk_rows {
    bulk_request wanted;
    MemoryContext memory;
    memory_budget budget;

    bool exact;      // texts are kept, to be compared
    bool from_texts; // else from signatures
    bool scheme_known;
    minhash::scheme scheme;            // of all signatures
    std::uint8_t header[header_bytes]; // of the first that came stored, and its size
    std::size_t header_size;
    banding shape;

    std::uint32_t count;
    std::uint32_t first_count; // rows of the first of two queries
    std::uint64_t skipped;     // NULL id or signature

    datum_store ids;
    datum_store ranks;
    datum_store lone_ids; // of rows that are not counted, as they are near nothing
    std::uint32_t lone_count;
    byte_store slots;
    byte_store* keys; // of each band; behind them, of the whole signature
    byte_store documents;
    byte_store document_at; // offset and size of each

    Oid signature_type;
    Oid short_id; // smallint or integer where bigint is wanted; else none
    signer* signing;
    MemoryContext row_memory;
    progress reading;
};

// The arguments that lsh_pairs() and lsh_clusters() share, in their order.
enum bulk_argument {
    arg_query,
    arg_threshold,
    arg_recall,
    arg_bands,
    arg_rows,
    arg_verify,
    arg_max_bucket,
    arg_num_hashes,               // the first of a scheme's seven
    arg_own = arg_num_hashes + 7, // the first that the other function does not have
};

// A call of one of the two forms of a function. The typed form has one argument more, after the
// query: a value of the type of the ids. It has no name, as PostgreSQL finds the types of result
// columns by the order of arguments in the call.
struct bulk_call {
    FunctionCallInfo fcinfo;
    bool typed;
};

// The position of a shared argument, or of arg_own + n.
inline int position_of(const bulk_call& call, int argument)
{
    return argument + (call.typed && argument > arg_query ? 1 : 0);
}

// Reads the shared arguments; an ERROR if one of them is wrong.
bulk_request arg_bulk(const bulk_call& call);

bulk_rows* start_bulk(FunctionCallInfo fcinfo, const bulk_request& wanted);

// Runs a query as the user and takes its rows. Between SPI_connect() and SPI_finish().
void read_query(bulk_rows& rows, const char* query);

// What became of rows that were not taken, and of memory that did not suffice, is told once.
void end_reading(bulk_rows& rows);

// The signature of a row, where it lies or in the buffer.
inline const void* fetch_slots(bulk_rows& rows, std::uint32_t row, void* buffer)
{
    const std::size_t bytes = slot_bytes(rows.scheme.bits, rows.scheme.num_hashes);
    return fetch(rows.slots, row * bytes, bytes, buffer);
}

// The text of a row; `buffer` is enlarged where it must be copied.
struct text_buffer {
    char* bytes;
    std::size_t room;
};

const text* fetch_text(bulk_rows& rows, std::uint32_t row, text_buffer& buffer);

} // namespace minhash::pg
