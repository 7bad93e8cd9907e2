import CBluetooth
import Glibc
import MessageBus

/// A connection-oriented Bluetooth LE channel of the kernel (Core Specification Vol 3, Part A, 10): packets in order,
/// each whole.
package struct L2CAPSocket: Sendable {
    package let descriptor: Descriptor

    /// Largest packet that is taken from a peer.
    package static let receiveLimit = 16 * 1024
    /// Largest packet that is sent, also to a peer that takes more. The kernel cuts a packet to pieces that all need
    /// memory at the same time, each more than a kilobyte; from about 28,000 bytes on it would never find it and wait
    /// for 40 s. With 8 KiB there is room again when the socket says so.
    package static let sendLimit = 8 * 1024
    /// The PSMs that a listener may be given (Vol 3, Part A, 4.22).
    package static let dynamicPSMs: ClosedRange<UInt16> = 0x80...0xFF

    package init(_ descriptor: Descriptor) { self.descriptor = descriptor }

    /// A socket at `local`, an adapter's address.
    ///
    /// - Parameter psm: where it will listen; 0 for one that connects.
    private static func bound(
        to local: BluetoothAddress, _ kind: BluetoothAddressKind, psm: UInt16
    ) throws(SystemError) -> L2CAPSocket {
        let type = CInt(SOCK_SEQPACKET.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let number = socket(AF_BLUETOOTH, type, BTPROTO_L2CAP)
        guard number >= 0 else { throw SystemError("socket") }
        let descriptor = Descriptor(owning: number)
        guard withSocketAddress(local, kind, psm: psm, { bind(number, $0, $1) }) == 0 else { throw SystemError("bind") }
        var limit = UInt16(receiveLimit)
        guard setsockopt(number, SOL_BLUETOOTH, BT_RCVMTU, &limit, socklen_t(MemoryLayout<UInt16>.size)) == 0 else {
            throw SystemError("setsockopt")
        }
        return L2CAPSocket(descriptor)
    }

    /// Listens at a PSM of the dynamic range: at `preferred` if it is free, else at the first free one.
    package static func listen(
        at local: BluetoothAddress, _ kind: BluetoothAddressKind, preferred: UInt16 = dynamicPSMs.lowerBound
    ) throws(SystemError) -> (socket: L2CAPSocket, psm: UInt16) {
        for psm in [preferred] + dynamicPSMs where dynamicPSMs.contains(psm) {
            do throws(SystemError) {
                let socket = try bound(to: local, kind, psm: psm)
                // A link more or less is all there is near; the kernel's queue holds them while one is looked at.
                guard Glibc.listen(socket.descriptor.number, 8) == 0 else { throw SystemError("listen") }
                return (socket, psm)
            } catch  where error.code == EADDRINUSE {
                continue
            }
        }
        throw SystemError("bind", EADDRINUSE)
    }

    /// Starts to connect; a socket is writable when that has ended, and `pendingError` says how.
    ///
    /// - Parameters:
    ///   - count: how many sockets ask, as close together as can be, so that each asks under a number of its own.
    ///   - isEncrypted: has the link layer encrypt, for which bluetoothd may have to pair the two devices.
    package static func connect(
        from local: BluetoothAddress, _ localKind: BluetoothAddressKind, to peer: BluetoothAddress,
        _ peerKind: BluetoothAddressKind, psm: UInt16, isEncrypted: Bool = false, count: Int = 1
    ) throws(SystemError) -> [L2CAPSocket] {
        var sockets: [L2CAPSocket] = []
        for _ in 0..<count {
            let socket = try bound(to: local, localKind, psm: 0)
            if isEncrypted { try socket.requireEncryption() }
            sockets.append(socket)
        }
        for socket in sockets {
            let result = withSocketAddress(peer, peerKind, psm: psm) {
                Glibc.connect(socket.descriptor.number, $0, $1)
            }
            guard result == 0 || errno == EINPROGRESS || errno == EAGAIN else { throw SystemError("connect") }
        }
        return sockets
    }

    private func requireEncryption() throws(SystemError) {
        var security = bt_security(level: UInt8(BT_SECURITY_MEDIUM), key_size: 0)
        guard
            setsockopt(
                descriptor.number, SOL_BLUETOOTH, BT_SECURITY, &security, socklen_t(MemoryLayout<bt_security>.size))
                == 0
        else { throw SystemError("setsockopt") }
    }

    /// The next connection that waits at a listening socket; nil when there is none.
    package func accept() throws(SystemError) -> (socket: L2CAPSocket, peer: BluetoothAddress)? {
        var address = sockaddr_l2()
        var length = socklen_t(MemoryLayout<sockaddr_l2>.size)
        let number = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { Glibc.accept(descriptor.number, $0, &length) }
        }
        guard number >= 0 else {
            switch errno {
            case EAGAIN, EINTR, ECONNABORTED: return nil
            default: throw SystemError("accept")
            }
        }
        let accepted = Descriptor(owning: number)
        guard fcntl(number, F_SETFD, FD_CLOEXEC) >= 0 else { throw SystemError("fcntl") }
        try accepted.makeNonBlocking()
        return (L2CAPSocket(accepted), BluetoothAddress(address.l2_bdaddr))
    }

    /// The largest packet to send on a connected socket: what the peer takes, and at most `sendLimit`.
    package func packetLimit() throws(SystemError) -> Int {
        var limit: UInt16 = 0
        var length = socklen_t(MemoryLayout<UInt16>.size)
        guard getsockopt(descriptor.number, SOL_BLUETOOTH, BT_SNDMTU, &limit, &length) == 0 else {
            throw SystemError("getsockopt")
        }
        // The specification's least is 23; a peer that says less gets that.
        return min(max(Int(limit), 23), Self.sendLimit)
    }

    private static func withSocketAddress<Result>(
        _ address: BluetoothAddress, _ kind: BluetoothAddressKind, psm: UInt16,
        _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
    ) -> Result {
        var whole = sockaddr_l2()
        whole.l2_family = sa_family_t(AF_BLUETOOTH)
        whole.l2_psm = psm.littleEndian
        whole.l2_bdaddr = address.kernel
        whole.l2_bdaddr_type = kind.kernel
        return withUnsafePointer(to: &whole) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_l2>.size))
            }
        }
    }
}
