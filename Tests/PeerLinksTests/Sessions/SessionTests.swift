import BlockExchange
import Foundation
import IndexStore
import SyncTestKit
import Synchronization
import Testing
import Transport

@testable import FolderSync
@testable import SessionTestKit

/// Two agents whose sessions exchange folders over a link in memory: what is on the disks and in the indexes afterwards.
@Suite(.serialized, .timeLimit(.minutes(2))) struct SessionTests {
    /// Five blocks, the last one short.
    static let content: [UInt8] = {
        var random = SeededGenerator(seed: 5)
        return random.bytes(4 * BlockSize.minimum + 1000)
    }()

    @Test(arguments: SessionScene.Threads.allCases)
    func aFileComesBlockByBlock(threads: SessionScene.Threads) async throws {
        try await SessionScene.run(threads: threads) { scene in
            try scene[0].write(Self.content, to: "papers/report")
            try scene[1].write([1, 2, 3], to: "small")
            let wire = try await scene.connect()
            try await scene.until {
                try await scene.haveBoth(["papers/report": Self.content, "small": [1, 2, 3]])
            }
            for side in MemoryWire.Side.allCases {
                let said = wire.deliveries.filter { $0.from == side }.map(\.type)
                #expect(said.prefix(2) == [nil, Frame.clusterConfig])
                #expect(wire.count(of: Frame.index, from: side) == 1)
                #expect(wire.count(of: Frame.clusterConfig, from: side) == 1)
            }
            #expect(wire.count(of: Frame.request, from: .answerer) == 5)
            #expect(wire.count(of: Frame.response, from: .dialler) == 5)
            #expect(wire.deliveries.filter { $0.byteCount > BlockSize.minimum }.count == 4)
            #expect(scene[0].session(scene.ids[1])?.speaksSynctrain == true)
        }
    }

    @Test(arguments: SessionScene.Threads.allCases)
    func changesAndDeletionsFollowOneAnother(threads: SessionScene.Threads) async throws {
        try await SessionScene.run(threads: threads) { scene in
            try scene[0].write([1], to: "a")
            let wire = try await scene.connect()
            try await scene.until { try await scene.haveBoth(["a": [1]]) }
            try scene[1].write([2, 2], to: "a")
            try await scene.until { try await scene.haveBoth(["a": [2, 2]]) }
            try scene[0].remove("a")
            try await scene.until { scene[1].read("a") == nil }
            #expect(wire.count(of: Frame.index, from: .dialler) == 1, "what comes later are updates")
        }
    }

    /// `fetch` asks over the same links, and puts the file into its place and the index.
    @Test(arguments: SessionScene.Threads.allCases)
    func aFetchGetsWhatIsNotSelected(threads: SessionScene.Threads) async throws {
        try await SessionScene.run(threads: threads) { configuration, agent in
            if agent == 1 { configuration.mode = .selective }
        } _: { scene in
            try scene[1].write(Array("*\n".utf8), to: ".stignore")
            try scene[0].write(Self.content, to: "report")
            try await scene.connect()
            let (agent, id) = (scene[1], SessionAgent.folder)
            try await scene.until { try await agent.version("report", of: scene.ids[0]) != nil }
            #expect(agent.read("report") == nil)
            let entry = try #require(try await agent.index.global(id, "report"))
            let job = FetchJob(
                roots: [
                    FetchJob.Root(
                        folder: agent.folder, entry: entry, place: try agent.folder.boards.places.current.get())
                ],
                isForced: false, index: agent.index, environment: agent.fetching, transfers: agent.transfers,
                deviceNames: { _ in [] })
            let failures = Mutex(0)
            try await job.run(failures: []) { event in
                if case .failed = event { failures.withLock { $0 += 1 } }
            }
            #expect(failures.withLock { $0 } == 0)
            #expect(agent.read("report") == Self.content)
            let local = try #require(try await agent.index.local(id, "report"))
            #expect(local.file.version == entry.file?.version)
        }
    }

    // MARK: links that break, and links that take their time

    /// Whatever was delivered when the link broke, the next one completes it. About twenty messages in all.
    @Test(arguments: 0..<24) func aLinkMayBreakBehindAnyMessage(limit: Int) async throws {
        try await SessionScene.run { scene in
            try scene[0].write(Self.content, to: "report")
            let wire = try await scene.connect(over: MemoryWire(limit: limit))
            try await scene.until {
                if wire.isCut { return scene[0].session(scene.ids[1]) == nil && scene[1].session(scene.ids[0]) == nil }
                return try await scene.haveBoth(["report": Self.content])
            }
            #expect(wire.deliveries.count <= limit)
            wire.cut()
            try await scene.connect(1, 0)
            try await scene.until { try await scene.haveBoth(["report": Self.content]) }
            #expect(scene[1].names == ["report"])
        }
    }

    /// Each message arrives at some time, those of a side in their order.
    @Test(arguments: 0..<6) func aLinkMayTakeItsTime(seed: Int) async throws {
        try await SessionScene.run { scene in
            var random = SeededGenerator(seed: UInt64(seed))
            try scene[0].write(Self.content, to: "report")
            try scene[1].write([1], to: "other")
            let wire = MemoryWire()
            for side in MemoryWire.Side.allCases { wire.hold(side) }
            try await scene.connect(over: wire)
            try await scene.until {
                if Int.random(in: 0..<20, using: &random) == 0 {
                    wire.releaseOne(Bool.random(using: &random) ? .dialler : .answerer)
                }
                return try await scene.haveBoth(["report": Self.content, "other": [1]])
            }
        }
    }

    @Test(arguments: SessionScene.Threads.allCases)
    func anAgentThatIsStartedAgainGoesOn(threads: SessionScene.Threads) async throws {
        try await SessionScene.run(threads: threads) { scene in
            try scene[0].write(Self.content, to: "report")
            // In the middle of the blocks.
            let wire = MemoryWire()
            try await scene.connect(over: wire)
            try await scene.until { wire.count(of: Frame.response, from: .dialler) >= 2 }
            wire.cut()
            try await scene.stop(1)
            try await scene.start(1)
            let next = try await scene.connect()
            try await scene.until { try await scene.haveBoth(["report": Self.content]) }
            #expect(scene[1].names == ["report"])
            #expect(next.count(of: Frame.index, from: .dialler) + wire.count(of: Frame.index, from: .dialler) >= 1)

            try await scene.stop(0)
            try await scene.start(0)
            try scene[1].write([7], to: "later")
            let last = try await scene.connect()
            try await scene.until { try await scene.haveBoth(["later": [7]]) }
            #expect(last.count(of: Frame.index, from: .answerer) == 0, "the index goes on where it was")
            #expect(last.count(of: Frame.request, from: .answerer) == 0, "nothing comes twice")
        }
    }

    // MARK: several links

    @Test(arguments: SessionScene.Threads.allCases)
    func aBetterLinkTakesOver(threads: SessionScene.Threads) async throws {
        try await SessionScene.run(threads: threads) { scene in
            try scene[0].write(Self.content, to: "report")
            let slow = MemoryWire()
            try await scene.connect(kind: .l2cap, over: slow)
            try await scene.until { slow.count(of: Frame.response, from: .dialler) >= 2 }
            // What is under way there must be asked for on the other one.
            slow.hold(.dialler)
            let fast = try await scene.connect(1, 0, kind: .tcp)
            try await scene.until { scene[1].session(scene.ids[0])?.kind == .tcp }
            slow.release(.dialler)
            try await scene.until { try await scene.haveBoth(["report": Self.content]) }
            try await scene.until { scene[0].session(scene.ids[1])?.kind == .tcp }
            #expect(fast.count(of: Frame.response, from: .answerer) > 0)
            // A worse one does not: the one that dialled it knows better before it says Hello.
            let worse = try await scene.connect(kind: .gatt, over: MemoryWire())
            try scene[1].write([1], to: "other")
            try await scene.until { try await scene.haveBoth(["other": [1]]) }
            #expect(scene[0].session(scene.ids[1])?.kind == .tcp)
            #expect(worse.count(of: Frame.index, from: .answerer) == 0)
        }
    }

    @Test(arguments: SessionScene.Threads.allCases)
    func blocksComeFromWhoeverIsConnected(threads: SessionScene.Threads) async throws {
        try await SessionScene.run(3, threads: threads) { scene in
            try scene[0].write(Self.content, to: "report")
            let first = try await scene.connect(0, 1)
            try await scene.until { try await scene.haveBoth(["report": Self.content]) }
            first.cut()
            // The third agent has never met the first.
            try await scene.connect(2, 1)
            let version = try #require(try await scene[0].version("report"))
            try await scene.until { try await scene[2].version("report") == version }
            #expect(scene[2].read("report") == Self.content)
        }
    }
}

extension SessionAgent {
    func remove(_ name: String) throws {
        try FileManager.default.removeItem(atPath: path(name))
        folder.boards.inbox.scanEverything()
    }
}
