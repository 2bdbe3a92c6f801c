#!/usr/bin/env bash
# The expressions and the predicate of an index are code of the table's owner. src/README.md says where they may be
# computed; nothing else in the library calls what computes them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
status=0

computing='BuildIndexInfo|FormIndexDatum|table_index_(build|validate)[a-z_]*scan|RelationGetIndex(Expressions|Predicate)'
computing+='|ExecPrepare(Expr|Qual)|ExecInit(Expr|Qual)'
# build.cpp: ambuild. constraint.cpp: a constraint, while its row is inserted. check_table.cpp: lsh_check().
allowed='^src/pg/index/(write/build|read/constraint|check/check_table)\.cpp:'
found=$(grep -rnE --include='*.cpp' --include='*.h' "\b($computing)\(" src/pg src/bulk src/core || true)
if wrong=$(grep -vE "$allowed" <<<"$found") && [[ -n $wrong ]]; then
    echo "expressions of an index may not be computed here:"
    printf '%s\n' "$wrong"
    status=1
fi
for file in write/build read/constraint check/check_table; do
    if ! grep -q "^src/pg/index/$file\.cpp:" <<<"$found"; then
        echo "src/pg/index/$file.cpp computes no expressions: take it out of this lint"
        status=1
    fi
done

# Only lsh_check() checks a table. It does so between becoming the owner and becoming the caller again.
calls=$(grep -rnE --include='*.cpp' '\bcheck_table\(' src/pg | grep -v '^src/pg/index/check/check_table\.cpp:' || true)
if (($(wc -l <<<"$calls") != 1)) ||
    ! awk '/begin_as_owner\(table->rd_rel->relowner\)/ { owner = 1 }
        /check_table\(/ && owner { found = 1 }
        /end_as_owner\(/ { owner = 0 }
        END { exit !found }' src/pg/index/check/check.cpp; then
    echo "check_table() is to be called once, by lsh_check(), between begin_as_owner() and end_as_owner(); it is called:"
    printf '%s\n' "$calls"
    status=1
fi
exit $status
