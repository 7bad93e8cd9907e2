import NIOCore
import TransportVirtual

/// What of the radio's time and bytes a stream gets, over L2CAP and GATT, and a file of GhostDrop's first version, with
/// packets lost on the air and GATT packets dropped by the hosts. In virtual time: the same figures on every machine.
///
///     swift build -c release --product RadioBenchmark && .build/release/RadioBenchmark [--json] [BYTES]
@main
enum RadioBenchmark {
    struct Row {
        /// `l2cap`, `gatt`, or `ghostdrop-v1` over L2CAP.
        var stream: String
        var radio: String
        var loss: Double
        var dropped: Double
        var result: Result

        /// Against the same radio without loss.
        var ideal = 0.0
    }

    struct Result {
        var seconds: Double
        var bytesPerSecond: Double
        /// The stream's share of all bytes of L2CAP frames, both directions together.
        var shareOfFrames: Double
        /// The stream's share of all bytes on the air.
        var shareOfAir: Double

        /// After `received` bytes of a file came out of a connection.
        init(_ received: Int, of connection: VirtualConnection, finishedAt: Duration) {
            seconds = Double(finishedAt.components.seconds) + Double(finishedAt.components.attoseconds) / 1e18
            let statistics = VirtualLink.Side.allCases.map { connection.statistics(from: $0) }
            bytesPerSecond = Double(received) / seconds
            shareOfFrames = Double(received) / Double(statistics.reduce(0) { $0 + $1.frameBytes })
            shareOfAir = Double(received) / Double(statistics.reduce(0) { $0 + $1.airBytes })
        }
    }

    static func main() throws {
        let byteCount = CommandLine.arguments.dropFirst().compactMap { Int($0) }.first ?? 1_000_000
        var rows: [Row] = []
        for (radio, change) in radios {
            for mode in VirtualConnection.Mode.allCases {
                var cases = [(0, 0), (0.01, 0), (0.05, 0), (0.2, 0)] as [(Double, Double)]
                // The hosts of L2CAP drop nothing.
                if mode == .gatt { cases += [(0, 0.01), (0, 0.05), (0, 0.2)] }
                for (loss, dropped) in cases {
                    var conditions = RadioConditions()
                    change(&conditions)
                    conditions.loss = loss
                    conditions.datagramLoss = dropped
                    rows.append(
                        Row(
                            stream: mode.rawValue, radio: radio, loss: loss, dropped: dropped,
                            result: transfer(byteCount, mode, conditions)))
                }
            }
            for loss in [0, 0.01, 0.05, 0.2] {
                var conditions = RadioConditions()
                change(&conditions)
                conditions.loss = loss
                rows.append(
                    Row(
                        stream: "ghostdrop-v1", radio: radio, loss: loss, dropped: 0,
                        result: try GhostDropTransfer.run(byteCount, conditions)))
            }
        }
        for index in rows.indices {
            let clean = rows.first { $0.stream == rows[index].stream && $0.radio == rows[index].radio }
            rows[index].ideal = rows[index].result.bytesPerSecond / (clean?.result.bytesPerSecond ?? 1)
        }
        if CommandLine.arguments.contains("--json") { printJSON(rows) } else { printTable(rows, byteCount) }
    }

    static let radios: [(String, @Sendable (inout RadioConditions) -> Void)] = [
        ("1M, 15 ms", { _ in }),
        ("2M, 15 ms", { $0.phy = .twoMegabit }),
        (
            "1M, 30 ms, 4 packets an event",
            {
                $0.connectionInterval = .milliseconds(30)
                $0.packetsPerEvent = 4
            }
        ),
    ]

    /// Sends so many bytes one way.
    static func transfer(
        _ byteCount: Int, _ mode: VirtualConnection.Mode, _ conditions: RadioConditions
    ) -> Result {
        var connection = VirtualConnection(mode, conditions, seed: 1, start: .zero)
        var now = Duration.zero
        var unwritten = byteCount, received = 0
        var finishedAt = now
        func feed() {
            while case let count = min(connection.room(at: .central), unwritten), count > 0 {
                connection.write(ByteBuffer(repeating: 0x5A, count: count), from: .central, at: now)
                unwritten -= count
            }
        }
        feed()
        while received < byteCount, let deadline = connection.nextDeadline {
            now = max(now, deadline)
            connection.advance(to: now)
            received += connection.take(atMost: .max, at: .peripheral, now: now).readableBytes
            finishedAt = now
            feed()
        }
        return Result(received, of: connection, finishedAt: finishedAt)
    }

    static func printTable(_ rows: [Row], _ byteCount: Int) {
        print("\(byteCount) bytes one way; shares are the stream's bytes of all L2CAP frames and of all on the air.")
        print("| radio | stream | lost on the air | dropped by hosts | KB/s | of no loss | of frames | of the air |")
        print("|---|---|---|---|---|---|---|---|")
        for row in rows {
            print(
                "| \(row.radio) | \(names[row.stream] ?? row.stream) | \(percent(row.loss)) | "
                    + "\(percent(row.dropped)) | \(tenths(row.result.bytesPerSecond / 1000)) | "
                    + "\(hundredths(row.ideal)) | \(thousandths(row.result.shareOfFrames)) | "
                    + "\(thousandths(row.result.shareOfAir)) |")
        }
    }

    static func printJSON(_ rows: [Row]) {
        for row in rows {
            print(
                "{\"radio\":\"\(row.radio)\",\"mode\":\"\(row.stream)\",\"loss\":\(row.loss),"
                    + "\"dropped\":\(row.dropped),\"bytesPerSecond\":\(row.result.bytesPerSecond),"
                    + "\"ofNoLoss\":\(row.ideal),\"ofFrames\":\(row.result.shareOfFrames),"
                    + "\"ofAir\":\(row.result.shareOfAir)}")
        }
    }

    static let names = ["l2cap": "L2CAP", "gatt": "GATT", "ghostdrop-v1": "GhostDrop v1, L2CAP"]

    static func percent(_ share: Double) -> String { "\(Int((share * 100).rounded())) %" }
    static func tenths(_ number: Double) -> String { "\((number * 10).rounded() / 10)" }
    static func hundredths(_ number: Double) -> String { "\((number * 100).rounded() / 100)" }
    static func thousandths(_ number: Double) -> String { "\((number * 1000).rounded() / 1000)" }
}
