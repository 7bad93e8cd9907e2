import ControlAPI
import FileAccess
import SyncTestKit
import Testing

@testable import FolderSync

/// Deaths while extraneous files are settled: at each call that changes the disk, one after the other.
@Suite(.serialized, .timeLimit(.minutes(60))) struct SettlingCrashTests {
    typealias Action = ExtraneousResolution.Action

    private static func files(_ agent: SimulatedAgent) -> [String: String] {
        var files: [String: String] = [:]
        for name in agent.files.allNames(all: true) {
            guard let path = RelativePath(name), !path.isInternal, !path.isTemporary || path.isSwap else { continue }
            if let bytes = agent.files.read(name) { files[name] = String(decoding: bytes, as: UTF8.self) }
        }
        return files
    }

    private static func put(_ text: String, _ name: String, _ agent: SimulatedAgent) {
        #expect(agent.files.write(Array(text.utf8), to: name))
        agent.disk.changedByUser("\(agent.files.root)/\(name)")
    }

    /// What is settled: of `d/a` the others have another version, of `own` none.
    private static func paths(_ action: Action) -> [String] {
        switch action {
        case .keepMine, .keepTheirs, .keepBoth: ["d/a"]
        default: ["own"]
        }
    }

    private static let cases: [(Action, FaultyDisk.End)] = [
        (.keepMine, .killed), (.keepMine, .powerLost), (.keepTheirs, .killed), (.keepTheirs, .powerLost),
        (.keepBoth, .killed), (.keepBoth, .powerLost), (.delete, .killed), (.delete, .powerLost),
        (.select, .killed), (.select, .powerLost), (.ignore, .killed), (.ignore, .powerLost),
        // Where it is moved to is no simulated disk.
        (.moveTo, .killed),
    ]

    /// Whatever the moment: what nobody gave up is somewhere, the other device keeps what it has unless this one's version
    /// was chosen, and saying the same once more ends where it would have ended without the death.
    @Test(arguments: cases.indices) func atNoMomentMoreGoesThanWasChosen(number: Int) async throws {
        let (action, end) = Self.cases[number]
        var deaths = 0
        for moment in 0..<60 {
            let died = Flag()
            try await Simulation.run(seed: UInt64(moment + 1), weather: .init(agentCount: 2)) { simulation in
                if try await Self.settle(action, in: simulation, end, after: moment) { died.set() }
            }
            if died.isSet { deaths += 1 } else { break }
        }
        #expect(deaths > 0, "\(action) changes nothing on the disk")
    }

    /// Gives whether the agent died.
    private static func settle(
        _ action: Action, in simulation: isolated Simulation, _ end: FaultyDisk.End, after moment: Int
    ) async throws -> Bool {
        let (first, second) = (simulation.agents[0], simulation.agents[1])
        put("!/f\n*\n", ".stignore", second)
        second.selectionChanged()
        #expect(first.files.makeDirectory("d"))
        for name in ["f", "d/a", "d/b"] { #expect(first.files.write(Array(name.utf8), to: name)) }
        first.process?.folder.boards.inbox.scanEverything()
        #expect(try await simulation.settle() == [])
        #expect(second.files.makeDirectory("d"))
        put("mine", "d/a", second)
        put("own", "own", second)
        simulation.hideRealTimes(second)
        let elsewhere = "\(simulation.home)/elsewhere"

        second.disk.plan(end, after: moment)
        _ = await simulation.resolve(paths(action), action, elsewhere, at: second)
        let hasDied = !second.isUp
        if !hasDied { second.disk.planNoEnd() }
        check(action, first, second, elsewhere, "\(end) after \(moment), at once")
        #expect(try await simulation.settle() == [])
        check(action, first, second, elsewhere, "\(end) after \(moment), settled")
        _ = await simulation.resolve(paths(action), action, elsewhere, at: second)
        #expect(try await simulation.settle() == [])
        check(action, first, second, elsewhere, "\(end) after \(moment), said again")
        #expect(try await simulation.indexProblems(of: second) == [])
        #expect(simulation.trace.violations == [])

        let (here, there) = (files(second), files(first))
        switch action {
        case .keepMine: #expect(here["d/a"] == "mine" && there["d/a"] == "mine", "\(here) \(there)")
        // The choice was made, and the line is not there: left out.
        case .keepTheirs, .keepBoth: #expect([nil, "d/a"].contains(here["d/a"]), "\(here)")
        case .delete, .moveTo: #expect(here["own"] == nil && there["own"] == nil, "\(here) \(there)")
        case .select: #expect(there["own"] == "own", "\(there)")
        case .ignore: #expect(here["own"] == "own" && there["own"] == nil, "\(here) \(there)")
        }
        return hasDied
    }

    /// What holds at every moment.
    private static func check(
        _ action: Action, _ first: SimulatedAgent, _ second: SimulatedAgent, _ elsewhere: String, _ when: String
    ) {
        let (here, there) = (files(second), files(first))
        let isMoved = UserFiles(root: elsewhere).read("own") == Array("own".utf8)
        let words = "\(action), \(when): \(here), \(there)"
        if action != .keepTheirs { #expect(here.values.contains("mine"), "\(words)") }
        if action != .delete { #expect((here["own"] == "own") != isMoved, "\(words)") }
        #expect(here["f"] == "f" && there["f"] == "f" && there["d/b"] == "d/b", "\(words)")
        let theirs = action == .keepMine ? ["d/a", "mine"] : ["d/a"]
        #expect(theirs.contains(there["d/a"] ?? ""), "\(words)")
    }
}
