import Glibc
import Logging
import NIOCore
import Transport
import TransportBluetooth

/// Runs scenarios between the two adapters of the laboratory and says of each what came out.
@main
enum Probe {
    struct Failure: Error, CustomStringConvertible {
        var description: String

        init(_ description: String) { self.description = description }
    }

    typealias Scenario = (name: String, run: @Sendable (Lab) async throws -> Void)

    static let scenarios: [Scenario] = [
        // First, for a device that bluetoothd knows already is news only by its signal's strength, which virtual
        // controllers do not have.
        ("nearby", Scenarios.nearby),
        ("l2cap", Scenarios.l2cap),
        ("gatt", Scenarios.gatt),
        ("gatt-calls", Scenarios.gattByCalls),
        ("goodput", Goodput.measure),
        ("poweroff", Scenarios.powerOff),
        ("disconnect", Scenarios.disconnect),
        ("restart", Scenarios.restart),
        ("one-bearer", Scenarios.oneBearer),
        ("rfkill", Scenarios.blocked),
    ]

    static func main() async {
        let wanted = Set(CommandLine.arguments.dropFirst())
        let unknown = wanted.subtracting(scenarios.map(\.name)).subtracting(["-v"])
        guard unknown.isEmpty else {
            say("no scenario \(unknown.sorted().joined(separator: ", ")); there are \(scenarios.map(\.name))")
            exit(2)
        }
        let isVerbose = wanted.contains("-v")
        LoggingSystem.bootstrap { label in
            var handler = StreamLogHandler.standardOutput(label: label)
            handler.logLevel = isVerbose ? .debug : .info
            return handler
        }
        var failures = 0
        for scenario in scenarios where wanted.subtracting(["-v"]).isEmpty || wanted.contains(scenario.name) {
            let start = ContinuousClock.now
            do {
                try await Lab.with { try await scenario.run($0) }
                say("PASS \(scenario.name) in \(Report.seconds(since: start))")
            } catch {
                failures += 1
                say("FAIL \(scenario.name) after \(Report.seconds(since: start)): \(error)")
                if let cause = (error as? LinkError)?.cause { say("  because of \(cause)") }
            }
        }
        say(failures == 0 ? "all passed" : "\(failures) failed")
        exit(failures == 0 ? 0 : 1)
    }
}

/// Writes a line at once: the machine may end at any moment.
func say(_ line: String) {
    let bytes = Array((line + "\n").utf8)
    _ = write(STDOUT_FILENO, bytes, bytes.count)
}

enum Report {
    static func seconds(since start: ContinuousClock.Instant) -> String {
        let milliseconds = Int((ContinuousClock.now - start) / .milliseconds(1))
        return "\(milliseconds / 1000).\(String(1000 + milliseconds % 1000).dropFirst()) s"
    }

    static func rate(_ byteCount: Int, _ duration: Duration) -> Int {
        Int(Double(byteCount) / max(duration / .seconds(1), 0.001) / 1000)
    }
}
