import AgentConfiguration
import ControlAPI
import FileAccess
import IndexStore
import SyncTestKit
import Synchronization
import Testing

@testable import FolderSync

/// Extraneous files that people settle, and names that they delete everywhere.
@Suite(.serialized, .timeLimit(.minutes(60))) struct SettlingTests {
    private static func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

    private func files(_ agent: SimulatedAgent) -> [String: String] {
        var files: [String: String] = [:]
        for name in agent.files.allNames(all: true) {
            guard let path = RelativePath(name), !path.isInternal, !path.isTemporary || path.isSwap else { continue }
            if let bytes = agent.files.read(name) { files[name] = String(decoding: bytes, as: UTF8.self) }
        }
        return files
    }

    /// The first has `f`, `d/a` and `d/b` with their names as contents; the second keeps only `f`.
    private func pair(
        seed: UInt64 = 1,
        _ body: @escaping @Sendable (isolated Simulation, SimulatedAgent, SimulatedAgent) async throws -> Void
    ) async throws {
        try await Simulation.run(seed: seed, weather: .init(agentCount: 2)) { simulation in
            let (first, second) = (simulation.agents[0], simulation.agents[1])
            #expect(second.files.write(Self.bytes("!/f\n*\n"), to: ".stignore"))
            second.disk.changedByUser("\(second.files.root)/.stignore")
            second.selectionChanged()
            #expect(first.files.makeDirectory("d"))
            for name in ["f", "d/a", "d/b"] { #expect(first.files.write(Self.bytes(name), to: name)) }
            first.process?.folder.boards.inbox.scanEverything()
            #expect(try await simulation.settle() == [])
            #expect(files(second) == ["f": "f"])
            try await body(simulation, first, second)
            #expect(simulation.trace.violations == [])
        }
    }

    private func put(_ text: String, _ name: String, _ agent: SimulatedAgent) {
        if name.hasPrefix("d/") { _ = agent.files.makeDirectory("d") }
        #expect(agent.files.write(Self.bytes(text), to: name))
        agent.disk.changedByUser("\(agent.files.root)/\(name)")
    }

    @Test(arguments: [ExtraneousResolution.Action.keepMine, .keepTheirs, .keepBoth], [false, true])
    func twoVersionsOfOneName(action: ExtraneousResolution.Action, wasKnown: Bool) async throws {
        try await pair { simulation, first, second in
            if wasKnown {
                await simulation.select(["d/a"], at: second)
                #expect(try await simulation.settle() == [])
                _ = await simulation.deselect(["d/a"], at: second, .keep)
            }
            put("mine", "d/a", second)
            simulation.hideRealTimes(second)
            let dry = try #require(await simulation.resolve(["d/a"], action, at: second, isDryRun: true))
            #expect(dry.names == ["d/a"])
            #expect(dry.lostFiles == (action == .keepTheirs ? 1 : 0))
            #expect(files(second) == ["f": "f", "d/a": "mine"] && files(first)["d/a"] == "d/a")
            let outcome = try #require(await simulation.resolve(["d/a"], action, at: second))
            #expect(outcome.files == 1 && outcome.staying.isEmpty)
            #expect(try await simulation.settle() == [])
            for agent in [first, second] {
                let contents = files(agent).filter { $0.key.hasPrefix("d/a") }
                switch action {
                case .keepMine: #expect(contents == ["d/a": "mine"])
                case .keepTheirs: #expect(contents == ["d/a": "d/a"])
                default:
                    #expect(contents.count == 2 && contents["d/a"] == "d/a", "\(contents)")
                    #expect(contents.first { $0.key != "d/a" }?.value == "mine")
                }
            }
            #expect(files(first)["d/b"] == "d/b")
        }
    }

    @Test func whatNobodyElseHasIsSelectedDeletedMovedOrLeftAlone() async throws {
        try await pair { simulation, first, second in
            for name in ["d/mine", "gone", "out", "alone", "in"] { put(name, name, second) }
            simulation.hideRealTimes(second)
            #expect(
                await simulation.resolve(["in"], .keepMine, at: second)?.staying.map(\.reason) == ["no-other-version"])
            #expect(await simulation.resolve(["in"], .select, at: second)?.files == 1)
            let dry = try #require(await simulation.resolve(["gone"], .delete, at: second, isDryRun: true))
            #expect(dry.lost.map(\.path) == ["gone"])
            #expect(files(second)["gone"] == "gone")
            #expect(await simulation.resolve(["gone"], .delete, at: second)?.lostFiles == 1)
            let elsewhere = "\(simulation.home)/elsewhere"
            #expect(
                await simulation.resolve(["out", "d"], .moveTo, elsewhere, at: second)?.names == ["d/mine", "out"])
            let there = UserFiles(root: elsewhere)
            #expect(there.read("out") == Self.bytes("out") && there.read("d/mine") == Self.bytes("d/mine"))
            #expect(!second.files.isDirectory("d"))
            // A name that is taken there is not replaced, and the folder itself is no place outside.
            put("again", "out", second)
            #expect(
                await simulation.resolve(["out"], .moveTo, elsewhere, at: second)?.staying.map(\.reason) == ["failed"])
            #expect(there.read("out") == Self.bytes("out") && files(second)["out"] == "again")
            #expect(await simulation.resolve(["out"], .moveTo, "\(second.files.root)/x", at: second) == nil)
            #expect(await simulation.resolve(["f"], .delete, at: second) == nil, "f is selected")
            #expect(await simulation.resolve([".stignore"], .delete, at: second) == nil)
            #expect(await simulation.resolve(["nothing"], .delete, at: second) == nil)
            #expect(await simulation.resolve(["alone", "out"], .ignore, at: second)?.added.count == 2)
            #expect(try await simulation.settle() == [])
            #expect(files(second) == ["f": "f", "in": "in", "alone": "alone", "out": "again"])
            #expect(files(first) == ["f": "f", "d/a": "d/a", "d/b": "d/b", "in": "in"])
            #expect(second.process?.folder.boards.status.snapshot.extraneous == 0)
            put("new", "d/a", second)
            #expect(await simulation.resolve(["d/a"], .select, at: second) == nil, "others have another version")
            #expect(files(second)["d/a"] == "new")
        }
    }

    /// Deleted everywhere, though the deleting device keeps only `f`: it stands when the selection changes and the other
    /// hears of it late.
    @Test(arguments: [false, true]) func deletedEverywhere(isLate: Bool) async throws {
        try await pair { simulation, first, second in
            if isLate { await simulation.cut(.init(from: first.number, to: second.number)) }
            let dry = try #require(await simulation.remove(["d", "f"], at: second, isDryRun: true))
            #expect((dry.files, dry.directories, dry.localFiles) == (3, 1, 1))
            #expect(dry.holders.map(\.id) == [first.id.description] && dry.holders.map(\.files) == [3])
            #expect(files(first).count == 3 && files(second).count == 1)
            let outcome = try #require(await simulation.remove(["d", "f"], at: second))
            #expect(outcome.files == 3 && outcome.staying.isEmpty)
            #expect(files(second) == [:])
            if isLate {
                await simulation.select(["x"], at: second)
                _ = await simulation.deselect(["x", "f"], at: second)
            }
            #expect(try await simulation.settle() == [])
            #expect(files(first) == [:])
            #expect(!first.files.isDirectory("d"))
            #expect(try await simulation.indexProblems(of: second) == [])
        }
    }

    /// What is here and is not what the others have is deleted nowhere.
    @Test func whatDiffersHereIsDeletedNowhere() async throws {
        try await pair { simulation, first, second in
            put("mine", "d/a", second)
            put("edited", "f", second)
            simulation.hideRealTimes(second)
            let outcome = try #require(await simulation.remove(["d", "f"], at: second))
            #expect(outcome.staying.map { "\($0.path) \($0.reason)" } == ["d/a changed-here", "f changed-here"])
            #expect(outcome.names == ["d/b"])
            #expect(try await simulation.settle() == [])
            #expect(files(first) == ["f": "edited", "d/a": "d/a"])
            #expect(files(second) == ["f": "edited", "d/a": "mine"])
            #expect(await simulation.remove(["nothing"], at: second) == nil)
            simulation.configure(second) { $0.kind = .receiveOnly }
            #expect(await simulation.remove(["f"], at: second) == nil)
        }
    }

    @Test(arguments: 0...14) func aCrashWhileDeletingLosesNothingElse(changes: Int) async throws {
        try await pair(seed: UInt64(changes) + 1) { simulation, first, second in
            await simulation.select(["d"], at: second)
            #expect(try await simulation.settle() == [])
            second.disk.plan(.powerLost, after: changes)
            _ = await simulation.remove(["d"], at: second)
            second.disk.planNoEnd()
            if !second.isUp { try await simulation.start(second) }
            #expect(try await simulation.settle() == [])
            #expect(files(first) == files(second))
            #expect(files(first)["f"] == "f")
        }
    }

    /// What is selected while there is space goes by itself, and only that, and only what others hold.
    @Test func keepFreeLetsGoWhatIsSelectedWhileThereIsSpace() async throws {
        try await pair { simulation, first, second in
            await simulation.select(["d"], whileSpace: true, at: second)
            #expect(try await simulation.settle() == [])
            #expect(files(second).count == 3)
            // The other keeps everything, and counts while it is away, once it has heard that this one does not.
            simulation.configure(second) { $0.mode = .selective }
            await simulation.cut(.init(from: first.number, to: second.number))
            try await simulation.connect(first, second)
            await simulation.carry()
            put("new", "d/new", second)
            try await simulation.looks(second)
            await simulation.cut(.init(from: first.number, to: second.number))
            // All of the disk: more than there is.
            simulation.configure(second) { $0.keepFree = .basisPoints(10_000) }
            second.isFreeing = true
            second.process?.folder.boards.inbox.pullEverything()
            for _ in 0..<6 { try await simulation.work(second) }
            second.isFreeing = false
            second.selectionChanged()
            #expect(files(second) == ["f": "f", "d/new": "new"])
            #expect(second.selection?.isLeftOut("d/a") == true && second.selection?.isLeftOut("d/new") == false)
            simulation.configure(second) { $0.keepFree = nil }
            #expect(try await simulation.settle() == [])
            #expect(files(first) == ["f": "f", "d/a": "d/a", "d/b": "d/b", "d/new": "new"])
        }
    }

    /// No line of `.stignore` can deselect it.
    @Test func aNameWithALineBreakDoesNotKeepOthersFromGoing() async throws {
        try await pair { simulation, first, second in
            put("odd", "d/odd\nname", first)
            await simulation.select(["d"], at: second)
            #expect(try await simulation.settle() == [])
            #expect(files(second).count == 4)
            let enough = try #require(await simulation.freeUntil(byteCount: 1, at: second))
            let wanted = enough.available * 2 + 1_000_000
            let done = try #require(await simulation.freeUntil(byteCount: wanted, at: second))
            #expect(done.outcome.freeing?.freedFiles == 3 && done.missing > 0)
            #expect(files(second) == ["d/odd\nname": "odd"])
        }
    }

    /// A line of the user's includes it, whatever is written of single files behind it.
    @Test func aFileThatAnotherLineIncludesDoesNotKeepOthersFromGoing() async throws {
        try await pair { simulation, first, second in
            put("picture", "d/p.jpg", first)
            #expect(second.files.replace(".stignore", with: Self.bytes("!*.jpg\n!/f\n*\n")))
            second.disk.changedByUser("\(second.files.root)/.stignore")
            second.selectionChanged()
            await simulation.select(["d"], at: second)
            #expect(try await simulation.settle() == [])
            #expect(files(second).count == 4)
            let enough = try #require(await simulation.freeUntil(byteCount: 1, at: second))
            #expect(enough.outcome.stillSelected == nil)
            let wanted = enough.available * 2 + 1_000_000
            for isDryRun in [true, false] {
                let done = try #require(await simulation.freeUntil(byteCount: wanted, at: second, isDryRun: isDryRun))
                #expect(done.outcome.freeing?.freedFiles == 3 && done.missing > 0)
                #expect(done.outcome.stillSelected == 1)
            }
            #expect(files(second) == ["d/p.jpg": "picture"])
        }
    }

    @Test func freeUntilSaysWhatIsMissing() async throws {
        try await pair { simulation, first, second in
            await simulation.select(["d"], at: second)
            #expect(try await simulation.settle() == [])
            let enough = try #require(await simulation.freeUntil(byteCount: 1, at: second))
            #expect(enough.missing == 0 && enough.outcome.freeing == nil)
            let wanted = enough.available * 2 + 1_000_000
            let dry = try #require(await simulation.freeUntil(byteCount: wanted, at: second, isDryRun: true))
            #expect(dry.outcome.freeing?.freed == ["d/a", "d/b", "f"] && dry.missing > 0)
            #expect(files(second).count == 3)
            let late = try #require(await simulation.freeUntil(byteCount: wanted, unusedFor: 1 << 40, at: second))
            #expect(late.outcome.freeing == nil && late.missing > 0)
            let done = try #require(await simulation.freeUntil(byteCount: wanted, at: second))
            #expect(done.outcome.freeing?.freedFiles == 3)
            #expect(files(second) == [:])
            #expect(try await simulation.settle() == [])
            #expect(files(first).count == 3)
        }
    }
}

