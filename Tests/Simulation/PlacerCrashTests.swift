import ControlAPI
import FileAccess
import IndexStore
import SyncTestKit
import Testing

@testable import FolderSync

/// Deaths while something is put into its place on request, at each call that changes the disk, one after the other. What a
/// pull and a restored version do there: `VersionTests`; groups: `GroupCrashTests`; what is extraneous: `SettlingCrashTests`.
@Suite(.serialized, .timeLimit(.minutes(60))) struct PlacerCrashTests {
    private static func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

    private static func files(_ agent: SimulatedAgent) -> [String: String] {
        var files: [String: String] = [:]
        for name in agent.files.allNames(all: true) {
            guard let path = RelativePath(name), !path.isInternal, !path.isTemporary || path.isSwap else { continue }
            if let bytes = agent.files.read(name) { files[name] = String(decoding: bytes, as: UTF8.self) }
        }
        return files
    }

    /// The contents of all that is in the folder or in its archive.
    private static func held(by agent: SimulatedAgent) -> Set<String> {
        let archived = agent.files.allNames(below: ".stversions", all: true)
        return Set(
            (archived + files(agent).keys).compactMap { name in
                agent.files.read(name).map { String(decoding: $0, as: UTF8.self) }
            })
    }

    /// What a fetch finds in the file's place.
    enum Found: CaseIterable {
        case nothing
        /// Something of the user's own, which `--force` replaces.
        case another
        /// What the index knows to be there.
        case known
    }

    /// Whatever the moment: in the place is the whole of the one or of the other, the index knows which, and the next fetch
    /// ends where it would have ended.
    @Test(arguments: Found.allCases, [FaultyDisk.End.killed, .powerLost])
    func aFetchPutsAllOfAFileIntoItsPlaceOrNothing(found: Found, end: FaultyDisk.End) async throws {
        var deaths = 0
        for moment in 0..<60 {
            let died = Flag()
            try await Simulation.run(seed: UInt64(moment + 1), weather: .init(agentCount: 2)) { simulation in
                let (first, second) = (simulation.agents[0], simulation.agents[1])
                #expect(second.files.write(Self.bytes("!/g\n*\n"), to: ".stignore"))
                second.disk.changedByUser("\(second.files.root)/.stignore")
                second.selectionChanged()
                #expect(first.files.makeDirectory("d"))
                for name in ["d/f", "g"] { #expect(first.files.write(Self.bytes(name), to: name)) }
                first.process?.folder.boards.inbox.scanEverything()
                #expect(try await simulation.settle() == [])
                var before: String?
                switch found {
                case .nothing: break
                case .another:
                    #expect(second.files.makeDirectory("d") && second.files.write(Self.bytes("mine"), to: "d/f"))
                    second.disk.changedByUser("\(second.files.root)/d/f")
                    before = "mine"
                case .known:
                    #expect(await simulation.fetch("d/f", at: second))
                    #expect(first.files.write(Self.bytes("changed"), to: "d/f"))
                    try await simulation.tell(first, second)
                    before = "d/f"
                }
                simulation.hideRealTimes(second)
                let wanted = found == .known ? "changed" : "d/f"

                second.disk.plan(end, after: moment)
                _ = await simulation.fetch("d/f", at: second)
                if second.isUp { second.disk.planNoEnd() } else { died.set() }
                let now = Self.files(second)
                #expect(now["d/f"] == before || now["d/f"] == wanted, "\(end) after \(moment): \(now)")
                #expect(now["g"] == "g")
                #expect(try await simulation.settle() == [])
                #expect(await simulation.fetch("d/f", at: second))
                #expect(Self.files(second) == ["d/f": wanted, "g": "g"])
                #expect(try await simulation.settle() == [])
                #expect(Self.files(first) == ["d/f": wanted, "g": "g"])
                let noted = try await second.process?.index.global(SimulatedAgent.folder, "d/f")
                #expect(noted?.isLocalCurrent == true || noted?.local?.flags.contains(.ignored) == true)
                #expect(try await simulation.indexProblems(of: second) == [])
                // It was asked for, which the disk does not know.
                #expect(simulation.trace.violations.allSatisfy { $0.contains("filled d") })
            }
            if died.isSet { deaths += 1 } else { break }
        }
        #expect(deaths > 3, "it died \(deaths) times only")
    }

    /// Whatever the moment: both sides of the conflict are in the folder or in the archive, and saying the same once more, where
    /// there is still a conflict, leaves what was chosen.
    @Test(arguments: ConflictResolution.Keep.allCases, [FaultyDisk.End.killed, .powerLost])
    func aConflictIsResolvedOrStays(keep: ConflictResolution.Keep, end: FaultyDisk.End) async throws {
        var deaths = 0
        for moment in 0..<60 {
            let died = Flag()
            var weather = Simulation.Weather(agentCount: 2)
            weather.versions = Array(repeating: .init(kind: .trashcan), count: 2)
            try await Simulation.run(seed: UInt64(moment + 1), weather: weather) {
                (simulation: isolated Simulation) async throws -> Void in
                let (first, second) = (simulation.agents[0], simulation.agents[1])
                #expect(first.files.write(Self.bytes("f"), to: "f"))
                first.process?.folder.boards.inbox.scanEverything()
                #expect(try await simulation.settle() == [])
                // Both change it at the same time; the second agent's is the older one, and loses.
                #expect(second.files.write(Self.bytes("second's"), to: "f"))
                // Their clocks are hours apart.
                second.files.setTime(FileTime(seconds: first.wall.seconds - 1000), of: "f")
                #expect(first.files.write(Self.bytes("first's"), to: "f"))
                simulation.hideRealTimes(first)
                for agent in [first, second] { agent.process?.folder.boards.inbox.scanEverything() }
                #expect(try await simulation.settle() == [])

                second.disk.plan(end, after: moment)
                await simulation.resolve("f", keep, at: second)
                if second.isUp { second.disk.planNoEnd() } else { died.set() }
                if end == .killed {
                    #expect(Self.held(by: second).isSuperset(of: ["first's", "second's"]), "after \(moment)")
                }
                #expect(try await simulation.settle() == [])
                await simulation.resolve("f", keep, at: second)
                #expect(try await simulation.settle() == [])
                #expect(Self.held(by: first).union(Self.held(by: second)).isSuperset(of: ["first's", "second's"]))
                let files = Self.files(second)
                #expect(files == Self.files(first))
                switch keep {
                case .mine: #expect(files == ["f": "second's"])
                case .theirs: #expect(files == ["f": "first's"])
                case .both: #expect(Set(files.values) == ["first's", "second's"] && files["f"] == "first's")
                }
                #expect(!files.keys.contains { $0.contains(".sync-conflict-") })
                #expect(simulation.trace.violations == [])
            }
            if died.isSet { deaths += 1 } else { break }
        }
        #expect(deaths >= 2, "it died \(deaths) times only")
    }
}

extension Simulation {
    /// Runs a fetch of one file with `--force`; false if it was cut short or could not be done.
    func fetch(_ path: String, at agent: SimulatedAgent) async -> Bool {
        let isDone = Flag()
        await inProcess(of: agent) { process in
            guard let place = try? process.folder.boards.places.current.get(),
                let entry = try? await process.index.global(SimulatedAgent.folder, path)
            else { return }
            let tools = process.folder.runner.tools
            let job = FetchJob(
                roots: [.init(folder: process.folder, entry: entry, place: place)], isForced: true,
                index: process.index,
                environment: tools.fetching, transfers: tools.transfers, deviceNames: { _ in [] })
            try? await job.run(failures: []) { event in
                if case .done(_, _, failed: 0, _) = event { isDone.set() }
            }
        }
        return isDone.isSet
    }

    /// Decides a conflict. That there is none, or that it is cut short, is no matter here.
    func resolve(_ path: String, _ keep: ConflictResolution.Keep, at agent: SimulatedAgent) async {
        await inProcess(of: agent) { process in
            _ = try? await process.folder.runner.perform(ResolveConflictsStep(path: path, keep: keep))
        }
    }
}
