# Makes the section of one suite in doc/programs.md of the file "differences" and of its result
# files SUITE.MODE; see run-programs.  With -v every=1 it ends with a line per test.  The exit status
# is 1 when a test does worse than with the plain MPI library and is not explained.

FNR == 1 {
    file = FILENAME
    sub(/.*\//, "", file)
    known = file == "differences"
    suite = mode = file
    sub(/\.[a-z]*$/, "", suite)
    sub(/.*\./, "", mode)
    if (!known)
        ran[mode] = 1
}

/^#/ || NF == 0 { next }

# SUITE TEST MODES why
known {
    why = $0
    sub(/^[^ \t]+[ \t]+[^ \t]+[ \t]+[^ \t]+[ \t]+/, "", why)
    n = split($3, m, ",")
    for (i = 1; i <= n; i++)
        explained[$1, $2, m[i]] = why
    next
}

$1 == "VERSION" { sub(/^VERSION /, ""); version = $0; next }

# What was run with.
$1 == "WITH" {
    sub(/^WITH /, "")
    if (!($0 in with))
        withs = withs (withs == "" ? "" : "; ") $0
    with[$0] = 1
    next
}

{
    if (!($2 in seen)) {
        seen[$2] = 1
        tests[++ntests] = $2
    }
    name = $2
    result[name, mode] = $1
    count[mode, $1]++
    sub(/^[A-Z]+ [^ ]+ ?/, "")
    reason[name, mode] = $0
}

function cell(text) {
    gsub(/\|/, "\\|", text)
    # Names of directories made for one run say nothing.
    gsub(/\/[^ :]*zcache-programs\.[A-Za-z0-9]+/, "...", text)
    gsub(/0x[0-9a-f]+/, "0x...", text)
    return text
}

# Tests for which the result of a mode differs from plain: those that are worse, and how many are not.
function differences(    i, j, t, m, base, row, text, n, better) {
    for (i = 1; i <= ntests; i++)
        for (j = 2; j <= 4; j++) {
            t = tests[i]
            m = modes[j]
            row = result[t, m]
            base = result[t, "plain"]
            if (row == "" || base == "" || row == base)
                continue
            if (row == "PASS") {
                better++
                continue
            }
            if ((suite, t, m) in explained)
                text = explained[suite, t, m]
            else {
                text = "**not explained**"
                if (row == "FAIL")
                    bad = 1
            }
            if (!n++)
                printf "\nWorse than with the plain MPI library:\n\n" \
                    "| test | mode | plain | here | says | why |\n|---|---|---|---|---|---|\n"
            printf "| %s | %s | %s | %s | %s | %s |\n", t, m, words[base], words[row],
                cell(reason[t, m]), text
        }
    if (!n)
        printf "\nNo result is worse than with the plain MPI library.\n"
    if (better)
        printf "\nBetter than with the plain MPI library: %d results.\n", better
}

# What a test with this result under plain says.
function says(t) {
    return (suite, t, "plain") in explained ? explained[suite, t, "plain"] : cell(reason[t, "plain"])
}

# Tests that failed under plain.
function failed(    i, n) {
    for (i = 1; i <= ntests; i++) {
        if (result[tests[i], "plain"] != "FAIL")
            continue
        if (!n++)
            printf "\nFailed with the plain MPI library, too:\n\n| test | says |\n|---|---|\n"
        printf "| %s | %s |\n", tests[i], says(tests[i])
    }
}

# The reasons of those that were skipped, each with the number of tests and the first of them.
function skipped(    i, n, t, why, first, number, reasons) {
    for (i = 1; i <= ntests; i++) {
        t = tests[i]
        if (result[t, "plain"] != "SKIP")
            continue
        why = says(t)
        if (!number[why]++) {
            reasons[++n] = why
            first[why] = t
        }
    }
    if (n)
        printf "\nSkipped:\n\n| tests | first | says |\n|--:|---|---|\n"
    for (i = 1; i <= n; i++)
        printf "| %d | %s | %s |\n", number[reasons[i]], first[reasons[i]], reasons[i]
}

# Each test in each mode.
function all(    i, j, line) {
    printf "\nAll of them:\n\n| test | plain | ufs | embedded | zcache |\n|---|---|---|---|---|\n"
    for (i = 1; i <= ntests; i++) {
        line = "| " tests[i]
        for (j = 1; j <= 4; j++)
            line = line " | " words[result[tests[i], modes[j]]]
        print line " |"
    }
}

END {
    split("plain ufs embedded zcache", modes, " ")
    words["PASS"] = "passed"
    words["FAIL"] = "**failed**"
    words["SKIP"] = "skipped"
    words[""] = "not run"
    print "## " suite
    print ""
    print version ".  Run with " withs "."
    print ""
    print "| mode | passed | failed | skipped |"
    print "|---|---|---|---|"
    for (j = 1; j <= 4; j++)
        if (modes[j] in ran)
            printf "| %s | %d | %d | %d |\n", modes[j], count[modes[j], "PASS"],
                count[modes[j], "FAIL"], count[modes[j], "SKIP"]
    differences()
    failed()
    skipped()
    if (every)
        all()
    exit bad
}
