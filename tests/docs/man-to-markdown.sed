# sed -E -f man-to-markdown.sed PAGE.in: the source of a manual page, line by line, as a document
# whose commands can be found.  What stands between .nf and .fi is a block: of shell, or of the kind
# that a comment names (.nf \" ini).  Comments before it (.\" not run: REASON) are those that
# run-blocks knows.  What is bold is code.
s/^\.\\" ([a-z ]+: .*)$/<!-- \1 -->/
s/^\.nf$/.nf \\" sh/
s/^\.nf \\" ([a-z]+)$/```\1/
s/^\.fi$/```/
s/^\.(RS|RE|PP)$//
s/\\~/ /g
s/\\\(aq/'/g
s/\\-/-/g
s/^\.B (.*)$/`\1`/
s/^\.(BR|BI) ("([^"]*)"|([^ ]*))(.*)$/`\3\4`\5/
