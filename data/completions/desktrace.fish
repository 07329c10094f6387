# SPDX-License-Identifier: LGPL-2.1-or-later
#
# fish completion of desktrace(1)

set -l verbs record inspect query why top report diff export symbolize view status list doctor snapshot trigger attach stop read flush help
set -l with_bus record top status list doctor snapshot trigger attach stop read flush
set -l with_json record inspect query why top diff status list doctor snapshot trigger attach stop
set -l with_output record report export symbolize snapshot attach stop read

# Words of the first column of a list, or nothing when the service is not there.
function __desktrace_list
    set -l user
    contains -- --user (commandline -opc); and set user --user
    timeout 3 desktrace list --no-legend $user $argv 2>/dev/null </dev/null | string match -r '^\S+'
end

# What comes behind "--" is the command that is recorded.
function __desktrace_in
    not contains -- -- (commandline -opc); and __fish_seen_subcommand_from $argv
end

function __desktrace_in_command
    contains -- -- (commandline -opc)
end

function __desktrace_command
    set -l words (commandline -opc) (commandline -ct)
    set -l at (contains -i -- -- $words)
    set -e words[1..$at]
    complete -C "$words"
end

complete -c desktrace -f
complete -c desktrace -n __desktrace_in_command -a '(__desktrace_command)'

set -l none "not __fish_seen_subcommand_from $verbs"
complete -c desktrace -n "$none" -l version -d 'Show the version'
complete -c desktrace -n "$none" -a record -d 'Record to a trace file'
complete -c desktrace -n "$none" -a inspect -d 'Show the contents of a trace file'
complete -c desktrace -n "$none" -a query -d 'Ask a trace file questions in SQL'
complete -c desktrace -n "$none" -a view -d 'Look at a trace file in a browser'
complete -c desktrace -n "$none" -a report -d 'Make a page that shows a trace file in a browser'
complete -c desktrace -n "$none" -a why -d 'Answer a question about a trace file'
complete -c desktrace -n "$none" -a top -d 'Show who uses this machine now'
complete -c desktrace -n "$none" -a diff -d 'Compare two sets of recordings'
complete -c desktrace -n "$none" -a export -d 'Convert a trace file for another program'
complete -c desktrace -n "$none" -a symbolize -d 'Add the names of functions to a trace file'
complete -c desktrace -n "$none" -a status -d 'Show whether the service is running and what is being recorded'
complete -c desktrace -n "$none" -a list -d 'List data sources, events, programs, sessions or presets'
complete -c desktrace -n "$none" -a doctor -d 'Find out why something cannot be recorded'
complete -c desktrace -n "$none" -a snapshot -d 'Save what a running session has recorded'
complete -c desktrace -n "$none" -a trigger -d 'Fire a trigger'
complete -c desktrace -n "$none" -a attach -d 'Take over a detached session'
complete -c desktrace -n "$none" -a stop -d 'Stop a session'
complete -c desktrace -n "$none" -a read -d 'Write the buffered data of a session to a file'
complete -c desktrace -n "$none" -a flush -d 'Make programs hand over buffered data'
complete -c desktrace -n "$none" -a help -d 'Show an overview or the options of a verb'

complete -c desktrace -n 'not __desktrace_in_command' -s h -l help -d 'Show help'
complete -c desktrace -n "__desktrace_in $verbs" -s q -l quiet -d 'Print only errors and data'
complete -c desktrace -n "__desktrace_in $with_bus" -l system -d "Use the machine's service"
complete -c desktrace -n "__desktrace_in $with_bus" -l user -d "Use the user's own service"
complete -c desktrace -n "__desktrace_in $with_bus" -l no-ask-password -d 'Do not prompt for a password'
complete -c desktrace -n "__desktrace_in $with_json" -l json -xa 'pretty short off' -d 'Print JSON'
complete -c desktrace -n "__desktrace_in $with_json" -l no-legend -d 'Print tables without headers'
complete -c desktrace -n "__desktrace_in $with_output" -s o -l output -rF -d 'Write to this file'
complete -c desktrace -n "__desktrace_in $with_output" -s f -l force -d 'Replace the output file'
complete -c desktrace -n '__desktrace_in diff export report top why' -l from -x -d 'Begin at this time'
complete -c desktrace -n '__desktrace_in diff export report top why' -l to -x -d 'End at this time'
complete -c desktrace -n '__desktrace_in diff export report top why' -l around -x -d 'The time of a slice'
complete -c desktrace -n '__desktrace_in diff export report top why' -l margin -x -d 'Widen the interval by TIME on both sides'
complete -c desktrace -n '__desktrace_in diff export query top why' -l memory -x -d 'Take at most this much memory for the trace'
complete -c desktrace -n '__desktrace_in top why' -l by -xa 'program unit thread' -d 'For each of these'
complete -c desktrace -n '__desktrace_in diff top why' -l top -x -d 'Rows to show'
complete -c desktrace -n '__desktrace_in record list' -l standalone -d 'Run a private service'

