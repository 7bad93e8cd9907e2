import Glibc
import MessageBus
import Threads

/// Accepts L2CAP channels in a thread of its own until it is stopped.
final class L2CAPListener: Sendable {
    let psm: UInt16
    private let wake: WakeFlag

    /// - Parameter accepted: called in the listener's thread; it may not wait.
    init(
        at local: BluetoothAddress, _ kind: BluetoothAddressKind, preferred: UInt16?,
        accepted: @escaping @Sendable (L2CAPSocket, BluetoothAddress) -> Void,
        failed: @escaping @Sendable (SystemError) -> Void
    ) throws(SystemError) {
        let listening = try L2CAPSocket.listen(
            at: local, kind, preferred: preferred ?? L2CAPSocket.dynamicPSMs.lowerBound)
        let wake = try WakeFlag()
        psm = listening.psm
        self.wake = wake
        try OwnedThread.startWaiting("bluetooth-psm") {
            Self.work(listening.socket, wake, accepted, failed)
        }
    }

    deinit { stop() }

    /// Ends the listening, soon after this returns.
    func stop() { wake.raise() }

    private static func work(
        _ socket: L2CAPSocket, _ wake: WakeFlag, _ accepted: (L2CAPSocket, BluetoothAddress) -> Void,
        _ failed: (SystemError) -> Void
    ) {
        while true {
            var poll = Poll()
            poll.add(socket.descriptor.number, .readable)
            poll.add(wake.descriptor.number, .readable)
            let events = poll.wait(nil)
            if !events[1].isEmpty { return }
            if events[0].isEmpty { continue }
            do throws(SystemError) {
                if let (socket, peer) = try socket.accept() { accepted(socket, peer) }
            } catch {
                let isPassing = [EMFILE, ENFILE, ENOMEM, ENOBUFS].contains(error.code)
                guard isPassing else { return failed(error) }
                // Descriptors may come free; the peers wait in the kernel's queue.
                var pause = Poll()
                pause.add(wake.descriptor.number, .readable)
                if pause.wait(.seconds(1)).first?.isEmpty == false { return }
            }
        }
    }
}
