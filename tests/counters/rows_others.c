/* rows_others.c - sets that count other processes, and processors. */
#include "contract.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>

static rtc_cpc_t *cpc;

/* A child that touches `pages` pages at each command, and reports when it has done so. */
static struct {
    pid_t pid;
    int request[2], answer[2];
} worker;

static void work(unsigned pages)
{
    char word;
    while (read(worker.request[0], &word, 1) == 1) {
        touch(pages);
        must(write(worker.answer[1], &word, 1) == 1);
    }
    _exit(0);
}

static void start_worker(unsigned pages)
{
    must(pipe(worker.request) == 0 && pipe(worker.answer) == 0);
    worker.pid = fork();
    if (worker.pid == 0) {
        close(worker.request[1]);
        work(pages);
    }
    close(worker.request[0]);
}

static void have_it_work(void)
{
    char word = 'x';
    must(write(worker.request[1], &word, 1) == 1 && read(worker.answer[0], &word, 1) == 1);
}

static void end_worker(void)
{
    close(worker.request[1]);
    must_end_well(worker.pid);
}

void row_captured_process(void)
{
    start_worker(500);
    have_it_work();
    cpc = open_quietly();
    rtc_pctx_t *pctx = rtc_pctx_capture(worker.pid);
    rtc_cpc_set_t *set = rtc_cpc_set_create(cpc);
    add(cpc, set, "page-faults", 7000, USER);
    add(cpc, set, "task-clock", 0, USER);
    must(pctx && rtc_pctx_pid(pctx) == worker.pid);
    must(rtc_cpc_bind_pctx(cpc, pctx, 0, set, 0) == 0);
    must(sampled(cpc, set, 0) == 7000);
    have_it_work();
    touch(100); /* not counted: faults of this process */
    uint64_t faults = sampled(cpc, set, 0);
    must(faults >= 7500 && faults < 7600 && sampled(cpc, set, 1) > 0);
    must(rtc_cpc_set_restart(cpc, set) == 0 && sampled(cpc, set, 0) == 7000);
    must(rtc_pctx_release(pctx) == 0); /* counting continues */
    have_it_work();
    must(sampled(cpc, set, 0) >= 7500);
    end_worker();
    faults = sampled(cpc, set, 0);
    must(faults >= 7500 && faults == sampled(cpc, set, 0) && rtc_cpc_unbind(cpc, set) == 0);
}

void row_captured_thread(void)
{
    cpc = open_quietly();
    rtc_pctx_t *self = rtc_pctx_capture(getpid());
    rtc_cpc_set_t *set = set_of(cpc, "page-faults", USER);
    must(rtc_cpc_bind_pctx(cpc, self, (pid_t)syscall(SYS_gettid), set, 0) == 0);
    touch(200);
    must(is_about(sampled(cpc, set, 0), 200));
    fails(rtc_cpc_bind_pctx(cpc, self, getppid(), set, 0), ESRCH, RTC_CPC_RESOURCE_UNAVAIL);
    must(strcmp(last_error.text, "page-faults: n/a: there is no such thread") == 0);
    must(rtc_pctx_release(self) == 0);
}

void row_pctx_errors(void)
{
    cpc = open_quietly();
    rtc_cpc_set_t *set = set_of(cpc, "page-faults", USER),
                  *clock = set_of(cpc, "clock:thread", BOTH);
    rtc_cpc_set_t *notifier = set_of(cpc, "page-faults", USER | RTC_CPC_OVF_NOTIFY_EMT);
    pid_t gone = fork();
    if (gone == 0)
        _exit(0);
    rtc_pctx_t *late = rtc_pctx_capture(gone), *self = rtc_pctx_capture(getpid());
    must_end_well(gone);
    errno = 0;
    must(!rtc_pctx_capture(gone) && errno == ESRCH);
    must(!rtc_pctx_capture(0) && !rtc_pctx_capture(-1));
    fails(rtc_cpc_bind_pctx(cpc, late, 0, set, 0), ESRCH, RTC_CPC_RESOURCE_UNAVAIL);
    fails(rtc_cpc_bind_pctx(cpc, NULL, 0, set, 0), EINVAL, 0);
    fails(rtc_cpc_bind_pctx(cpc, self, -1, set, 0), EINVAL, 0);
    fails(rtc_cpc_bind_pctx(cpc, self, 0, set, 1), EINVAL, RTC_CPC_REQ_INVALID_FLAGS);
    fails(rtc_cpc_bind_pctx(cpc, self, 0, NULL, 0), EINVAL, 0);
    fails(rtc_cpc_bind_pctx(cpc, self, 0, rtc_cpc_set_create(cpc), 0), EINVAL, 0);
    fails(rtc_cpc_bind_pctx(cpc, self, 0, clock, 0), ENOTSUP, RTC_CPC_PIC_NOT_CAPABLE);
    fails(rtc_cpc_bind_pctx(cpc, self, 0, notifier, 0), ENOTSUP, RTC_CPC_PIC_NOT_CAPABLE);
    must(rtc_cpc_bind_pctx(cpc, self, 0, set, 0) == 0);
    fails(rtc_cpc_disable(cpc), EINVAL, 0); /* no set is bound to the calling thread itself */
    must(rtc_pctx_release(self) == 0 && rtc_pctx_release(late) == 0);
    fails(rtc_pctx_release(NULL), EINVAL, 0);
    must(rtc_pctx_pid(NULL) == -1);
}

