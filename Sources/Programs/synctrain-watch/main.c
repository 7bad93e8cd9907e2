/* synctrain-watch: watches directories with libinotifytools for one FolderWatcher.
 *
 * Copyright (C) 2026 the authors of synctrain
 *
 * This program is free software; you can redistribute it and/or modify it under the terms of the GNU General Public
 * License as published by the Free Software Foundation; either version 2 of the License, or (at your option) any later
 * version. It is distributed in the hope that it will be useful, but WITHOUT ANY WARRANTY; without even the implied
 * warranty of MERCHANTABILITY or FITNESS FOR A PARTICULAR PURPOSE. See the GNU General Public License for more details.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Commands come on standard input, frames go to standard output; docs/decisions/watching.md describes both. The
 * program ends when its input ends. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inotifytools/inotify.h>
#include <inotifytools/inotifytools.h>
#include <linux/openat2.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    protocol_version = 1,
    header_size = 3, /* length of what follows (2 bytes), kind (1 byte) */
    path_limit = 4095,
    frame_limit = header_size + 4 + path_limit,
    output_size = 1 << 20,
    /* Kept free of events, so that answers and the word of an overflow always find room. */
    output_reserve = 1 << 16,
    /* Commands are looked at after so many events at the latest. */
    events_per_turn = 2048,
    /* Milliseconds that events are let come together in the kernel, which has room for 16,384. */
    gathering_pause = 10,
    event_mask = IN_ATTRIB | IN_CLOSE_WRITE | IN_CREATE | IN_DELETE | IN_MODIFY | IN_MOVED_FROM | IN_MOVED_TO
                 | IN_ONLYDIR | IN_EXCL_UNLINK,
    root_mask = IN_DELETE_SELF | IN_MOVE_SELF,
};

/* What went wrong when the program ends by itself. */
enum stage { stage_root = 1, stage_instance = 2, stage_command = 3, stage_events = 4 };

/* MARK: the library's three system calls
 *
 * libinotifytools keeps its descriptor to itself, does not say which watch a call added, and never forgets a watch
 * that the kernel removed. The linker takes these definitions before libc's, also for the calls in the library. */

static int instance = -1;
static int added_watch = -1;
static bool was_watched = false;

int inotify_init(void) {
    instance = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    return instance;
}

static bool is_watched(int watch) { return watch > 0 && *inotifytools_filename_from_wd(watch) != '\0'; }

int inotify_add_watch(int descriptor, const char *name, uint32_t mask) {
    added_watch = (int)syscall(SYS_inotify_add_watch, descriptor, name, mask);
    was_watched = is_watched(added_watch);
    if (!was_watched) return added_watch;
    /* The library would enter it a second time and lose one of the two. */
    errno = EEXIST;
    return -1;
}

int inotify_rm_watch(int descriptor, int watch) {
    int result = (int)syscall(SYS_inotify_rm_watch, descriptor, watch);
    /* The kernel was faster: nothing is left to remove but the library's own entry. */
    return result == -1 && errno == EINVAL ? 0 : result;
}

/* MARK: output */

static uint8_t output[output_size];
static size_t output_start = 0, output_end = 0;
static bool is_overflowing = false;

static size_t output_room(void) { return output_size - (output_end - output_start); }

static void put_bytes(const void *bytes, size_t count) {
    memcpy(output + output_end, bytes, count);
    output_end += count;
}

static void put_number(uint32_t number) {
    const uint8_t bytes[4] = {(uint8_t)(number >> 24), (uint8_t)(number >> 16), (uint8_t)(number >> 8), (uint8_t)number};
    put_bytes(bytes, sizeof bytes);
}

static void put_long(uint64_t number) {
    put_number((uint32_t)(number >> 32));
    put_number((uint32_t)number);
}

/* Begins a frame whose content is `count` bytes. The caller has seen to it that there is room. */
static void begin_frame(char kind, size_t count) {
    if (output_end + header_size + count > output_size) {
        memmove(output, output + output_start, output_end - output_start);
        output_end -= output_start;
        output_start = 0;
    }
    const size_t length = count + 1;
    const uint8_t header[header_size] = {(uint8_t)(length >> 8), (uint8_t)length, (uint8_t)kind};
    put_bytes(header, header_size);
}

/* Writes what the reader takes now; false if there is no reader any more. */
static bool flush_output(void) {
    while (output_start < output_end) {
        ssize_t count = write(STDOUT_FILENO, output + output_start, output_end - output_start);
        if (count < 0) {
            if (errno == EINTR) continue;
            return errno == EAGAIN || errno == EWOULDBLOCK;
        }
        output_start += (size_t)count;
    }
    output_start = output_end = 0;
    return true;
}

