/* huge_segment.c - with shmats.so: a segment of three small pages takes a huge one, which the event shows. */
#include <assert.h>
#include <stdio.h>
#include <sys/shm.h>

#include "rtcheck/event.h"

static union rtc_event notified;

static void note(unsigned type, union rtc_event *e, void *unused)
{
    (void)type, (void)unused;
    notified = *e;
}

int main(void)
{
    int id = shmget(IPC_PRIVATE, 3 * 4096, 0600);
    assert(id >= 0 && rtc_event_set_handler(RTC_EVENT_VM_MAPPED, 0, note, NULL) == 0);
    void *at = shmat(id, NULL, 0);
    assert(shmctl(id, IPC_RMID, NULL) == 0 && at != (void *)-1);
    printf("%s %zu\n", notified.vm_mapped.address == at ? "there" : "elsewhere",
           notified.vm_mapped.size);
    return 0;
}
