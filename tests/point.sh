# shellcheck shell=sh
# Sourced by tests that count their points in n, note a failure in bad and have
# what a command said in $work/log, or in the file $log.

# point STATUS NAME: a line of TAP, with the end of the log if it failed and
# what was left in the test's own folder for temporary files
# shellcheck disable=SC2154
point()
{
    n=$((n + 1))
    if [ "$1" = 0 ]; then
        echo "ok $n - $2"
        return
    fi
    bad=1
    echo "not ok $n - $2"
    tail -20 "${log:-$work/log}" | sed 's/^/# /'
    [ ! -d "$work/tmp" ] || ls "$work/tmp" | sed 's/^/# left: /'
}
