#include "pg/arguments.h"
#include "pg/errors.h"
#include "pg/index/keys.h"
#include "pg/index/options.h"

#include <algorithm>

extern "C" {
#include "access/reloptions.h"
#include "utils/rel.h"
}

namespace minhash::pg::lsh {

namespace {

struct index_options {
    std::int32_t length; // a varlena's
    int bands;           // 0: not given
    int rows;
    double threshold; // negative: not given
};

relopt_kind option_kind;

// 23 bands are the fewest that find 95% at a similarity of 0.5 by 3 rows, and at 0.6 by 4.
constexpr int default_bands = 23;
constexpr int default_rows = 5;

// The members that later versions add stay zero.
relopt_parse_elt option(const char* name, relopt_type type, int offset)
{
    relopt_parse_elt made = {};
    made.optname = name;
    made.opttype = type;
    made.offset = offset;
    return made;
}

} // namespace

void define_options()
{
    option_kind = add_reloption_kind();
    add_int_reloption(option_kind,
                      "bands",
                      "number of bands",
                      0,
                      1,
                      max_num_hashes,
                      ShareUpdateExclusiveLock);
    add_int_reloption(option_kind,
                      "rows",
                      "rows of a band",
                      0,
                      1,
                      max_rows,
                      ShareUpdateExclusiveLock);
    add_real_reloption(option_kind,
                       "threshold",
                       "least similarity of rows that an exclusion constraint refuses",
                       -1,
                       0,
                       1,
                       ShareUpdateExclusiveLock);
}

bytea* parse_options(Datum given, bool validate)
{
    const relopt_parse_elt known[] = {
        option("bands", RELOPT_TYPE_INT, offsetof(index_options, bands)),
        option("rows", RELOPT_TYPE_INT, offsetof(index_options, rows)),
        option("threshold", RELOPT_TYPE_REAL, offsetof(index_options, threshold)),
    };
    const auto* const options =
        static_cast<const index_options*>(build_reloptions(given,
                                                           validate,
                                                           option_kind,
                                                           sizeof(index_options),
                                                           known,
                                                           lengthof(known)));
    if (validate && options != nullptr && (options->bands == 0) != (options->rows == 0))
        fail_half_banding();
    return reinterpret_cast<bytea*>(const_cast<index_options*>(options));
}

double threshold_option(Relation index)
{
    const auto* const options = reinterpret_cast<const index_options*>(index->rd_options);
    return options != nullptr ? options->threshold : -1;
}

banding shape_for(Relation index, const scheme& scheme)
{
    const auto* const options = reinterpret_cast<const index_options*>(index->rd_options);
    if (options != nullptr && options->bands > 0 && options->rows > 0) {
        const banding shape = {options->bands, options->rows};
        check_bands(shape, scheme);
        return shape;
    }
    // With few hashes, at least 5 bands: then even half of the slots in common lead somewhere.
    const int rows = std::min(default_rows, scheme.num_hashes / 5);
    return {std::min(default_bands, scheme.num_hashes / rows), rows};
}

} // namespace minhash::pg::lsh