static int status_of(rtc_pctx_t *pctx)
{
    int status = -1;
    pid_t pid = rtc_pctx_pid(pctx);
    must(rtc_pctx_release(pctx) == 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status));
    return WEXITSTATUS(status);
}

void row_created_process(void)
{
    char *argv[] = {"sh", "-c", "exit 42", NULL};
    unsigned before = open_descriptors();
    cpc = open_quietly();
    rtc_cpc_set_t *set = set_of(cpc, "page-faults", USER);
    rtc_pctx_t *pctx = rtc_pctx_create("sh", argv);
    must(pctx && rtc_cpc_bind_pctx(cpc, pctx, 0, set, 0) == 0);
    must(sampled(cpc, set, 0) == 0 && waitpid(rtc_pctx_pid(pctx), NULL, WNOHANG) == 0);
    must(status_of(pctx) == 42);
    uint64_t faults = sampled(cpc, set, 0);
    must(faults > 50 && faults == sampled(cpc, set, 0));
    must(rtc_cpc_unbind(cpc, set) == 0 && open_descriptors() == before);
}

void row_created_process_without_program(void)
{
    char *argv[] = {"nothing", NULL};
    must(status_of(rtc_pctx_create("/nothing/of/this/name", argv)) == 127);
    rtc_pctx_t *pctx = rtc_pctx_create("sh", argv);
    must(kill(rtc_pctx_pid(pctx), SIGKILL) == 0);
    must(waitpid(rtc_pctx_pid(pctx), NULL, 0) == rtc_pctx_pid(pctx));
    must(rtc_pctx_release(pctx) == 0); /* without SIGPIPE */
}

/* A created process that is never released does not run. */
void row_created_process_without_parent(void)
{
    char *argv[] = {"echo", "here", NULL}, byte;
    int ends[2];
    must(pipe(ends) == 0);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(ends[1], 1);
        _exit(!rtc_pctx_create("echo", argv));
    }
    must_end_well(pid);
    close(ends[1]);
    must(read(ends[0], &byte, 1) == 0); /* all processes with the other end have ended */
}

void row_processor(void)
{
    cpc = open_quietly();
    rtc_cpc_set_t *set = set_of(cpc, "task-clock", USER);
    fails(rtc_cpc_bind_cpu(cpc, -1, set, 0), EINVAL, RTC_CPC_RESOURCE_UNAVAIL);
    fails(rtc_cpc_bind_cpu(cpc, 1 << 20, set, 0), EINVAL, RTC_CPC_RESOURCE_UNAVAIL);
    must(strcmp(last_error.text, "n/a: there is no such processor") == 0);
    fails(rtc_cpc_bind_cpu(cpc, 0, set, 1), EINVAL, RTC_CPC_REQ_INVALID_FLAGS);
    if (rtc_cpc_bind_cpu(cpc, 0, set, 0) == 0) {
        must(sampled(cpc, set, 0) > 0);
        return;
    }
    must(errno == EACCES && last_error.subcode == RTC_CPC_ATTR_REQUIRES_PRIVILEGE);
    must(strncmp(last_error.text, "task-clock: n/a: not permitted (perf_event_paranoid is ", 55) ==
         0);
}
