/*
 * The symbol versions of functions that hotpin looks up by version.
 *
 * The functions of glibc's first release for an architecture all have the version of that release:
 * GLIBC_2.2.5 on x86-64, GLIBC_2.17 on aarch64 (glibc's shlib-versions and
 * sysdeps/unix/sysv/linux/<architecture>/shlib-versions).
 */
#ifndef HP_REAL_VERSIONS_H
#define HP_REAL_VERSIONS_H

enum real_machine { REAL_X86_64, REAL_AARCH64, REAL_MACHINE_COUNT };

#if defined(__x86_64__)
#define REAL_MACHINE REAL_X86_64
#elif defined(__aarch64__)
#define REAL_MACHINE REAL_AARCH64
#else
#error "the symbol versions of this architecture are not known"
#endif

/* Returns the versions of dlsym(), the newest first, then NULL.  Pure. */
const char *const *real_dlsym_versions(enum real_machine machine);

/*
 * Returns the version of a function that x86-64 has since `since`, for instance "GLIBC_2.16": the
 * newer one of `since` and the machine's first version.  Pure.
 */
const char *real_version_since(enum real_machine machine, const char *since);

#endif
