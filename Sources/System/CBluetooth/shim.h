#pragma once
#include <bluetooth/bluetooth.h>
#include <bluetooth/hci.h>
#include <bluetooth/hci_lib.h>
#include <bluetooth/l2cap.h>

// What Swift sees as enums of their own types or not at all.
// Index of SO_MEMINFO's array (linux/sock_diag.h): bytes that were sent and not yet handed to the controller.
static const int CBLUETOOTH_MEMINFO_SENT = 2;
static const int CBLUETOOTH_MEMINFO_COUNT = 9;

// Bytes of L2CAP that an adapter has sent since it came up, modulo 2^32: for measuring, needs CAP_NET_RAW. The virtual
// controller's driver counts each packet with its type and header, 5 bytes.
static inline int cbluetooth_sent(int adapter, uint32_t *bytes) {
    struct hci_dev_info info = { .dev_id = 0 };
    if (hci_devinfo(adapter, &info) < 0) return -1;
    *bytes = info.stat.byte_tx - 5 * info.stat.acl_tx;
    return 0;
}
