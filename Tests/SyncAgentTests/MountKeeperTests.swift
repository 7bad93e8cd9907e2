import AgentConfiguration
import AgentContext
import AsyncTools
import BlockExchange
import ControlAPI
import Logging
import MountProtocol
import MountRules
import MountServer
import SyncTestKit
import Synchronization
import Testing

@testable import SyncAgent

/// What the configuration wants mounted is mounted, and nothing else is touched.
@Suite(.timeLimit(.minutes(1))) struct MountKeeperTests {
    /// A machine on which folders are mounted without any file system.
    private final class Machine: Sendable {
        struct State {
            var mounted: [MountedFolder] = []
            /// Why nothing can be mounted or unmounted; nil if it can.
            var refusal: ControlError?
            var starts = 0
            var ends: [String: AsyncStream<Bool>.Continuation] = [:]
        }

        let state = Mutex(State())

        var mounted: [String] { state.withLock { $0.mounted.map(\.directory).sorted() } }
        var starts: Int { state.withLock { $0.starts } }

        func refuse(_ error: ControlError?) { state.withLock { $0.refusal = error } }

        /// One that was mounted before.
        func outlived(_ mount: MountedFolder) { state.withLock { $0.mounted.append(mount) } }

        /// The mount's process ends.
        func end(_ directory: String, hasFailed: Bool) {
            let end = state.withLock { state in
                state.mounted.removeAll { $0.directory == directory }
                return state.ends.removeValue(forKey: directory)
            }
            end?.yield(hasFailed)
            end?.finish()
        }

        var tools: MountTools {
            MountTools(
                mounted: { self.state.withLock { $0.mounted } }, resolved: { $0 },
                start: { mount, _ in
                    let (ended, end) = AsyncStream.makeStream(of: Bool.self)
                    try self.state.withLock { state throws(ControlError) in
                        state.starts += 1
                        if let refusal = state.refusal { throw refusal }
                        state.mounted.append(MountedFolder(directory: mount.directory, folder: mount.folder))
                        state.ends[mount.directory] = end
                    }
                    return {
                        for await hasFailed in ended { return hasFailed }
                        return false
                    }
                },
                end: { directory, _, _ in
                    if let refusal = self.state.withLock({ $0.refusal }) { throw refusal }
                    self.end(directory, hasFailed: false)
                })
        }
    }

    private struct World {
        let machine = Machine()
        let clock = ManualClock()
        let changed = Signal()
        let tasks = AgentTasks()
        let configuration = RunningConfiguration(Configuration(name: "x"), of: DeviceID(certificateDER: []))
        let board: MountBoard
        let keeper: MountKeeper

        init() {
            let (clock, tasks) = (clock, tasks)
            let time = AgentTime(
                clock: clock, monotonic: { clock.now.offset }, wall: { WallTime(seconds: 0) }, random: { 0 })
            board = MountBoard(now: time.monotonic)
            keeper = MountKeeper(
                configuration: configuration, board: board, tools: machine.tools, changed: changed,
                time: time, logger: Logger(label: "test"), begin: { tasks.start($0) })
        }

        func want(_ directory: String?) {
            var folder = FolderConfiguration(id: FolderID("f"), path: "/f")
            folder.mount.directory = directory
            configuration.set(Configuration(name: "x", folders: [folder]))
            changed.notify()
        }

        /// Runs the keeper and its tasks while `body` runs.
        func run(_ body: () async throws -> Void) async rethrows {
            let running = [Task { await keeper.run() }, Task { await tasks.run() }]
            try await body()
            for task in running { task.cancel() }
            for task in running { await task.value }
        }

        /// Until the keeper has looked at all that was so when this was called.
        func settle() async {
            let count = await keeper.settleCount
            while await keeper.settleCount < count + 2, !Task.isCancelled {
                changed.notify()
                await Task.yield()
            }
        }

        func waitUntil(_ condition: () async -> Bool) async {
            while await !condition(), !Task.isCancelled { await Task.yield() }
        }

        /// Lets time pass, from one wait of the keeper to the next, until `condition` holds. A wait that a notification ends may
        /// still be there when the clock moves: how many there are is not known.
        func passTime(until condition: () async -> Bool) async {
            while await !condition(), !Task.isCancelled {
                clock.advance(within: .seconds(60))
                await Task.yield()
            }
        }
    }

    private static let refusal = ControlError(.alreadyExists, "/m is not empty. Choose an empty directory.")

    @Test func whatIsWantedIsMountedMovedAndUnmounted() async {
        let world = World()
        world.want("/m")
        await world.run {
            await world.waitUntil { world.machine.mounted == ["/m"] }
            world.want("/n")
            await world.waitUntil { world.machine.mounted == ["/n"] }
            world.want(nil)
            await world.waitUntil { world.machine.mounted == [] }
        }
        #expect(world.machine.starts == 2)
        #expect(await world.keeper.statuses.isEmpty)
    }

    @Test func whatCannotBeMountedIsSaidAndTriedAgain() async {
        let world = World()
        world.machine.refuse(Self.refusal)
        world.want("/m")
        await world.run {
            await world.waitUntil { await world.keeper.statuses.first?.problem == Self.refusal }
            for tries in 2...4 {
                await world.passTime { world.machine.starts == tries }
            }
            // The keeper never waits for less than 10 ms.
            #expect(world.clock.now.offset <= .seconds(7) + .milliseconds(100), "1, 2 and 4 seconds")
            let status = await world.keeper.statuses.first
            #expect(status?.state == "unmounted" && status?.isConfigured == true)
            world.machine.refuse(nil)
            await world.passTime { world.machine.mounted == ["/m"] }
            await world.waitUntil { await world.keeper.statuses.first?.problem == nil }
        }
    }

    @Test func oneInUseIsNeitherMovedNorForgotten() async {
        let world = World()
        world.want("/m")
        await world.run {
            await world.waitUntil { world.machine.mounted == ["/m"] }
            world.machine.refuse(ControlError(.busy, "/m is in use by cat (7). Close them, or use --lazy."))
            world.want("/n")
            await world.waitUntil { await world.keeper.statuses.contains { $0.directory == "/m" && $0.problem != nil } }
            #expect(world.machine.mounted == ["/m"] && world.machine.starts == 1)
            world.machine.refuse(nil)
            await world.passTime { world.machine.mounted == ["/n"] }
        }
    }

    /// A crash is mended; what somebody has unmounted stays so.
    @Test func onlyAFailedMountIsStartedAgain() async throws {
        let world = World()
        world.want("/m")
        try await world.run {
            await world.waitUntil { world.machine.mounted == ["/m"] }
            world.machine.end("/m", hasFailed: true)
            await world.passTime { world.machine.mounted == ["/m"] }
            #expect(world.machine.starts == 2)
            try await world.keeper.unmount("f", at: nil, isLazy: false)
            #expect(world.machine.mounted == [])
            // Other settings do not bring it back.
            world.want("/m")
            await world.waitUntil { await world.keeper.statuses.first?.state == "unmounted" }
            world.machine.refuse(Self.refusal)
            let error = await #expect(throws: ControlError.self) {
                try await world.keeper.mount(WantedMount(folder: "f", directory: "/m"))
            }
            #expect(error == Self.refusal)
            world.machine.refuse(nil)
            try await world.keeper.mount(WantedMount(folder: "f", directory: "/m"))
            #expect(world.machine.mounted == ["/m"] && world.machine.starts == 4)
            await #expect(throws: ControlError.self) { try await world.keeper.unmount("f", at: "/n", isLazy: false) }
        }
    }

    /// One that has outlived an agent: this one hears of it by its connection alone.
    private func greeting(_ folder: String = "f", at directory: String = "/m") -> MountGreeting {
        MountGreeting(folder: folder, origin: MountOrigin(directory: directory), process: 0)
    }

    /// A mount that outlived its agent and has connected to this one, and the number of its connection.
    private func adopted() -> (world: World, connection: Int) {
        let world = World()
        world.machine.outlived(MountedFolder(directory: "/m", folder: "f"))
        let (number, _) = world.board.enter(greeting())
        world.want("/m")
        return (world, number)
    }

    @Test(arguments: [false, true]) func oneThatOutlivedAnAgentIsMountedAgainWhenItIsLost(_ isUnmounted: Bool) async {
        let (world, number) = adopted()
        await world.run {
            await world.settle()
            #expect(await world.keeper.statuses.first?.state == "mounted")
            world.machine.end("/m", hasFailed: true)
            if isUnmounted { world.board.unmounted(number) }
            world.board.leave(number)
            // Whatever else changes.
            world.want("/m")
            await world.settle()
            if isUnmounted {
                #expect(await world.keeper.statuses.first?.state == "unmounted")
            } else {
                await world.passTime { world.machine.mounted == ["/m"] }
            }
        }
        #expect(world.machine.starts == (isUnmounted ? 0 : 1))
    }

    /// Programs go on in the plain directory below a mount whose process was killed.
    @Test(arguments: [false, true]) func oneOfAPersonThatIsKilledIsTold(_ isUnmounted: Bool) async throws {
        let world = World()
        world.machine.outlived(MountedFolder(directory: "/m", folder: "f"))
        world.want(nil)
        let (number, _) = world.board.enter(greeting())
        try await world.run {
            await world.settle()
            world.machine.end("/m", hasFailed: true)
            if isUnmounted { world.board.unmounted(number) }
            world.board.leave(number)
            await world.settle()
            #expect(await world.keeper.statuses == [])
            guard !isUnmounted else { return }
            await world.passTime { await world.keeper.statuses.first?.problem != nil }
            let status = try #require(await world.keeper.statuses.first)
            #expect(status.state == "unmounted" && status.directory == "/m" && !status.isConfigured)
            #expect(status.problem?.message.hasSuffix("synctrain mount f /m") == true)
            // Mounted again, nothing is the matter.
            world.machine.outlived(MountedFolder(directory: "/m", folder: "f"))
            _ = world.board.enter(greeting())
            await world.settle()
            #expect(await world.keeper.statuses.map(\.problem) == [nil])
        }
        #expect(world.machine.starts == 0)
    }

    /// That the folder is mounted somewhere else as well does not bring back the one that was killed; mounting it anew does, wherever.
    @Test func oneOfTwoThatIsKilledIsTold() async throws {
        let world = World()
        for directory in ["/m", "/other"] {
            world.machine.outlived(MountedFolder(directory: directory, folder: "f"))
        }
        world.want("/other")
        let (number, _) = world.board.enter(greeting())
        _ = world.board.enter(greeting(at: "/other"))
        try await world.run {
            await world.settle()
            world.machine.end("/m", hasFailed: true)
            world.board.leave(number)
            await world.settle()
            await world.passTime { await world.keeper.statuses.contains { $0.problem != nil } }
            let status = try #require(await world.keeper.statuses.first { $0.problem != nil })
            #expect(status.directory == "/m" && status.state == "unmounted")
            world.machine.outlived(MountedFolder(directory: "/new", folder: "f"))
            _ = world.board.enter(greeting(at: "/new"))
            await world.settle()
            #expect(await world.keeper.statuses.map(\.problem) == [nil, nil])
        }
        #expect(world.machine.starts == 0)
    }

    /// The agent waits two seconds for one that it finds mounted; who unmounts it within them is not to find it mounted again.
    @Test func oneThatIsUnmountedAtOnceStaysSo() async {
        let world = World()
        world.machine.outlived(MountedFolder(directory: "/m", folder: "f"))
        world.want("/m")
        await world.run {
            await world.settle()
            let (number, _) = world.board.enter(greeting())
            world.machine.end("/m", hasFailed: false)
            world.board.unmounted(number)
            world.board.leave(number)
            await world.settle()
            #expect(await world.keeper.statuses.first?.state == "unmounted")
        }
        #expect(world.machine.starts == 0)
        #expect(world.clock.now.offset == .zero)
    }

    @Test func oneThatComesBackIsLeftAlone() async {
        let (world, number) = adopted()
        await world.run {
            await world.settle()
            #expect(await world.keeper.statuses.first?.state == "mounted")
            world.board.leave(number)
            await world.settle()
            _ = world.board.enter(greeting())
            // It is not waited for any more.
            await world.settle()
        }
        #expect(world.machine.starts == 0 && world.machine.mounted == ["/m"])
    }

    @Test(arguments: [false, true]) func whatShowsAFolderThatIsGoneIsUnmounted(_ isConnected: Bool) async {
        let world = World()
        world.want(nil)
        for (directory, folder) in [("/m", "gone"), ("/other", "f")] {
            world.machine.outlived(MountedFolder(directory: directory, folder: folder))
        }
        if isConnected { _ = world.board.enter(greeting("gone")) } else { world.board.refused(greeting("gone")) }
        await world.run {
            world.changed.notify()
            await world.waitUntil { world.machine.mounted == ["/other"] }
        }
    }

    @Test func whoReadsIsKnownWhileTheyDo() {
        let time = Mutex(Duration.zero)
        let board = ReadingBoard(now: { time.withLock { $0 } })
        let cat = RunningProgram(process: 7, name: "cat")
        board.opened("a", by: cat)
        board.opened("b", by: cat)
        board.read("b", 1000, by: 7)
        board.read("c", 1000, by: 8)
        #expect(board.all.readers.map(\.process) == [7], "a program that opened nothing is not known")
        #expect(
            board.all.readers[0].path == "b" && board.all.readers[0].files == 2 && board.all.readers[0].bytes == 1000)
        for process in 100..<130 as Range<Int32> {
            board.opened("x", by: RunningProgram(process: process, name: "grep"))
        }
        #expect(board.all.readers.count == MountStatus.readerLimit && board.all.more == 11)
        for process in 100..<130 as Range<Int32> { board.closed(by: process) }
        time.withLock { $0 = .seconds(10) }
        #expect(board.all.readers.map(\.process) == [7] && board.all.more == 0, "it has two files open")
        board.closed(by: 7)
        board.closed(by: 7)
        #expect(board.all.readers.isEmpty)
        // The system gives numbers again.
        board.opened("d", by: RunningProgram(process: 7, name: "mpv"))
        #expect(board.all.readers.map(\.bytes) == [0] && board.all.readers.map(\.program) == ["mpv"])
    }
}
