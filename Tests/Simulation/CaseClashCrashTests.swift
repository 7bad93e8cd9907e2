import FileAccess
import SyncTestKit
import Testing

@testable import FolderSync

/// Deaths while one of two files gets another name: at each call that changes the disk, one after the other.
@Suite(.serialized, .timeLimit(.minutes(60))) struct CaseClashCrashTests {
    private static let contents = ["Photo.JPG": "upper", "photo.jpg": "lower"]

    private static func files(_ agent: SimulatedAgent) -> [String: String] {
        var files: [String: String] = [:]
        for name in agent.files.allNames(all: true) {
            guard let path = RelativePath(name), !path.isInternal, !path.isTemporary || path.isSwap else { continue }
            if let bytes = agent.files.read(name) { files[name] = String(decoding: bytes, as: UTF8.self) }
        }
        return files
    }

    @Test(arguments: ["photo.jpg", "Photo.JPG"], [FaultyDisk.End.killed, .powerLost])
    func bothFilesAreOnBothDisksInTheEnd(second name: String, end: FaultyDisk.End) async throws {
        let other = try #require(Self.contents.keys.first { $0 != name })
        var deaths = 0
        for moment in 0..<60 {
            let hasDied = Flag()
            var weather = Simulation.Weather(agentCount: 2)
            weather.folding[1] = FoldedNames()
            weather.renamesClashes = true
            try await Simulation.run(seed: UInt64(moment + 1), weather: weather) { simulation in
                let (first, second) = (simulation.agents[0], simulation.agents[1])
                #expect(first.files.write(Array((Self.contents[other] ?? "").utf8), to: other))
                first.process?.folder.boards.inbox.scanEverything()
                #expect(try await simulation.settle() == [])
                #expect(Self.files(second) == [other: Self.contents[other]])

                #expect(first.files.write(Array((Self.contents[name] ?? "").utf8), to: name))
                try await simulation.tell(first, second)
                second.disk.plan(end, after: moment)
                for _ in 0..<8 where !hasDied.isSet {
                    try await simulation.looks(second)
                    if second.isUp { try await simulation.work(second) }
                    if !second.isUp { hasDied.set() }
                }
                #expect(try await simulation.settle() == [])
                let here = Self.files(first)
                #expect(here == Self.files(second), "\(end) after \(moment)")
                #expect(here["Photo.JPG"] == "upper" && here.count == 2, "\(end) after \(moment): \(here)")
                let renamed = here.first { $0.key != "Photo.JPG" }
                #expect(renamed?.value == "lower" && renamed?.key.hasPrefix("photo.case-clash-") == true)
                for agent in [first, second] { #expect(try await simulation.indexProblems(of: agent) == []) }
                #expect(simulation.trace.violations == [])
            }
            guard hasDied.isSet else { break }
            deaths += 1
        }
        #expect(deaths >= 3, "too few deaths for a file that comes and one that is renamed")
    }
}
