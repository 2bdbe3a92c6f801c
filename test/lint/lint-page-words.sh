#!/usr/bin/env bash
# The pages of doc/ stay short enough to be read: all words before the headings "Details", with code and results, are
# counted, and there may be this many. Below "Details", after a line, a page has what few readers need: at most a third
# of the page. (doc/distributed is for few readers as a whole.) No cell of a table has more than 40 words, and neither
# has an element of a list in the reference.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
budget=21000

awk -v budget="$budget" '
    function limit(words) {
        if (words > 40) { printf "%s:%d: a cell or an element of %d words\n", FILENAME, FNR, words; bad = 1 }
    }
    FNR == 1             { details = 0; pages[FILENAME] }
    /^## Details$/       { details = 1; if (before != "---") { print FILENAME ": no line (---) before \"Details\""; bad = 1 } }
    $0 != ""             { before = $0 }
    /^\|/                { cells = split($0, cell, /\|/); for (i = 1; i <= cells; i++) limit(split(cell[i], words, " ")) }
    /^ *(- |$|\||#|```)/ { limit(element); element = 0 }
    /^ *- / || element   { element = FILENAME ~ /reference/ ? element + NF : 0 }
                         { if (details) below[FILENAME] += NF; else front[FILENAME] += NF }
    END {
        for (page in pages) {
            all += front[page]
            if (3 * below[page] > front[page] + below[page]) {
                printf "%s: %d of %d words are below \"Details\", more than a third\n", page, below[page],
                    front[page] + below[page]
                bad = 1
            }
        }
        if (all > budget) { printf "%d words in doc/*.md before \"Details\", more than %d\n", all, budget; bad = 1 }
        else printf "%d of %d words\n", all, budget
        exit bad
    }' doc/*.md
