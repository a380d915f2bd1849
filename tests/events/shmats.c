/*
 * shmats.c - a library whose shmat attaches a huge page, like that of a segment with SHM_HUGETLB: so no reserved
 * huge pages are needed.
 *
 * rtc-build: shared
 */
#include <stdint.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HUGE_PAGE (2ul << 20)

void *shmat(int id, const void *wish, int flags)
{
    long room = syscall(SYS_mmap, 0, 2 * HUGE_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    long at = (room + (long)HUGE_PAGE) & -(long)HUGE_PAGE;
    (void)id, (void)wish, (void)flags;
    if (room == -1)
        return (void *)-1;
    return (void *)syscall(SYS_mmap, at, HUGE_PAGE, PROT_READ,
                           MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}