static int fail(enum stage stage, int error) {
    if (output_room() >= header_size + 5) {
        const uint8_t code = (uint8_t)stage;
        begin_frame('x', 5);
        put_bytes(&code, 1);
        put_number((uint32_t)error);
        flush_output();
    }
    return 1;
}

/* MARK: events */

static void put_overflow(void) {
    if (is_overflowing) return;
    is_overflowing = true;
    begin_frame('o', 0);
}

static void put_event(const struct inotify_event *event) {
    if (event->mask & IN_Q_OVERFLOW) {
        put_overflow();
        return;
    }
    /* The name is padded with NUL bytes. */
    const size_t name_length = event->len > 0 ? strnlen(event->name, event->len) : 0;
    const size_t count = 12 + name_length;
    if (is_overflowing && output_room() > output_size / 2) is_overflowing = false;
    if (is_overflowing || output_room() < output_reserve + header_size + count) {
        put_overflow();
        if (event->mask & IN_IGNORED) inotifytools_remove_watch_by_wd(event->wd);
        return;
    }
    if (event->mask & IN_IGNORED) {
        inotifytools_remove_watch_by_wd(event->wd);
        begin_frame('g', 4);
        put_number((uint32_t)event->wd);
        return;
    }
    begin_frame('e', count);
    put_number((uint32_t)event->wd);
    put_number(event->mask);
    put_number(event->cookie);
    put_bytes(event->name, name_length);
}

/* Takes events that are there; false if they cannot be read. Sets `more` if there may be others, which the library may
 * hold in memory so that polling the descriptor would not tell. */
static bool take_events(bool *more) {
    *more = false;
    for (int taken = 0; taken < events_per_turn; taken++) {
        const struct inotify_event *event = inotifytools_next_events(0, 1);
        if (event == NULL) {
            const int error = inotifytools_error();
            return error == 0 || error == EINTR || error == EAGAIN;
        }
        put_event(event);
    }
    *more = true;
    return true;
}

/* MARK: commands */

static int root = -1;

static void watch(uint32_t request, const char *path) {
    struct open_how how = {
        .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
    };
    const bool is_root = *path == '\0';
    int error = 0;
    long directory = -1;
    /* EAGAIN says that a rename elsewhere raced with the walk and the kernel cannot tell. */
    for (int attempt = 0; attempt < 16; attempt++) {
        directory = syscall(SYS_openat2, root, is_root ? "." : path, &how, sizeof how);
        error = directory < 0 ? errno : 0;
        if (error != EAGAIN) break;
    }
    added_watch = -1;
    was_watched = false;
    if (error == 0) {
        /* The library takes a path; that of the working directory cannot be changed under our feet. */
        if (fchdir((int)directory) != 0) {
            error = errno;
        } else if (!inotifytools_watch_file(".", event_mask | (is_root ? root_mask : 0)) && !was_watched) {
            error = inotifytools_error() != 0 ? inotifytools_error() : EIO;
        }
        close((int)directory);
        /* Not to keep a disk beneath the root from being unmounted. */
        if (fchdir(root) != 0 && error == 0) error = errno;
    }
    if (error == 0) {
        const uint8_t flags = was_watched ? 1 : 0;
        begin_frame('w', 9);
        put_number(request);
        put_number((uint32_t)added_watch);
        put_bytes(&flags, 1);
    } else {
        begin_frame('f', 8);
        put_number(request);
        put_number((uint32_t)error);
    }
}

