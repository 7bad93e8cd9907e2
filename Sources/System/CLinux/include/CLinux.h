#pragma once
// What Glibc's module does not give Swift, because the headers hide it behind _GNU_SOURCE or glibc has no wrapper:
// openat2(2), renameat2(2), fallocate(2), syncfs(2) and the constants that go with them. Each function is the bare
// system call: -1 and errno on failure.
#include <sys/ioctl.h>
#include <sys/vfs.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <linux/openat2.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/xattr.h>
#include <unistd.h>

// Every step of the path stays beneath the directory it starts from, and no step is a link of either kind.
static const uint64_t CLINUX_RESOLVE_HELD = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;

static const int CLINUX_O_PATH = __O_PATH;
static const int CLINUX_AT_EMPTY_PATH = 0x1000;
static const unsigned int CLINUX_RENAME_NOREPLACE = 1;
static const unsigned int CLINUX_RENAME_EXCHANGE = 2;
static const int CLINUX_FALLOC_PUNCH_HOLE = 0x02 | 0x01;  // PUNCH_HOLE asks for KEEP_SIZE

static inline int clinux_openat2(int directory, const char *path, int flags, mode_t mode, uint64_t resolve) {
    struct open_how how = {.flags = (uint32_t)flags, .mode = mode, .resolve = resolve};
    return (int)syscall(SYS_openat2, directory, path, &how, sizeof how);
}

static inline int clinux_renameat2(int from, const char *old_name, int to, const char *new_name, unsigned int flags) {
    return (int)syscall(SYS_renameat2, from, old_name, to, new_name, flags);
}

static inline int clinux_punch_hole(int descriptor, int64_t offset, int64_t count) {
    return (int)syscall(SYS_fallocate, descriptor, CLINUX_FALLOC_PUNCH_HOLE, offset, count);
}

static inline int clinux_syncfs(int descriptor) {
    return (int)syscall(SYS_syncfs, descriptor);
}

// Swift's Glibc has no statfs(2). 0 if the file system does not say.
static inline unsigned int clinux_file_system_type(int descriptor) {
    struct statfs status;
    return fstatfs(descriptor, &status) == 0 ? (unsigned int)status.f_type : 0;
}

// FS_IOC_GETFLAGS and FS_CASEFOLD_FL of linux/fs.h, which older headers lack: whether the directory folds case by itself.
static inline int clinux_folds_case(int directory) {
    long flags = 0;
    return ioctl(directory, _IOR('f', 1, long), &flags) == 0 && (flags & 0x40000000) != 0;
}

// In Swift it is an enum of its own type.
static const int CLINUX_EVENTFD_FLAGS = EFD_CLOEXEC | EFD_NONBLOCK;

// The calling thread's name as in ps(1), at most 15 bytes of it; prctl(2) takes any number of arguments.
static inline void clinux_name_thread(const char *name) {
    prctl(PR_SET_NAME, name);
}

// Has all threads allocate from at most so many heaps, from now on.
static inline void clinux_limit_heaps(int count) {
    mallopt(M_ARENA_MAX, count);
}

// The calling thread's priority for disks, ioprio_set(2): IOPRIO_WHO_PROCESS is 1. Idle (IOPRIO_CLASS_IDLE): the disk serves
// everybody else first. Schedulers that know no priorities ignore it.
static const int CLINUX_DISK_IDLE = 3 << 13;

static inline int clinux_disk_priority(void) {
    return (int)syscall(SYS_ioprio_get, 1, 0);
}

static inline int clinux_set_disk_priority(int priority) {
    return (int)syscall(SYS_ioprio_set, 1, 0, priority);
}

// In Swift the function's name is taken by struct flock.
static inline int clinux_lock_exclusive(int descriptor) {
    return flock(descriptor, LOCK_EX | LOCK_NB);
}

// For all copies of the descriptor, also those of a child that has not come to its exec yet and would hold the lock until then.
static inline int clinux_unlock(int descriptor) {
    return flock(descriptor, LOCK_UN);
}

// Whether another open description of the file may write to it: 1 yes, 0 no, -1 not known here (another user's file, or a
// file system without leases). A read lease is asked for and given back at once. Who opens the file for writing in between
// waits that long, and the kernel tells this process by SIGURG, which is ignored unless handled, instead of by SIGIO, which
// would end it. The kernel counts O_PATH and reading descriptors as none.
static inline int clinux_has_writers(int descriptor) {
    const int set_signal = 10, set_lease = 1024;  // F_SETSIG, F_SETLEASE
    if (fcntl(descriptor, set_signal, SIGURG) != 0) return -1;
    if (fcntl(descriptor, set_lease, F_RDLCK) != 0) return errno == EAGAIN ? 1 : -1;
    (void)fcntl(descriptor, set_lease, F_UNLCK);
    return 0;
}

// A descriptor that becomes readable whenever an address or a route of this machine changes; -1 and errno if there is none.
int clinux_network_events(void);

// When the file was made: 0, or -1 and errno; ENODATA if its disk does not keep that.
int clinux_birth_time(int descriptor, int64_t *seconds, uint32_t *nanoseconds);

// sendmsg(2) and recvmsg(2) with at most one descriptor beside the bytes, -1 for none; the count of bytes, or -1 and errno. The
// kernel closes descriptors beyond the first. Neither waits for bytes, nor for room in the socket unless `waits`
// is 1: EAGAIN.
int64_t clinux_send(int socket, const void *bytes, size_t count, int descriptor, int waits);
int64_t clinux_receive(int socket, void *bytes, size_t count, int *descriptor);

// For threads that take from one socket in turn: an epoll(7) descriptor that says once, to one of those who wait for it, that something
// has come to the socket or that `bell`, an eventfd(2), was rung. -1 and errno.
int clinux_arrivals(int socket, int *bell);
void clinux_wait_for_arrival(int arrivals);
void clinux_ring(int bell);

// The user at the other end of a Unix socket (SO_PEERCRED of unix(7)); -1 and errno if nobody can tell.
int64_t clinux_peer_user(int socket);

// The process at the other end when it connected, the same way; -1 and errno if nobody can tell, 0 of another namespace.
int64_t clinux_peer_process(int socket);

// Whether programs that this process starts get no rights that it does not have (PR_GET_NO_NEW_PRIVS of prctl(2)): 1 or 0.
int clinux_no_new_privileges(void);

// Whether something keeps the system's clock right, as the kernel counts it (adjtimex(2)): 1, 0, or -1 and errno.
int clinux_clock_is_synchronised(void);

// accept4(2) with SOCK_CLOEXEC.
int clinux_accept(int socket);

// posix_spawn_file_actions_addclosefrom_np(3): 0 or an errno.
int clinux_close_from(posix_spawn_file_actions_t *actions, int first);

// A process that waits until the main thread of this one ends, and aborts the FUSE connection of `device` ("0:45", mounted on
// `directory`, which /proc/self/mountinfo writes as `place`) if this process still has not ended a second later. A process that is
// killed while one of its threads invalidates a name stays in the kernel: the thread waits for the lock of a directory, the program that
// has that lock waits for an answer, and the kernel would end the connection only after the process. What is still mounted a second after
// the end, and dead, it unmounts. Call it from the main thread. The number of the process; -1 and errno.
pid_t clinux_guard_mount(const char *device, const char *place, const char *directory);
