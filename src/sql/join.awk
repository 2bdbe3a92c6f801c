# Joins the parts of the install script. The lines between one or more of `-- each: WORD...` and `-- end` are written
# once for each word, which stands for every @.
FNR == 1 && NR > 1 { print "" }
/^-- each: / {
    words = words " " substr($0, 10)
    next
}
words != "" && /^-- end$/ {
    count = split(words, word, " ")
    for (i = 1; i <= count; i++) {
        copy = lines
        gsub(/@/, word[i], copy)
        printf "%s", copy
    }
    words = lines = ""
    next
}
words != "" {
    lines = lines $0 "\n"
    next
}
{ print }
