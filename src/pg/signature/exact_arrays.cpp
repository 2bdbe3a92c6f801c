// Exact similarities of arrays, as sets or bags of elements. The elements are sorted and compared by the btree
// operators of their type.
#include "pg/extension.h"

#include "core/exact.h"

#include <algorithm>

extern "C" {
#include "catalog/pg_collation.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/lsyscache.h"
}

namespace minhash::pg {

namespace {

// How elements are sorted. Under every deterministic collation, elements are equal only if their bytes are equal. So
// all such collations can be replaced by C, which is the fastest.
SortSupportData element_order(FunctionCallInfo fcinfo, Oid element)
{
    require_order(element,
                  "Elements are compared by the type's default btree operator class.",
                  "Cast the arrays to a type that has one, such as text[].");
    const Oid given = PG_GET_COLLATION();
    return order_of(element, OidIsValid(given) && !get_collation_isdeterministic(given) ? given : C_COLLATION_OID);
}

int compare(const void* a, const void* b, void* order)
{
    return ApplySortComparator(*static_cast<const Datum*>(a),
                               false,
                               *static_cast<const Datum*>(b),
                               false,
                               static_cast<SortSupport>(order));
}

// The non-NULL elements of an array, sorted.
std::span<Datum> sorted_elements(ArrayType* array, SortSupportData& order)
{
    const std::size_t most = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
    auto* const elements =
        static_cast<Datum*>(MemoryContextAllocHuge(CurrentMemoryContext, (most + 1) * sizeof(Datum)));
    std::size_t count = 0;
    const ArrayIterator walk = array_create_iterator(array, 0, nullptr);
    Datum element;
    for (bool null; array_iterate(walk, &element, &null);) {
        CHECK_FOR_INTERRUPTS();
        if (!null)
            elements[count++] = element;
    }
    array_free_iterator(walk);
    qsort_interruptible(elements, count, sizeof(Datum), compare, &order);
    return {elements, count};
}

// The number of consecutive equal elements, starting with the one at index `at`.
std::size_t equal_ones(std::span<const Datum> sorted, std::size_t at, SortSupportData& order)
{
    std::size_t end = at + 1;
    while (end < sorted.size() && compare(&sorted[at], &sorted[end], &order) == 0) {
        CHECK_FOR_INTERRUPTS();
        end++;
    }
    return end - at;
}

// The sizes of two arrays and of their intersection: as bags if the third argument is true, otherwise as sets.
overlap measure_arguments(FunctionCallInfo fcinfo)
{
    const bool bag = PG_GETARG_BOOL(2);
    ArrayType* const arrays[] = {PG_GETARG_ARRAYTYPE_P(0), PG_GETARG_ARRAYTYPE_P(1)};
    SortSupportData order = element_order(fcinfo, ARR_ELEMTYPE(arrays[0]));
    const std::span<Datum> a = sorted_elements(arrays[0], order);
    const std::span<Datum> b = sorted_elements(arrays[1], order);

    overlap sizes = {0, 0, 0};
    for (std::size_t at_a = 0, at_b = 0; at_a < a.size() || at_b < b.size();) {
        CHECK_FOR_INTERRUPTS();
        const int first = at_a == a.size() ? 1 : at_b == b.size() ? -1 : compare(&a[at_a], &b[at_b], &order);
        const std::size_t in_a = first <= 0 ? equal_ones(a, at_a, order) : 0;
        const std::size_t in_b = first >= 0 ? equal_ones(b, at_b, order) : 0;
        at_a += in_a;
        at_b += in_b;
        sizes.first += bag ? in_a : in_a > 0;
        sizes.second += bag ? in_b : in_b > 0;
        sizes.shared += bag ? std::min(in_a, in_b) : first == 0;
    }
    pfree(a.data());
    pfree(b.data());
    PG_FREE_IF_COPY(arrays[0], 0);
    PG_FREE_IF_COPY(arrays[1], 1);
    return sizes;
}

} // namespace

// element_jaccard(a, b, bag) -> float8: size of the intersection over size of the union; 0 if both arrays are empty.
MINHASH_FUNCTION(element_jaccard) { PG_RETURN_FLOAT8(jaccard(measure_arguments(fcinfo))); }

// element_containment(a, b, bag) -> float8: the share of the first array's elements that are also in the second array;
// 0 if the first array is empty.
MINHASH_FUNCTION(element_containment) { PG_RETURN_FLOAT8(containment(measure_arguments(fcinfo))); }

} // namespace minhash::pg
