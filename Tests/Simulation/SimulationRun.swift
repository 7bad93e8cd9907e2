import Foundation

/// Many seeds, two at a time: a simulation itself does one thing after the other.
enum SimulationRun {
    /// A number of the environment.
    static func number(_ name: String) -> UInt64? {
        ProcessInfo.processInfo.environment["SYNCTRAIN_SIMULATION_\(name)"].flatMap { UInt64($0) }
    }

    /// The seeds that the environment asks for: so many, or as many as fit into so many minutes.
    static func seeds(_ count: UInt64) -> some Sequence<UInt64> {
        let first = number("FIRST") ?? 1
        let end = number("MINUTES").map { ContinuousClock.now + .seconds(60 * Int64(clamping: $0)) }
        let limit = end == nil ? number("SEEDS") ?? count : .max - first
        return (first..<first + limit).lazy.prefix { _ in end.map { ContinuousClock.now < $0 } ?? true }
    }

    static func run(
        _ seeds: some Sequence<UInt64>,
        _ weather: @escaping @Sendable (UInt64) -> Simulation.Weather = { .init(seed: $0) },
        _ report: @Sendable (Simulation.Outcome) -> Void
    ) async throws {
        try await withThrowingTaskGroup(of: Simulation.Outcome.self) { group in
            var running = 0
            for seed in seeds {
                if running == 2, let outcome = try await group.next() {
                    report(outcome)
                    running -= 1
                }
                running += 1
                group.addTask { try await Simulation.run(seed: seed, weather: weather(seed)) }
            }
            for try await outcome in group { report(outcome) }
        }
    }
}
