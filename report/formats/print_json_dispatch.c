/*
 * print_json_dispatch.c - events=all (system call dispatch) in the JSON report.
 */
#include "print_json_priv.h"

void json_dispatched(struct json *j, const struct report *r)
{
    struct dispatch_totals t = dispatch_totals(r);

    if (t.processes == 0)
        return;
    open_object(j, "dispatched");
    put_number(j, "processes", t.processes);
    put_number(j, "unavailable", t.without);
    if (t.without > 0)
        put_text(j, "reason", dispatch_reason(t.error));
    put_number(j, "calls", t.calls);
    put_number(j, "told", t.reported);
    put_number(j, "threads_uncovered", t.uncovered);
    if (t.calls > 0) {
        put_number(j, "call_ns", dispatch_call_ns(&t));
        put_number(j, "measured_calls", t.measured);
    }
    close_object(j);
}
