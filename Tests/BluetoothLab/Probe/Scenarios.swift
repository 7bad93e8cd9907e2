import NIOCore
import Synchronization
import Transport
import TransportBluetooth

/// What is tried in the laboratory. Each begins with both adapters on and nothing connected.
enum Scenarios {
    private static let byteCount = 256 * 1024

    /// A channel by what the capabilities say, bytes both ways, and once more by what is remembered.
    static func l2cap(_ lab: Lab) async throws {
        try await lab.listen { address, links in
            for round in 1...2 {
                let (dialled, accepted) = try await lab.link(to: address, &links)
                try expect(dialled.kind, .l2cap)
                let there = try await Transfer.send(byteCount, from: dialled, to: accepted, skipping: 1)
                try Transfer.check(there, byteCount, "round \(round), there")
                let back = try await Transfer.send(byteCount, from: accepted, to: dialled, seed: 2)
                try Transfer.check(back, byteCount, "round \(round), back")
                await dialled.close()
                await accepted.close()
            }
        }
    }

    /// No PSM is published, so the link is GATT's.
    static func gatt(_: Lab) async throws {
        try await Lab.with(offersL2CAP: false) { lab in
            try await lab.listen { address, links in try await gattTransfers(lab, address, &links, rounds: 2) }
        }
    }

    /// bluetoothd gives the central no sockets, so values go by calls and signals.
    static func gattByCalls(_: Lab) async throws {
        try await Lab.with(offersL2CAP: false, usesValueSockets: false) { lab in
            try await lab.listen { address, links in try await gattTransfers(lab, address, &links, rounds: 1) }
        }
    }

    private static func gattTransfers(
        _ lab: Lab, _ address: LinkAddress, _ links: inout LinkListener<RawLink>.Iterator, rounds: Int
    ) async throws {
        for round in 1...rounds {
            let (dialled, accepted) = try await lab.link(to: address, &links)
            try expect(dialled.kind, .gatt)
            let count = byteCount / 2
            let there = try await Transfer.send(count, from: dialled, to: accepted, skipping: 1)
            try Transfer.check(there, count, "round \(round), there")
            let back = try await Transfer.send(count, from: accepted, to: dialled, seed: 2)
            try Transfer.check(back, count, "round \(round), back")
            await dialled.close()
            await accepted.close()
        }
    }

    /// The other device is found by a scan.
    static func nearby(_ lab: Lab) async throws {
        try await lab.listen { address, _ in
            for _ in 1...4 {
                let found = try await lab.dialling.scan(for: .seconds(5))
                say("  found \(found)")
                if found.contains(where: { $0.address == address }) { return }
            }
            throw Probe.Failure("\(address) is not among those nearby")
        }
    }

    /// The listening adapter goes off in the middle of a transfer and comes back.
    static func powerOff(_ lab: Lab) async throws {
        try await lab.listen { address, links in
            try await breaking(lab, address, &links) {
                try Lab.shell("(sleep 1) | btmgmt --index 0 power off > /dev/null")
            }
            try await Lab.wait("switched off", lab.listening) { $0.code == .poweredOff }
            try Lab.shell("(sleep 1) | btmgmt --index 0 power on > /dev/null")
            try await Lab.wait("switched on", lab.listening) { $0.code == .ready && $0.isAdvertising }
            try await again(lab, address, &links)
        }
    }

    /// The connection is cut in the middle of a transfer.
    static func disconnect(_ lab: Lab) async throws {
        try await lab.listen { address, links in
            guard let peer = lab.listening.state.address else { throw Probe.Failure("no address") }
            try await breaking(lab, address, &links) {
                try Lab.shell("(sleep 1) | btmgmt --index 1 disconnect -t 1 \(peer) > /dev/null")
            }
            try await again(lab, address, &links)
        }
    }

    /// bluetoothd ends and comes back.
    static func restart(_ lab: Lab) async throws {
        try await lab.listen { address, links in
            try Lab.shell("/run/bluetoothd-stop")
            try await Lab.wait("stopped", lab.listening) { $0.code == .noService }
            try Lab.shell("/run/bluetoothd-restart")
            try await Lab.wait("started", lab.listening) { $0.code == .ready && $0.isAdvertising }
            try await Lab.wait("started", lab.dialling) { $0.code == .ready }
            try await again(lab, address, &links)
        }
    }

    /// GATT with one ATT bearer in place of bluetoothd's three.
    static func oneBearer(_: Lab) async throws {
        try Lab.shell("/run/bluetoothd-restart -f /run/one-bearer.conf")
        do {
            try await Lab.with(offersL2CAP: false) { lab in
                try await lab.listen { address, links in try await gattTransfers(lab, address, &links, rounds: 1) }
            }
            try Lab.shell("/run/bluetoothd-restart")
        } catch {
            try Lab.shell("/run/bluetoothd-restart")
            throw error
        }
    }

    /// Airplane mode on and off.
    static func blocked(_ lab: Lab) async throws {
        try await lab.listen { address, links in
            let all = "for r in /sys/class/rfkill/rfkill*; do echo"
            try Lab.shell("\(all) 1 > $r/soft; done")
            try await Lab.wait("airplane mode", lab.listening) { $0.code == .blocked }
            try Lab.shell("\(all) 0 > $r/soft; done")
            try Lab.shell("for i in 0 1; do (sleep 1) | btmgmt --index $i power on > /dev/null; done")
            try await Lab.wait("airplane mode over", lab.listening) { $0.code == .ready && $0.isAdvertising }
            try await Lab.wait("airplane mode over", lab.dialling) { $0.code == .ready }
            try await again(lab, address, &links)
        }
    }

    // MARK: parts

    /// A transfer in the middle of which `breakIt` is called: both ends must end, and what arrived must be right.
    private static func breaking(
        _ lab: Lab, _ address: LinkAddress, _ links: inout LinkListener<RawLink>.Iterator,
        _ breakIt: @escaping @Sendable () throws -> Void
    ) async throws {
        let (dialled, accepted) = try await lab.link(to: address, &links)
        let large = 64 * 1024 * 1024
        let start = Mutex<ContinuousClock.Instant?>(nil)
        let interruption = Interruption(byteCount: 200_000) {
            start.withLock { $0 = ContinuousClock.now }
            do { try breakIt() } catch { say("  \(error)") }
        }
        let result = try await Transfer.send(
            large, from: dialled, to: accepted, skipping: 1, interruption: interruption)
        guard result.firstWrong == nil, result.byteCount < large, result.byteCount > 200_000 else {
            throw Probe.Failure("the break was not seen: \(result)")
        }
        let since = start.withLock { $0 } ?? ContinuousClock.now
        await accepted.close()
        try await dialled.channel.closeFuture.get()
        say(
            "  broke after \(result.byteCount) bytes, all right; both ends closed \(Report.seconds(since: since)) after"
        )
    }

    /// A new link works as the first did.
    private static func again(
        _ lab: Lab, _ address: LinkAddress, _ links: inout LinkListener<RawLink>.Iterator
    ) async throws {
        let (dialled, accepted) = try await lab.link(to: address, &links)
        let result = try await Transfer.send(byteCount / 2, from: dialled, to: accepted, skipping: 1)
        try Transfer.check(result, byteCount / 2, "again")
        await dialled.close()
        await accepted.close()
    }

    private static func expect(_ kind: LinkKind, _ expected: LinkKind) throws {
        guard kind == expected else { throw Probe.Failure("the link is \(kind), not \(expected)") }
    }
}
