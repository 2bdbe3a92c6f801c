// The only file that includes PostgreSQL's headers. The glue turns Datums into the core's spans
// and values and back; nothing in it has a destructor, so that an error may leave from anywhere.
#pragma once

// Standard headers first: PostgreSQL's port.h redefines printf and its relatives.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <sys/mman.h>

extern "C" {
#include "postgres.h"

#include "access/amapi.h"
#include "access/genam.h"
#include "access/generic_xlog.h"
#include "access/gin.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/reloptions.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "access/xloginsert.h"
#include "catalog/dependency.h"
#include "catalog/index.h"
#include "catalog/namespace.h"
#include "catalog/objectaddress.h"
#include "catalog/partition.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_extension.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_opclass.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_statistic.h"
#include "catalog/pg_trigger.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "commands/progress.h"
#include "commands/tablespace.h"
#include "commands/trigger.h"
#include "commands/vacuum.h"
#include "common/hashfn.h"
#include "common/shortest_dec.h"
#include "executor/executor.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "funcapi.h"
#include "lib/stringinfo.h"
#include "libpq/pqformat.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "nodes/supportnodes.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "parser/parse_coerce.h"
#include "pgstat.h"
#include "port/atomics.h"
#include "port/pg_bitutils.h"
#include "storage/bufmgr.h"
#include "storage/fd.h"
#include "storage/freespace.h"
#include "storage/indexfsm.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "storage/proc.h"
#include "tsearch/ts_type.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/backend_progress.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/float.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/plancache.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/resowner.h"
#include "utils/rls.h"
#include "utils/selfuncs.h"
#include "utils/snapmgr.h"
#include "utils/sortsupport.h"
#include "utils/spccache.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"
#include "utils/typcache.h"
#include "utils/uuid.h"
#include "utils/wait_event.h"
}

#include "pg/compat.h"

#include "core/codec.h"
#include "core/scheme.h"

// Defines a function that SQL can call. The name is that of the SQL function; both symbols are
// exported whatever -fvisibility says.
#define MINHASH_FUNCTION(name)                                                                     \
    extern "C" {                                                                                   \
    [[gnu::visibility("default")]] const Pg_finfo_record* pg_finfo_##name();                       \
    [[gnu::visibility("default")]] Datum name(PG_FUNCTION_ARGS);                                   \
    const Pg_finfo_record* pg_finfo_##name()                                                       \
    {                                                                                              \
        static const Pg_finfo_record info = {1};                                                   \
        return &info;                                                                              \
    }                                                                                              \
    }                                                                                              \
    Datum name(PG_FUNCTION_ARGS)

namespace minhash::pg {

// Memory for a struct that wants more than MAXALIGN, in the given context.
template <typename Value>
Value* allocate(MemoryContext context)
{
    char* const raw =
        static_cast<char*>(MemoryContextAlloc(context, sizeof(Value) + alignof(Value)));
    return reinterpret_cast<Value*>(TYPEALIGN(alignof(Value), raw));
}

// Whether arguments are constants of the query, so that they are the same in every call. (A
// parameter is not: PL/pgSQL runs one prepared expression with many values.)
bool args_are_constant(FunctionCallInfo fcinfo, int first, int last);

// What an argument of type internal points to.
template <typename Value>
Value* arg_internal(FunctionCallInfo fcinfo, int argument)
{
    return reinterpret_cast<Value*>(PG_GETARG_DATUM(argument));
}

// Reads stored bytes; an ERROR if they are damaged.
signature decode_stored(std::span<const std::uint8_t> bytes);

// The signature in an argument, detoasted.
signature arg_signature(FunctionCallInfo fcinfo, int argument);

// The same, an ERROR if it is compressed; `result` names what cannot be made of it then.
signature arg_whole_signature(FunctionCallInfo fcinfo, int argument, const char* result);

// A new varlena.
Datum make_signature(const signature& value);

// The row that a function with OUT parameters returns; all of them are not null.
Datum make_row(FunctionCallInfo fcinfo, std::span<Datum> values);

// The rows that a set-returning function returns. (The row type is the one that the query expects:
// looking it up anew would leave its memory to the query's end in each call.)
ReturnSetInfo& start_rows(FunctionCallInfo fcinfo);

Datum make_bigint_array(std::span<Datum> values);

// The arguments shingle_size, unit, fold and bag, from `first` on; an ERROR if one is out of range.
shingling arg_shingling(FunctionCallInfo fcinfo, int first);

unit arg_unit(FunctionCallInfo fcinfo, int argument);

method arg_method(FunctionCallInfo fcinfo, int argument);

// An integer argument; an ERROR if it is not between the two.
int arg_between(FunctionCallInfo fcinfo, int argument, const char* name, int least, int most);

// A probability or similarity, an ERROR if it is NaN or not between 0 and 1.
double arg_fraction(FunctionCallInfo fcinfo, int argument, const char* name);

// What bands and rows are chosen for; an ERROR if nothing can be.
struct aim {
    double threshold;
    double recall;
};

aim arg_aim(FunctionCallInfo fcinfo, int threshold, int recall);

// bands and rows, both at least 1, as two consecutive arguments.
struct banding {
    int bands;
    int rows;
};

banding arg_banding(FunctionCallInfo fcinfo, int first);

// An ERROR if bands * rows is more than num_hashes.
void check_hashes(banding shape, int num_hashes);

// An ERROR if signatures of this scheme cannot be banded so (core/bands.h).
void check_bands(banding shape, const scheme& scheme);

} // namespace minhash::pg