static uint32_t number_at(const uint8_t *bytes) {
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

/* Whether `path` is relative and names something below where it starts: no empty part, no `.`, no `..`, no NUL. */
static bool is_held(const uint8_t *path, size_t count) {
    if (count > path_limit || memchr(path, '\0', count) != NULL) return false;
    size_t start = 0;
    while (start <= count && count > 0) {
        const uint8_t *slash = memchr(path + start, '/', count - start);
        const size_t length = slash == NULL ? count - start : (size_t)(slash - path) - start;
        if (length == 0) return false;
        if (path[start] == '.' && (length == 1 || (length == 2 && path[start + 1] == '.'))) return false;
        start += length + 1;
    }
    return true;
}

enum verdict { verdict_done, verdict_quit, verdict_bad };

static enum verdict obey(const uint8_t *content, size_t count) {
    const uint8_t *rest = content + 1;
    switch (content[0]) {
        case 'w': {
            if (count < 5 || !is_held(rest + 4, count - 5)) return verdict_bad;
            char path[path_limit + 1];
            memcpy(path, rest + 4, count - 5);
            path[count - 5] = '\0';
            watch(number_at(rest), path);
            return verdict_done;
        }
        case 'u':
            if (count != 5) return verdict_bad;
            inotifytools_remove_watch_by_wd((int)number_at(rest));
            return verdict_done;
        case 'q': return count == 1 ? verdict_quit : verdict_bad;
        default: return verdict_bad;
    }
}

static uint8_t input[4 * frame_limit];
static size_t input_count = 0;

/* Obeys the whole commands in `input` as long as there is room for the answers. Sets `waits` if one had to wait. */
static enum verdict obey_all(bool *waits) {
    size_t start = 0;
    enum verdict verdict = verdict_done;
    *waits = false;
    while (verdict == verdict_done && input_count - start >= 2) {
        const size_t length = (size_t)input[start] << 8 | input[start + 1];
        if (length == 0 || length > frame_limit - 2) return verdict_bad;
        if (input_count - start < 2 + length) break;
        if (output_room() < output_reserve / 2) {
            *waits = true;
            break;
        }
        verdict = obey(input + start + 2, length);
        start += 2 + length;
    }
    memmove(input, input + start, input_count - start);
    input_count -= start;
    return verdict;
}

/* How the program ends after a command that is not obeyed by going on. What was said so far is still said. */
static int end(enum verdict verdict) {
    if (verdict == verdict_bad) return fail(stage_command, EINVAL);
    flush_output();
    return 0;
}

static bool set_nonblocking(int descriptor) {
    const int flags = fcntl(descriptor, F_GETFL);
    return flags >= 0 && fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) == 0;
}

static int run(void) {
    bool has_more_events = false, command_waits = false;
    for (;;) {
        if (!flush_output()) return 0;
        if (command_waits && output_room() >= output_reserve) {
            const enum verdict verdict = obey_all(&command_waits);
            if (verdict != verdict_done) return end(verdict);
        }
        struct pollfd polled[3] = {
            /* Even when no command can be taken: the end of the input is told without asking. */
            {.fd = STDIN_FILENO, .events = command_waits ? 0 : POLLIN},
            {.fd = instance, .events = POLLIN},
            {.fd = STDOUT_FILENO, .events = output_start < output_end ? POLLOUT : 0},
        };
        if (poll(polled, 3, has_more_events ? 0 : -1) < 0 && errno != EINTR) return fail(stage_events, errno);
        /* A program that makes many files would have this one and the agent wake for each; commands do not wait. */
        if (!has_more_events && polled[1].revents == POLLIN && polled[0].revents == 0) poll(polled, 1, gathering_pause);
        /* Events first: those of a directory before the answer to a command about it. */
        if (has_more_events || polled[1].revents != 0) {
            if (!take_events(&has_more_events)) return fail(stage_events, inotifytools_error());
        }
        if (polled[0].revents & POLLIN) {
            const ssize_t count = read(STDIN_FILENO, input + input_count, sizeof input - input_count);
            if (count == 0) return 0;
            if (count < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) return 0;
            if (count > 0) {
                input_count += (size_t)count;
                const enum verdict verdict = obey_all(&command_waits);
                if (verdict != verdict_done) return end(verdict);
            }
        } else if (polled[0].revents != 0) {
            return 0;
        }
        if (polled[2].revents & (POLLERR | POLLHUP)) return 0;
    }
}

int main(int count, char **arguments) {
    /* The end of the input says the same, but only to a program that is running. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGPIPE, SIG_IGN);
    /* Nothing that the parent forgot to keep to itself. */
    close_range(STDERR_FILENO + 1, ~0u, 0);
    if (!set_nonblocking(STDIN_FILENO) || !set_nonblocking(STDOUT_FILENO)) return 1;
    struct stat status;
    if (count != 2) return fail(stage_root, EINVAL);
    root = open(arguments[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (root < 0 || fstat(root, &status) != 0 || fchdir(root) != 0) return fail(stage_root, errno);
    if (!inotifytools_initialize()) return fail(stage_instance, inotifytools_error());
    if (instance < 0) return fail(stage_instance, ENOSYS);
    const uint8_t version = protocol_version;
    begin_frame('h', 17);
    put_bytes(&version, 1);
    put_long((uint64_t)status.st_dev);
    put_long((uint64_t)status.st_ino);
    return run();
}
