import Glibc
import NIOCore
import NIOPosix
import Transport

extension LinkError {
    /// Why a connection to `address` failed, in words for the user.
    init(dialing address: LinkAddress, _ error: any Error) {
        if let error = error as? LinkError {
            self = error
            return
        }
        if let error = error as? NIOConnectionError {
            if let last = error.connectionErrors.last {
                self.init(dialing: address, last.error)
            } else {
                self = .unresolved(address, String(describing: error))
            }
            return
        }
        let cause = String(describing: error)
        switch error {
        case is CancellationError:
            self.init(.failed, "the dial of \(address) was cancelled", isTransient: true)
        case ChannelError.connectTimeout:
            self = .timedOut(address, cause)
        case is SocketAddressError:
            self = .unresolved(address, cause)
        case let error as IOError:
            switch error.errnoCode {
            case ECONNREFUSED:
                self.init(
                    .refused, "nothing listens at \(address); start the other device's agent, or check the port",
                    there: "nothing listens there; start the other device's agent, or check the port",
                    isTransient: true, cause: cause)
            case ENETUNREACH, EHOSTUNREACH, ENETDOWN, EHOSTDOWN, EADDRNOTAVAIL:
                self.init(
                    .unreachable, "\(address) cannot be reached from here; check that both devices are on a network",
                    there: "cannot be reached from here; check that both devices are on a network", isTransient: true,
                    cause: cause)
            case ETIMEDOUT:
                self = .timedOut(address, cause)
            case EINVAL where address.ipAddress.map { $0.isLinkLocal && !$0.isIPv4 && $0.zone == nil } ?? false:
                self.init(
                    .invalidAddress,
                    "\(address) lacks the network interface that leads to it; add it, as in tcp://[fe80::1%eth0]:22000",
                    there:
                        "the network interface that leads there is missing; add it, as in tcp://[fe80::1%eth0]:22000",
                    isTransient: false, cause: cause)
            case EACCES, EPERM:
                self.init(
                    .permissionDenied, "this machine's firewall blocks connections to \(address)",
                    there: "this machine's firewall blocks connections", isTransient: false,
                    cause: cause)
            default:
                self.init(
                    .failed, "cannot connect to \(address): \(cause)", there: "cannot connect: \(cause)",
                    isTransient: true,
                    cause: cause)
            }
        default:
            self.init(
                .failed, "cannot connect to \(address): \(cause)", there: "cannot connect: \(cause)", isTransient: true,
                cause: cause)
        }
    }

    /// Why `address` cannot be listened on, in words for the user.
    init(listeningOn address: LinkAddress, _ error: any Error) {
        if let error = error as? LinkError {
            self = error
            return
        }
        let cause = String(describing: error)
        switch (error as? IOError)?.errnoCode {
        case EADDRINUSE:
            self.init(
                .addressInUse,
                "cannot listen on \(address): another program uses that port (Syncthing uses 22000 too); "
                    + "stop it, or listen on another port",
                isTransient: false, cause: cause)
        case EADDRNOTAVAIL, EAFNOSUPPORT:
            self.init(
                .addressUnavailable,
                "cannot listen on \(address): no interface of this machine has that address; "
                    + "tcp://:\(LinkAddress.defaultPort) listens on all of them",
                isTransient: true, cause: cause)
        case EACCES, EPERM:
            self.init(
                .permissionDenied,
                Self.isSystemPort(address)
                    ? "cannot listen on \(address): ports below 1024 are for the system; choose a higher one"
                    : "cannot listen on \(address): this system's rules do not allow it (SELinux, AppArmor or a sandbox); allow it there",
                isTransient: false, cause: cause)
        default:
            self.init(.failed, "cannot listen on \(address): \(cause)", isTransient: true, cause: cause)
        }
    }

    private static func isSystemPort(_ address: LinkAddress) -> Bool {
        guard case .tcp(_, let port) = address else { return false }
        return (1..<1024).contains(port)
    }

    /// The C library knows no address for the host: of a number, no index for the interface that it names.
    private static func unresolved(_ address: LinkAddress, _ cause: String) -> LinkError {
        if let zone = address.ipAddress?.zone {
            return LinkError(
                .addressUnavailable,
                "this machine has no network interface \(zone), which \(address) names; `ip link` lists those that it has",
                there: "this machine has no network interface \(zone); `ip link` lists those that it has",
                isTransient: true, cause: cause)
        }
        return LinkError(
            .hostNotFound, "the name in \(address) cannot be resolved; check it, or use the device's IP address",
            there: "the name cannot be resolved; check it, or use the device's IP address", isTransient: true,
            cause: cause)
    }

    private static func timedOut(_ address: LinkAddress, _ cause: String) -> LinkError {
        LinkError(
            .timedOut, "no answer from \(address); check that the device is on and that no firewall blocks it",
            there: "no answer; check that the device is on and that no firewall blocks it", isTransient: true,
            cause: cause)
    }
}
