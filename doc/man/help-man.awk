# help-man.awk - the options in a program's --help as entries of a manual page.
#
# An option stands two columns in, its text two blanks or a line behind it, and goes on below at
# the same column.  What stands further in there is a list, and so are lines in columns (two blanks
# within, and no full stop before them): each item begins a line, and what follows a list does.
# What stands further in than the items goes on with one.  A line that begins at the margin with
# options after it is a heading; all other text is the page's own business.  With commands=1, the
# entries below "Commands:" instead.

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
    item = 0
    next
}
open && /^ +[^ ]/ {
    match($0, /^ +/)
    if (!column)
        column = RLENGTH
    in_columns = substr($0, RLENGTH + 1) ~ /[^ .]  +[^ ]/
    deeper = RLENGTH > column
    if (deeper ? !item || RLENGTH <= item : item || in_columns)
        print ".br"
    item = !deeper ? 0 : item && item < RLENGTH ? item : RLENGTH
    text(substr($0, RLENGTH + 1))
    next
}
/^$/ { open = 0 }
