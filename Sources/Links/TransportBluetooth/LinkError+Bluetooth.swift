import Glibc
import MessageBus
import Transport

extension LinkError {
    /// Why Bluetooth cannot be used at the moment.
    init(unusable state: BluetoothState) {
        self.init(
            state.code == .notPermitted ? .permissionDenied : .unreachable, state.phrase, isTransient: true,
            cause: state.code.rawValue)
    }

    /// Why a channel to `peer` failed, in words for the user.
    init(connecting peer: BluetoothAddress, _ error: SystemError) {
        let cause = error.description
        switch error.code {
        case ECONNREFUSED:
            self.init(
                .refused, "\(peer) refuses the connection; check that its agent is running and that it is nearby",
                isTransient: true, cause: cause)
        case ETIMEDOUT, EHOSTUNREACH, EHOSTDOWN, ECONNABORTED, ECONNRESET, EIO:
            self = .outOfRange(peer, cause)
        case EACCES, EPERM, EKEYREJECTED:
            self.init(
                .permissionDenied,
                "\(peer) asks for an encrypted link; pair the two in the desktop's Bluetooth settings first",
                isTransient: true, cause: cause)
        case EBUSY, EALREADY:
            self.init(
                .failed, "the adapter is busy with another connection; retrying", isTransient: true,
                cause: cause)
        case ENETDOWN, ENODEV, ENETUNREACH:
            self.init(
                .unreachable, "the Bluetooth adapter is off or gone; switch it on", isTransient: true, cause: cause)
        case EPROTONOSUPPORT, EAFNOSUPPORT, ESOCKTNOSUPPORT:
            self.init(
                .unreachable, "this kernel has no Bluetooth; load its module (`modprobe bluetooth`)",
                isTransient: false, cause: cause)
        default:
            self.init(.failed, "cannot connect to \(peer): \(cause)", isTransient: true, cause: cause)
        }
    }

    /// Why bluetoothd could not do something with `peer`, in words for the user.
    init(asking peer: BluetoothAddress, _ error: BusError) {
        let cause = error.description
        switch (error.code, error.name) {
        case (.disconnected, _):
            self.init(
                .unreachable, "bluetoothd cannot be reached; see `systemctl status bluetooth`", isTransient: true,
                cause: cause)
        case (.timedOut, _): self = .outOfRange(peer, cause)
        case (_, "org.bluez.Error.NotPermitted"), (_, "org.bluez.Error.InProgress"):
            self.init(
                .failed, "bluetoothd is busy with \(peer), for this program or another; retrying",
                isTransient: true, cause: cause)
        case (_, "org.freedesktop.DBus.Error.AccessDenied"), (_, "org.bluez.Error.NotAuthorized"):
            self.init(
                .permissionDenied,
                "this user may not use Bluetooth; add it to the group bluetooth and log in again",
                isTransient: true, cause: cause)
        case (_, "org.bluez.Error.NotReady"):
            self.init(
                .unreachable, "the Bluetooth adapter is off; switch it on with `bluetoothctl power on`",
                isTransient: true, cause: cause)
        case (_, "org.bluez.Error.Failed"), (_, "org.freedesktop.DBus.Error.UnknownObject"),
            (_, "org.freedesktop.DBus.Error.NoReply"), (_, "org.bluez.Error.NotConnected"),
            (_, "org.bluez.Error.DoesNotExist"):
            self = .outOfRange(peer, cause)
        default:
            self.init(.failed, "bluetoothd cannot connect to \(peer): \(cause)", isTransient: true, cause: cause)
        }
    }

    static func outOfRange(_ peer: BluetoothAddress, _ cause: String?) -> LinkError {
        LinkError(
            .unreachable,
            "\(peer) is not in range; bring the devices closer together and check that its "
                + "Bluetooth is on",
            isTransient: true, cause: cause)
    }

    static func tooSlow(_ peer: BluetoothAddress) -> LinkError {
        LinkError(
            .timedOut, "no answer from \(peer) in time; bring the devices closer together", isTransient: true)
    }
}
