/*
 * stays.c - does the kernel leave pages where they are that are closed and opened again?
 */
#include "base/bare.h"
#include "base/kernel.h"
#include "defer/protect.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/uio.h>

/*
 * After mprotect() the first write to a page faults once more, and kernels since 5.9 copied a page
 * then that had more than one holder ("mm: do_wp_page() simplification"): the device would go on
 * with the old one.  5.19 knows pages that are exclusive ("mm: COW fixes part 2").  A pipe is as
 * good a holder as a device.
 */
bool protect_page_stays(unsigned char *page)
{
	struct iovec part = { page, 1 };
	unsigned char next = (unsigned char)(page[0] + 1), seen = 0;
	int ends[2];

	if (hp_bare4(SYS_pipe2, (long)ends, O_CLOEXEC, 0, 0) != 0)
		return false;
	bool held = hp_bare4(SYS_vmsplice, ends[1], (long)&part, 1, 0) == 1 &&
		    hp_bare_protect((uintptr_t)page, HP_PAGE_BYTES, PROT_NONE) == 0 &&
		    hp_bare_protect((uintptr_t)page, HP_PAGE_BYTES, PROT_READ | PROT_WRITE) == 0;
	if (held) {
		*(volatile unsigned char *)page = next;
		held = hp_bare4(SYS_read, ends[0], (long)&seen, 1, 0) == 1;
	}
	hp_bare4(SYS_close, ends[0], 0, 0, 0);
	hp_bare4(SYS_close, ends[1], 0, 0, 0);
	return held && seen == next;
}
