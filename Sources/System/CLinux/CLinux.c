// What the header cannot do inline: it is read without _GNU_SOURCE.
#define _GNU_SOURCE
#include "CLinux.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <spawn.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/timex.h>

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

int64_t clinux_receive(int socket, void *bytes, size_t count, int *descriptor, int waits) {
    *descriptor = -1;
    struct iovec part = {.iov_base = bytes, .iov_len = count};
    char control[CMSG_SPACE(sizeof(int))] = {0};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    ssize_t received = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | (waits ? 0 : MSG_DONTWAIT));
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
