# Makes doc/programs.md of the file "differences" and result files SUITE.MODE; see run-programs.
# The exit status is 1 when a test does worse than with the plain MPI library and is not explained.

FNR == 1 {
    file = FILENAME
    sub(/.*\//, "", file)
    known = file == "differences"
    suite = file
    sub(/\.[a-z]*$/, "", suite)
    mode = file
    sub(/.*\./, "", mode)
    if (!known && !(suite in version)) {
        version[suite] = "?"
        suites[++nsuites] = suite
    }
    if (!known)
        ran[suite, mode] = 1
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

$1 == "VERSION" { sub(/^VERSION /, ""); version[suite] = $0; next }

{
    if (!((suite, $2) in seen)) {
        seen[suite, $2] = 1
        tests[suite, ++ntests[suite]] = $2
    }
    name = $2
    result[suite, name, mode] = $1
    count[suite, mode, $1]++
    sub(/^[A-Z]+ [^ ]+ ?/, "")
    reason[suite, name, mode] = $0
}

function cell(text) {
    gsub(/\|/, "\\|", text)
    # Names of directories made for one run say nothing.
    gsub(/\/[^ :]*zcache-programs\.[A-Za-z0-9]+/, "...", text)
    gsub(/0x[0-9a-f]+/, "0x...", text)
    return text
}

# Rows of the tests of all suites for which the result of a mode differs from plain.
function differences(    s, i, j, t, m, base, row, text) {
    for (s = 1; s <= nsuites; s++)
        for (i = 1; i <= ntests[suites[s]]; i++)
            for (j = 2; j <= 4; j++) {
                t = tests[suites[s], i]
                m = modes[j]
                row = result[suites[s], t, m]
                base = result[suites[s], t, "plain"]
                if (row == "" || base == "" || row == base)
                    continue
                if ((suites[s], t, m) in explained)
                    text = explained[suites[s], t, m]
                else {
                    text = "**not explained**"
                    if (row == "FAIL")
                        bad = 1
                }
                rows[++nrows] = sprintf("| %s | %s | %s | %s | %s | %s | %s |", suites[s], t, m, base, row,
                    cell(reason[suites[s], t, row == "PASS" ? "plain" : m]), text)
            }
}

# Tests with result WHAT under plain.
function plain_list(what, title,    s, i, t, n) {
    for (s = 1; s <= nsuites; s++)
        for (i = 1; i <= ntests[suites[s]]; i++) {
            t = tests[suites[s], i]
            if (result[suites[s], t, "plain"] != what)
                continue
            if (!n++)
                printf "\n## %s\n\n| suite | test | says |\n|---|---|---|\n", title
            printf "| %s | %s | %s |\n", suites[s], t,
                (suites[s], t, "plain") in explained ? explained[suites[s], t, "plain"] : cell(reason[suites[s], t, "plain"])
        }
}

END {
    split("plain ufs embedded zcache", modes, " ")
    print "# Programs nobody here wrote"
    print ""
    print "Made by `make check-programs` (tests/programs/run-programs); MPICH " mpi ". The modes:"
    print "*plain* is the MPI library as it is with file names `ufs:...`, the reference; *ufs* the same"
    print "names with the plugin preloaded, where nothing may change; *embedded* names `zcache:...` without"
    print "a daemon; *zcache* through a daemon. Programs whose file names cannot be chosen are led there by"
    print "`ROMIO_FSTYPE_FORCE`."
    print ""
    print "| suite | what | mode | passed | failed | skipped |"
    print "|---|---|---|---|---|---|"
    for (s = 1; s <= nsuites; s++)
        for (j = 1; j <= 4; j++)
            if ((suites[s], modes[j]) in ran)
                printf "| %s | %s | %s | %d | %d | %d |\n", suites[s], version[suites[s]], modes[j],
                    count[suites[s], modes[j], "PASS"], count[suites[s], modes[j], "FAIL"],
                    count[suites[s], modes[j], "SKIP"]
    differences()
    print ""
    print "## Other results than with the plain MPI library"
    print ""
    if (nrows) {
        print "| suite | test | mode | plain | here | says | why |"
        print "|---|---|---|---|---|---|---|"
        for (i = 1; i <= nrows; i++)
            print rows[i]
    } else
        print "None."
    plain_list("FAIL", "Failed by the plain MPI library, too")
    plain_list("SKIP", "Skipped")
    exit bad
}
