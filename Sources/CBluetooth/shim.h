#pragma once
#include <bluetooth/bluetooth.h>
#include <bluetooth/l2cap.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>

// What Swift sees as enums of their own types or not at all.
static const int CBLUETOOTH_EVENTFD_FLAGS = EFD_CLOEXEC | EFD_NONBLOCK;
// Index of SO_MEMINFO's array (linux/sock_diag.h): bytes that were sent and not yet handed to the controller.
static const int CBLUETOOTH_MEMINFO_SENT = 2;
static const int CBLUETOOTH_MEMINFO_COUNT = 9;

// The calling thread's name as in ps(1), at most 15 bytes of it.
static inline void cbluetooth_name_thread(const char *name) {
    prctl(PR_SET_NAME, name);
}
