import Foundation

/// Many seeds, two at a time: a simulation itself does one thing after the other.
enum SimulationRun {
    static func run(
        _ seeds: Range<UInt64>, _ weather: @escaping @Sendable (UInt64) -> Simulation.Weather = { .init(seed: $0) },
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
                group.addTask { try await Simulation(seed: seed, weather: weather(seed)).run() }
            }
            for try await outcome in group { report(outcome) }
        }
    }
}
