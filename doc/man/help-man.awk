# help-man.awk - the options in a program's --help as entries of a manual page.
#
# An option stands two columns in, its text two blanks or a line behind it, and goes on below at
# the same column; what stands further in is a list.  A line that begins at the margin with options
# after it is a heading; all other text is the page's own business.  With commands=1, the entries
# below "Commands:" instead.

function roff(s) {
    gsub(/\\/, "\\e", s)
    gsub(/-/, "\\-", s)
    sub(/^[.']/, "\\\\\\&&", s)
    return s
}
function text(s) { if (s != "") print roff(s) }

/^[^ ]/ { heading = $0; open = 0; next }
/^  -/ && !commands || /^  [a-z]/ && commands && heading == "Commands:" {
    if (!commands) {
        if (heading != "" && heading !~ /^Options/)
            print ".SS " roff(heading)
        heading = ""
    }
    line = substr($0, 3)
    at = match(line, /  +/)
    head = at ? substr(line, 1, at - 1) : line
    column = at ? 2 + at + RLENGTH - 1 : 0
    print ".TP"
    print ".B " roff(head)
    text(at ? substr(line, at + RLENGTH) : "")
    open = 1
    next
}
open && /^ +[^ ]/ {
    match($0, /^ +/)
    if (!column)
        column = RLENGTH
    if (RLENGTH > column)
        print ".br"
    text(substr($0, RLENGTH + 1))
    next
}
/^$/ { open = 0 }
