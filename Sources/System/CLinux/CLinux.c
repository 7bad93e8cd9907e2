// What the header cannot do inline: it is read without _GNU_SOURCE.
#define _GNU_SOURCE
#include "CLinux.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <spawn.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/timex.h>
#include <time.h>

int clinux_birth_time(int descriptor, int64_t *seconds, uint32_t *nanoseconds) {
    struct statx status;
    if (statx(descriptor, "", AT_EMPTY_PATH, STATX_BTIME, &status) != 0) return -1;
    if (!(status.stx_mask & STATX_BTIME)) {
        errno = ENODATA;
        return -1;
    }
    *seconds = status.stx_btime.tv_sec;
    *nanoseconds = status.stx_btime.tv_nsec;
    return 0;
}

int clinux_network_events(void) {
    int descriptor = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
    if (descriptor < 0) return -1;
    // More events than its buffer holds are no error for the reader, which asks the system for what is there in any case.
    int is_on = 1;
    setsockopt(descriptor, SOL_NETLINK, NETLINK_NO_ENOBUFS, &is_on, sizeof is_on);
    struct sockaddr_nl address = {
        .nl_family = AF_NETLINK,
        .nl_groups = RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR | RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE,
    };
    if (bind(descriptor, (struct sockaddr *)&address, sizeof address) == 0) return descriptor;
    close(descriptor);
    return -1;
}

int64_t clinux_send(int socket, const void *bytes, size_t count, int descriptor, int waits) {
    struct iovec part = {.iov_base = (void *)bytes, .iov_len = count};
    char control[CMSG_SPACE(sizeof(int))] = {0};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (descriptor >= 0) {
        message.msg_control = control;
        message.msg_controllen = sizeof control;
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(header), &descriptor, sizeof(int));
    }
    return sendmsg(socket, &message, MSG_NOSIGNAL | (waits ? 0 : MSG_DONTWAIT));
}

int64_t clinux_receive(int socket, void *bytes, size_t count, int *descriptor) {
    *descriptor = -1;
    struct iovec part = {.iov_base = bytes, .iov_len = count};
    char control[CMSG_SPACE(sizeof(int))] = {0};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    ssize_t received = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (received < 0) return -1;
    for (struct cmsghdr *header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header))
        if (header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS
            && header->cmsg_len >= CMSG_LEN(sizeof(int)))
            memcpy(descriptor, CMSG_DATA(header), sizeof(int));
    return received;
}

int clinux_arrivals(int socket, int *bell) {
    int arrivals = epoll_create1(EPOLL_CLOEXEC);
    *bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    struct epoll_event event = {.events = EPOLLIN | EPOLLET};
    if (arrivals >= 0 && *bell >= 0 && epoll_ctl(arrivals, EPOLL_CTL_ADD, socket, &event) == 0
        && epoll_ctl(arrivals, EPOLL_CTL_ADD, *bell, &event) == 0)
        return arrivals;
    int number = errno;
    if (arrivals >= 0) close(arrivals);
    if (*bell >= 0) close(*bell);
    errno = number;
    return -1;
}

void clinux_wait_for_arrival(int arrivals) {
    struct epoll_event event;
    while (epoll_wait(arrivals, &event, 1, -1) < 0 && errno == EINTR) {}
}

void clinux_ring(int bell) { eventfd_write(bell, 1); }

int64_t clinux_peer_user(int socket) {
    struct ucred peer;
    socklen_t length = sizeof peer;
    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) return -1;
    return peer.uid;
}

int64_t clinux_peer_process(int socket) {
    struct ucred peer;
    socklen_t length = sizeof peer;
    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) return -1;
    return peer.pid;
}

int clinux_no_new_privileges(void) {
    return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1;
}

int clinux_accept(int socket) {
    return accept4(socket, 0, 0, SOCK_CLOEXEC);
}

int clinux_close_from(posix_spawn_file_actions_t *actions, int first) {
    return posix_spawn_file_actions_addclosefrom_np(actions, first);
}

int clinux_clock_is_synchronised(void) {
    struct timex state = {0};
    if (adjtimex(&state) < 0) return -1;
    return (state.status & STA_UNSYNC) == 0;
}