complete -c desktrace -n '__desktrace_in record' -s c -l config -rF -d 'Use the config in this file'
complete -c desktrace -n '__desktrace_in record' -s p -l preset -xa '(__desktrace_list presets)' -d 'Use a predefined configuration'
complete -c desktrace -n '__desktrace_in record' -l stacks -d 'Also record call stacks'
complete -c desktrace -n '__desktrace_in record' -l stacks-at -x -a 'sleep page-fault' -d 'Record call stacks where this happens'
complete -c desktrace -n '__desktrace_in record' -l heap -d 'Record allocations, too'
complete -c desktrace -n '__desktrace_in record' -s t -l time -x -d 'Stop after this time, such as 5s'
complete -c desktrace -n '__desktrace_in record' -s b -l buffer-size -x -d 'Size of the buffer, such as 64M'
complete -c desktrace -n '__desktrace_in record' -l report -d 'Make a page of it'
complete -c desktrace -n '__desktrace_in record' -l ring -d 'Keep only the newest data'
complete -c desktrace -n '__desktrace_in record' -s n -l name -x -d 'Name of the session'
complete -c desktrace -n '__desktrace_in record' -l detach -d 'Leave the session running'
complete -c desktrace -n '__desktrace_in record' -l flight-recorder -d 'Leave a ring buffer running'
complete -c desktrace -n '__desktrace_in record' -l trigger -x -d 'Write a snapshot at each of these triggers'
complete -c desktrace -n '__desktrace_in record snapshot' -l before -x -d 'Reach back at most'
complete -c desktrace -n '__desktrace_in record snapshot' -l after -x -d 'Continue for this time'
complete -c desktrace -n '__desktrace_in record' -a '(__desktrace_list --no-start sources; __desktrace_list --no-start events) cat:(__desktrace_list categories)'

complete -c desktrace -n '__desktrace_in inspect' -F
complete -c desktrace -n '__desktrace_in inspect' -l top -x -d 'Rows in each table'
complete -c desktrace -n '__desktrace_in inspect' -l config -d 'Show only the config'

complete -c desktrace -n '__desktrace_in report view' -F
complete -c desktrace -n '__desktrace_in report' -l svg -d 'A still picture instead of a page'
complete -c desktrace -n '__desktrace_in view' -l perfetto -d 'Open it in the Perfetto UI'
complete -c desktrace -n '__desktrace_in view' -l print -d 'Print the address, and open no browser'
complete -c desktrace -n '__desktrace_in view' -l timeout -x -d 'Wait so long for the browser'
complete -c desktrace -n '__desktrace_in query' -F
complete -c desktrace -n '__desktrace_in query' -l file -rF -d 'Read the SQL from a file'
complete -c desktrace -n '__desktrace_in query' -l csv -d 'Print comma-separated values'
complete -c desktrace -n '__desktrace_in query' -l timeout -x -d 'Stop a statement that takes longer'

complete -c desktrace -n '__desktrace_in top' -F
complete -c desktrace -n '__desktrace_in top' -s i -l interval -x -d 'One screen for each of these'
complete -c desktrace -n '__desktrace_in top' -s n -l count -x -d 'End after this number of screens'

complete -c desktrace -n '__desktrace_in diff' -F
complete -c desktrace -n '__desktrace_in diff' -l metric -xa 'p50 p99 total cpu heap' -d 'What is compared'
complete -c desktrace -n '__desktrace_in diff' -l slice -x -d 'Only this name'
complete -c desktrace -n '__desktrace_in diff' -l fail-if -x -d 'Fail if it changed by more'

set -l formats sqlite csv jsonl parquet chrome folded off-cpu speedscope firefox fleet otlp otlp-protobuf
complete -c desktrace -n "__desktrace_in export; and not __fish_seen_subcommand_from $formats" -a "$formats"
complete -c desktrace -n '__desktrace_in export' -F
complete -c desktrace -n '__desktrace_in export' -l table -x -d 'This table'
complete -c desktrace -n '__desktrace_in export' -l machine -x -d 'The name of the machine'
complete -c desktrace -n '__desktrace_in export' -l samples -x -a 'cpu linux.offcpu linux.faults' -d 'Which call stacks'
complete -c desktrace -n '__desktrace_in export' -l sql -x -d 'What this statement answers'

set -l questions cpu functions sleeps slice wakers slowest times repeats waits wakeups disk interrupts memory grows journal bus losses
complete -c desktrace -n "__desktrace_in why; and not __fish_seen_subcommand_from $questions" -a "$questions"
complete -c desktrace -n '__desktrace_in why' -F
complete -c desktrace -n '__desktrace_in why' -l slice -x -d 'Which slice, by name or id'

complete -c desktrace -n '__desktrace_in list' -a 'sources events categories producers sessions presets probes'
complete -c desktrace -n '__desktrace_in list' -l sources -d "The same as the argument 'sources'"
complete -c desktrace -n '__desktrace_in list' -s l -l long -d 'Numbers and fields of events'
complete -c desktrace -n '__desktrace_in list' -l no-start -d 'Do not start producers'

complete -c desktrace -n '__desktrace_in doctor' -a '(__fish_complete_pids; __desktrace_list --no-start sources)'

complete -c desktrace -n '__desktrace_in snapshot attach stop read flush' -a '(__desktrace_list sessions)'
complete -c desktrace -n '__desktrace_in stop' -l discard -d 'Free its data without writing it'
complete -c desktrace -n '__desktrace_in flush' -l timeout -x -d 'How long to wait for programs'
complete -c desktrace -n '__desktrace_in help' -a "$verbs"
complete -c desktrace -n '__desktrace_in symbolize' -rF
complete -c desktrace -n '__desktrace_in symbolize' -l lines -d 'Add lines of the source code'
complete -c desktrace -n '__desktrace_in symbolize' -l debuginfod -d 'Ask the servers of $DEBUGINFOD_URLS'
