"""All near-duplicate pairs by datasketch, as its documentation shows: datasketch_pairs.py CHECKOUT TEXTS PAIRS

TEXTS has a line "id<TAB>text" each; a line "left_id<TAB>right_id" for each pair with an estimate of 0.8 or more is written
to PAIRS. Prints the seconds of signing, those of finding, and the peak of memory in MB. Texts are sets of five
characters, with case folded.
"""
import resource
import sys
import time

sys.path.insert(0, sys.argv[1])
from datasketch import MinHash, MinHashLSH  # noqa: E402

texts = [line.rstrip("\n").split("\t") for line in open(sys.argv[2], encoding="utf-8")]
begun = time.monotonic()
shingles = ([text[i:i + 5].encode() for i in range(len(text) - 4)] for text in (text.lower() for _, text in texts))
signatures = list(MinHash.bulk(shingles, num_perm=128))
signed = time.monotonic()
index = MinHashLSH(threshold=0.8, num_perm=128, params=(13, 7))
with open(sys.argv[3], "w", encoding="ascii") as pairs:
    for place, signature in enumerate(signatures):
        for other in index.query(signature):
            if signature.jaccard(signatures[other]) >= 0.8:
                pairs.write(f"{texts[other][0]}\t{texts[place][0]}\n")
        index.insert(place, signature)
memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
print(f"{signed - begun:.1f} {time.monotonic() - signed:.1f} {memory}")