extension Simulation {
    private final class Box<Value: Sendable>: Sendable {
        let value = Mutex<Value?>(nil)
    }

    /// Nil if it was refused or cut short.
    private func outcome<Value: Sendable>(
        of agent: SimulatedAgent, _ body: @escaping @Sendable (FolderRunner) async throws -> Value
    ) async -> Value? {
        let box = Box<Value>()
        agent.isFreeing = true
        await inProcess(of: agent) { process in
            let value = try? await body(process.folder.runner)
            box.value.withLock { $0 = value }
        }
        agent.isFreeing = false
        agent.selectionChanged()
        return box.value.withLock { $0 }
    }

    func resolve(
        _ paths: [String], _ action: ExtraneousResolution.Action, _ directory: String? = nil, at agent: SimulatedAgent,
        isDryRun: Bool = false
    ) async -> ResolutionOutcome? {
        await outcome(of: agent) {
            try await $0.perform(
                ResolveExtraneousStep(paths: paths, action: action, directory: directory, isDryRun: isDryRun))
        }
    }

    func remove(_ paths: [String], at agent: SimulatedAgent, isDryRun: Bool = false) async -> RemovalOutcome? {
        await outcome(of: agent) { try await $0.perform(DeleteEverywhereStep(paths: paths, isDryRun: isDryRun)) }
    }

    func freeUntil(
        byteCount: Int64, unusedFor: Int64? = nil, at agent: SimulatedAgent, isDryRun: Bool = false
    ) async -> SpaceAnswer.Folder? {
        await outcome(of: agent) {
            try await $0.free(FreeStep(until: byteCount, unusedFor: unusedFor, isDryRun: isDryRun))
        }
    }

    func select(_ paths: [String], whileSpace: Bool, at agent: SimulatedAgent) async {
        _ = await outcome(of: agent) { try await $0.perform(SelectStep(paths: paths, whileSpace: whileSpace)) }
    }
}
