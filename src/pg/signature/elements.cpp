// minhash_elements(): signatures of sets that users pass as arrays or tsvectors.
#include "pg/arguments.h"
#include "pg/signature/members.h"
#include "pg/signer.h"

#include "core/kernels.h"

#include <algorithm>
#include <utility>

extern "C" {
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "tsearch/ts_type.h"
#include "utils/array.h"
#include "utils/uuid.h"
}

namespace minhash::pg {

namespace {

constexpr std::size_t members_at_once = 1024;

// Positions of the arguments of minhash_elements().
enum { elements, num_hashes, seed, method_name, bag };

// The unread members of an array. (An array stores its non-NULL members side by side.)
struct array_members {
    const char* at;
    std::size_t left;
};

array_members members_of(ArrayType* array)
{
    const int items = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
    std::size_t count = static_cast<std::size_t>(items);
    if (const std::uint8_t* const present = ARR_NULLBITMAP(array); present != nullptr) {
        const std::uint8_t last = items % 8 == 0 ? 0 : present[items / 8] & ((1 << items % 8) - 1);
        count = pg_popcount(reinterpret_cast<const char*>(present), items / 8) + pg_number_of_ones[last];
    }
    return {ARR_DATA_PTR(array), count};
}

// The signer of one call site in a query.
struct element_signer : set_signer {
    MemoryContext memory; // memory for bags
    Oid type;             // the type of array elements; InvalidOid: not known yet
    Oid member;           // array elements are hashed as values of this type
};

// The functions below hash the next members of an array into the signer's batch. Each is for certain types of members.

template <typename Integer>
void take_integers(array_members& members, set_signer& self)
{
    alignas(64) std::int64_t values[members_at_once + padding];
    const std::size_t count = std::min(members.left, members_at_once);
    std::copy_n(reinterpret_cast<const Integer*>(members.at), count, values);
    kernels->hash_integers(values, count, self.scheme.seed, self.batch.lo, self.batch.hi);
    self.batch.count = count;
    members = {members.at + count * sizeof(Integer), members.left - count};
}

// hash_next() hashes the next member, and moves to the one after it.
template <auto hash_next>
void take_bytes(array_members& members, set_signer& self)
{
    const std::size_t count = std::min(members.left, members_at_once);
    for (std::size_t index = 0; index < count; index++)
        split(hash_next(members.at, self.scheme.seed), self.batch.lo[index], self.batch.hi[index]);
    self.batch.count = count;
    members.left -= count;
}

std::uint64_t hash_next_uuid(const char*& at, std::int64_t seed)
{
    const auto* const bytes = reinterpret_cast<const std::uint8_t*>(std::exchange(at, at + UUID_LEN));
    return hash_bytea({bytes, UUID_LEN}, seed);
}

template <auto hash>
std::uint64_t hash_next_varlena(const char*& at, std::int64_t seed)
{
    const auto* const value = reinterpret_cast<const struct varlena*>(INTALIGN(at));
    at = reinterpret_cast<const char*>(value) + VARSIZE_ANY(value);
    return hash(bytes_of(value), seed);
}

// The signer of this call site in the query. The arguments after the set determine its scheme.
element_signer& arg_signer(FunctionCallInfo fcinfo)
{
    kept<element_signer>& kept = kept_of<element_signer>(fcinfo);
    element_signer& self = kept.signer;
    if (!kept.parsed) {
        self.type = InvalidOid;
        self.scheme = arg_element_scheme(fcinfo, num_hashes, PG_GETARG_BOOL(bag));
        kept.parsed = args_are_constant(fcinfo, num_hashes, bag);
    }
    return self;
}

// An array as a source for sign(). take() hashes its next members.
template <auto take>
struct array_source {
    element_signer& signer;
    array_members all;
    array_members left;

    std::size_t bytes() const { return all.left; }

    std::uint32_t* grow(std::uint32_t* old, std::size_t words) const { return grow_bag(signer.memory, old, words); }

    void rewind() { left = all; }

    bool next_batch()
    {
        CHECK_FOR_INTERRUPTS();
        take(left, signer);
        return left.left == 0;
    }
};

template <auto take>
std::span<const std::uint32_t> sign_members(element_signer& self, const array_members& all)
{
    return sign(array_source<take>{self, all, all});
}

} // namespace

// minhash_elements(elements, num_hashes, seed, method, bag) -> minhash_signature
MINHASH_FUNCTION(minhash_elements)
{
    element_signer& self = arg_signer(fcinfo);
    ArrayType* const array = PG_GETARG_ARRAYTYPE_P(elements);
    if (self.type != ARR_ELEMTYPE(array)) {
        self.member = member_type(ARR_ELEMTYPE(array));
        self.type = ARR_ELEMTYPE(array);
    }
    const auto sign = self.member == INT2OID    ? sign_members<take_integers<std::int16_t>>
                      : self.member == INT4OID  ? sign_members<take_integers<std::int32_t>>
                      : self.member == INT8OID  ? sign_members<take_integers<std::int64_t>>
                      : self.member == UUIDOID  ? sign_members<take_bytes<hash_next_uuid>>
                      : self.member == BYTEAOID ? sign_members<take_bytes<hash_next_varlena<hash_bytea>>>
                                                : sign_members<take_bytes<hash_next_varlena<hash_text>>>;
    const std::span<const std::uint32_t> slots = sign(self, members_of(array));
    PG_FREE_IF_COPY(array, elements);
    return make_signature({self.scheme, slots});
}

// minhash_elements(lexemes, num_hashes, seed, method, bag) -> minhash_signature. In a bag, each position of a lexeme
// counts as one occurrence of the lexeme, and a lexeme without positions occurs once.
MINHASH_FUNCTION(minhash_elements_of_lexemes)
{
    set_signer& self = arg_signer(fcinfo);
    const TSVector lexemes = PG_GETARG_TSVECTOR(elements);
    shingle_batch& batch = self.batch;
    batch.count = 0;
    start(self.slots, self.scheme.method, self.scheme.num_hashes);
    const auto absorb_batch = [&self, &batch] {
        CHECK_FOR_INTERRUPTS();
        absorb(self.slots, batch.lo, batch.hi, batch.count);
    };
    for (int index = 0; index < lexemes->size; index++) {
        WordEntry* const entry = ARRPTR(lexemes) + index;
        const auto* const bytes = reinterpret_cast<const std::uint8_t*>(STRPTR(lexemes) + entry->pos);
        const std::uint64_t hash = hash_text({bytes, entry->len}, self.scheme.seed);
        const std::uint32_t occurrences = self.scheme.shingles.bag && entry->haspos ? POSDATALEN(lexemes, entry) : 1;
        for (std::uint32_t occurrence = 0; occurrence < occurrences; occurrence++) {
            split(hash_occurrence(hash, occurrence), batch.lo[batch.count], batch.hi[batch.count]);
            if (++batch.count == members_at_once) {
                absorb_batch();
                batch.count = 0;
            }
        }
    }
    absorb_batch();
    PG_FREE_IF_COPY(lexemes, elements);
    return make_signature({self.scheme, signed_slots(self)});
}

} // namespace minhash::pg
