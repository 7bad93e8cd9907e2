import CBluetooth
import Logging
import MessageBus
import Transport
import TransportBluetooth

/// What a stream gets out of the link, beside plain sockets of the kernel on the same link in the same minute.
enum Goodput {
    private static let rounds = 5
    private static let byteCount: [LinkKind: Int] = [.l2cap: 1024 * 1024, .gatt: 96 * 1024]
    private static let plainByteCount = 1024 * 1024
    /// Of the bytes that both adapters send while a stream's go one way, the share that is the stream's.
    private static let leastEfficiency: [LinkKind: Double] = [.l2cap: 0.96, .gatt: 0.93]
    /// What is urgent may wait behind so many bytes that were written before it.
    private static let mostUnderWay: [LinkKind: Int] = [.l2cap: 64 * 1024, .gatt: 64 * 1024]

    private struct Figures {
        var rates: [Double] = []
        var efficiencies: [Double] = []
        var mostUnderWay = 0

        mutating func add(_ result: Transfer.Result, _ carried: UInt32) {
            rates.append(Double(result.byteCount) / 1000 / (result.duration / .seconds(1)))
            efficiencies.append(Double(result.byteCount) / Double(carried))
            mostUnderWay = max(mostUnderWay, result.mostUnderWay)
        }
    }

    /// One link of each kind is kept; they and the plain sockets take turns, and each is compared with those right before
    /// and after it.
    static func measure(_ lab: Lab) async throws {
        var other = BluetoothConfiguration(adapter: "hci1")
        other.usesL2CAP = false
        let byValues = try BluetoothTransport(configuration: other, logger: Logger(label: "by values"))
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await byValues.run() }
            defer { group.cancelAll() }
            try await lab.listen { address, links in
                try await Lab.wait("by values", byValues) { $0.code == .ready }
                guard let from = lab.dialling.state.address, let to = lab.listening.state.address else {
                    throw Probe.Failure("no address")
                }
                let channel = try await lab.link(to: address, &links)
                let values = try await lab.link(to: address, by: byValues, &links)
                var plain: [Double] = []
                var figures: [LinkKind: Figures] = [:]
                // The first byte of each, which opened it.
                var skipped = 1
                for round in 0...rounds {
                    plain.append(
                        Double(plainByteCount) / 1000
                            / (try await SocketProbe.run(plainByteCount, from: from, to: to) / .seconds(1)))
                    guard round < rounds else { break }
                    for (dialled, accepted) in [channel, values] {
                        let byteCount = byteCount[dialled.kind] ?? 0
                        let before = try sent()
                        let result = try await Transfer.send(
                            byteCount, from: dialled, to: accepted, skipping: skipped, seed: UInt64(round))
                        // What acknowledges the last bytes is a part of the cost.
                        try await Task.sleep(for: .milliseconds(200))
                        let carried = try sent() &- before
                        try Transfer.check(result, byteCount, "\(dialled.kind), round \(round)")
                        figures[dialled.kind, default: Figures()].add(result, carried)
                    }
                    skipped = 0
                }
                for end in [channel.dialled, channel.accepted, values.dialled, values.accepted] { await end.close() }
                say("  plain sockets: \(Int(median(plain))) KB/s")
                for kind in [LinkKind.l2cap, .gatt] {
                    guard let figures = figures[kind] else { throw Probe.Failure("no link by \(kind)") }
                    try report(kind, figures, plain)
                }
            }
        }
    }

    private static func report(_ kind: LinkKind, _ figures: Figures, _ plain: [Double]) throws {
        let ratios = figures.rates.indices.map { 2 * figures.rates[$0] / (plain[$0] + plain[$0 + 1]) }
        let efficiency = median(figures.efficiencies)
        say(
            "  \(kind): \(Int(median(figures.rates))) KB/s, \(hundredths(median(ratios))) of plain sockets "
                + "(\(ratios.map(hundredths).joined(separator: " "))), \(hundredths(efficiency)) of the bytes on the link, "
                + "at most \(figures.mostUnderWay / 1024) KiB under way")
        guard efficiency >= leastEfficiency[kind] ?? 0 else {
            throw Probe.Failure("\(kind): \(hundredths(efficiency)) of the bytes on the link are the stream's")
        }
        guard figures.mostUnderWay <= mostUnderWay[kind] ?? .max else {
            throw Probe.Failure("\(kind): \(figures.mostUnderWay) bytes under way")
        }
    }

    /// Bytes of L2CAP that both adapters have sent.
    private static func sent() throws -> UInt32 {
        var sum: UInt32 = 0
        for adapter in 0...1 {
            var bytes: UInt32 = 0
            guard cbluetooth_sent(CInt(adapter), &bytes) == 0 else { throw SystemError("hci_devinfo") }
            sum &+= bytes
        }
        return sum
    }

    private static func median(_ values: [Double]) -> Double {
        let sorted = values.sorted()
        guard !sorted.isEmpty else { return 0 }
        return (sorted[(sorted.count - 1) / 2] + sorted[sorted.count / 2]) / 2
    }

    private static func hundredths(_ value: Double) -> String {
        let number = Int((value * 1000).rounded())
        return "\(number / 1000).\(String(1000 + number % 1000).dropFirst())"
    }
}