// Whether a device ("0:45") is what is seen at a place, both as /proc/self/mountinfo writes them. A line longer than the buffer is
// cut: the words that count come first.
static int is_mounted(const char *device, const char *place) {
    int file = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    int is_device = 0;
    char line[8192], bytes[4096];
    size_t length = 0;
    ssize_t count;
    while ((count = read(file, bytes, sizeof bytes)) > 0) {
        for (ssize_t at = 0; at < count; at++) {
            if (bytes[at] != '\n') {
                if (length < sizeof line - 1) line[length++] = bytes[at];
                continue;
            }
            line[length] = 0;
            length = 0;
            char *rest = line, *words[5];
            for (int number = 0; number < 5; number++) words[number] = strsep(&rest, " ");
            // Of several mounts at one place the last is what is seen.
            if (words[4] && strcmp(words[4], place) == 0) is_device = strcmp(words[2], device) == 0;
        }
    }
    close(file);
    return is_device;
}

// Whether the main thread of a process has ended, though others are still in the kernel.
static int is_zombie(pid_t process) {
    char path[40] = "/proc/", digits[12], bytes[512];
    int length = 0, end = 6;
    do digits[length++] = (char)('0' + process % 10);
    while (process /= 10);
    while (length > 0) path[end++] = digits[--length];
    strcpy(path + end, "/stat");
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    ssize_t count = read(file, bytes, sizeof bytes - 1);
    close(file);
    if (count <= 0) return 0;
    bytes[count] = 0;
    // The last `)` ends the name, which may hold others.
    char *name = strrchr(bytes, ')');
    return name && name[1] == ' ' && name[2] == 'Z';
}

static void abort_connection(const char *device, const char *place, const char *directory) {
    char path[64] = "/sys/fs/fuse/connections/";
    const char *minor = strchr(device, ':');
    if (minor && strlen(minor) < 16) {
        strcat(path, minor + 1);
        strcat(path, "/abort");
        int file = open(path, O_WRONLY | O_CLOEXEC);
        if (file >= 0) {
            ssize_t written = write(file, "1", 1);
            close(file);
            if (written == 1) return;
        }
    }
    // The same for root, where that file system of the kernel's is not mounted.
    if (is_mounted(device, place)) umount2(directory, MNT_FORCE | UMOUNT_NOFOLLOW);
}

// What a killed process leaves refuses every call, until somebody unmounts it. fusermount3 does for root alone where it was asked to
// (`auto_unmount`; libfuse 3.14): it looks whether the mount is dead first, and an ordinary user's mount does not let it in.
static void unmount_dead(const char *directory) {
    // Somebody may have mounted there again, and numbers of devices are given out again at once.
    if (open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC) >= 0 || (errno != ENOTCONN && errno != ECONNABORTED)) _exit(0);
    for (int number = 0; number < 3; number++)
        if (open("/dev/null", O_RDWR) < 0) _exit(1);
    // The one for the end of the mount may come more than once.
    signal(SIGUSR1, SIG_IGN);
    sigset_t signals;
    sigemptyset(&signals);
    sigprocmask(SIG_SETMASK, &signals, NULL);
    const char *programs[] = {"/usr/bin/fusermount3", "/bin/fusermount3", "/usr/local/bin/fusermount3"};
    for (int number = 0; number < 3; number++)
        execl(programs[number], "fusermount3", "-u", "-z", "-q", "--", directory, (char *)NULL);
}

pid_t clinux_guard_mount(const char *device, const char *place, const char *directory) {
    pid_t guarded = getpid();
    pid_t child = _Fork();
    if (child != 0) return child;
    sigset_t signals;
    sigfillset(&signals);
    sigprocmask(SIG_SETMASK, &signals, NULL);
    // Neither the mount nor what waits for its end is to be kept open by this process, nor is it to look like that of a mount. Where the
    // kernel cannot close them all, a mount without a guard is better.
    if (syscall(SYS_close_range, 0, ~0U, 0) != 0) _exit(1);
    memset(program_invocation_name, 0, strlen(program_invocation_name));
    prctl(PR_SET_NAME, "mount-guard");
    prctl(PR_SET_PDEATHSIG, SIGUSR1);
    if (chdir("/") != 0) _exit(1);
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    // It may have ended before the signal was asked for.
    if (getppid() == guarded && !is_zombie(guarded)) sigwaitinfo(&signals, NULL);
    // Usually it is gone at once, and the mount with it; or its main thread went because it becomes another program. Who else looks after
    // the mount comes first.
    int is_aborted = 0;
    for (int number = 0; number < 40; number++) {
        if (getppid() != guarded && !is_mounted(device, place)) _exit(0);
        if (number >= 20 && !is_aborted) {
            if (getppid() != guarded) break;
            if (!is_zombie(guarded)) _exit(0);
            abort_connection(device, place, directory);
            is_aborted = 1;
        }
        struct timespec pause = {.tv_nsec = 50 * 1000 * 1000};
        nanosleep(&pause, NULL);
    }
    if (getppid() != guarded && is_mounted(device, place)) unmount_dead(directory);
    _exit(0);
}
