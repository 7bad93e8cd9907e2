import SyncTestKit
import Testing

@testable import Thumbnails

@Suite struct ThumbnailQueueTests {
    @Test func theNewestFirst() {
        var queue = ThumbnailQueue<String>(runningLimit: 2, waitingLimit: 3)
        #expect(queue.ask("a", waiter: 1) == [.start("a")])
        #expect(queue.ask("b", waiter: 2) == [.start("b")])
        #expect(queue.ask("c", waiter: 3) == [])
        #expect(queue.ask("d", waiter: 4) == [])
        #expect(queue.ask("e", waiter: 5) == [])
        // Asked for again, it is looked at now.
        #expect(queue.ask("c", waiter: 6) == [])
        #expect(queue.ask("f", waiter: 7) == [.turnAway(waiter: 4)])
        let (waiters, steps) = queue.ended("a")
        #expect(waiters == [1])
        #expect(steps == [.start("f")])
        #expect(queue.ended("b").steps == [.start("c")])
        #expect(queue.ended("c").waiters == [3, 6])
    }

    @Test func onceForAllWhoAsk() {
        var queue = ThumbnailQueue<String>(runningLimit: 2, waitingLimit: 3)
        #expect(queue.ask("a", waiter: 1) == [.start("a")])
        #expect(queue.ask("a", waiter: 2) == [])
        #expect(queue.leave(1) == [])
        #expect(queue.isWanted("a"))
        #expect(queue.leave(2) == [.stop("a")])
        #expect(!queue.isWanted("a"))
        // While it is being ended it is not begun a second time; then it is.
        #expect(queue.ask("a", waiter: 3) == [])
        #expect(queue.ended("a").steps == [.start("a")])
        #expect(queue.ended("a").waiters == [3])
    }

    @Test func whoLeavesWhileWaiting() {
        var queue = ThumbnailQueue<String>(runningLimit: 1, waitingLimit: 3)
        _ = queue.ask("a", waiter: 1)
        _ = queue.ask("b", waiter: 2)
        _ = queue.ask("c", waiter: 3)
        #expect(queue.leave(3) == [])
        #expect(queue.leave(99) == [])
        #expect(queue.ended("a").steps == [.start("b")])
    }

    /// Whatever happens in whatever order: no more run than may, none twice at once, and each waiter is told exactly once or
    /// has left.
    @Test(arguments: 1...30) func anyOrder(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let limit = random.int(1...3)
        var queue = ThumbnailQueue<Int>(runningLimit: limit, waitingLimit: random.int(1...5))
        var running: Set<Int> = []
        var open: Set<Int> = []
        func take(_ steps: [ThumbnailQueue<Int>.Step]) {
            for step in steps {
                switch step {
                case .start(let key): #expect(running.insert(key).inserted)
                case .stop(let key): #expect(running.contains(key))
                case .turnAway(let waiter): #expect(open.remove(waiter) != nil)
                }
            }
            #expect(running.count <= limit)
        }
        func end() {
            guard let key = running.randomElement(using: &random) else { return }
            running.remove(key)
            let (waiters, steps) = queue.ended(key)
            #expect(waiters.isSubset(of: open))
            open.subtract(waiters)
            take(steps)
        }
        for waiter in 0..<500 {
            switch random.int(0...3) {
            case 0: end()
            case 1:
                guard let gone = open.randomElement(using: &random) else { continue }
                open.remove(gone)
                take(queue.leave(gone))
            default:
                open.insert(waiter)
                take(queue.ask(random.int(0...9), waiter: waiter))
            }
        }
        while !running.isEmpty { end() }
        #expect(open.isEmpty)
    }

    @Test func failuresAreForgotten() {
        var memory = FailureMemory<Int>(limit: 3, lifetime: .seconds(10))
        memory.note(1, at: .seconds(0))
        #expect(memory.holds(1, at: .seconds(9)))
        #expect(!memory.holds(1, at: .seconds(10)))
        #expect(!memory.holds(2, at: .seconds(0)))
        memory.note(2, at: .seconds(1))
        memory.note(1, at: .seconds(2))
        memory.note(3, at: .seconds(3))
        memory.note(4, at: .seconds(4))
        #expect(!memory.holds(2, at: .seconds(5)))
        #expect([1, 3, 4].allSatisfy { memory.holds($0, at: .seconds(5)) })
    }
}

@Suite struct ThumbnailCommandTests {
    /// The file's name comes from us, and stands where nothing is read into it; the tools see only where it is inside.
    @Test func theSandboxIsAlwaysThere() {
        let commands = [
            ThumbnailCommand.picture("/w/x", into: .whole), .film("/w/x", in: .matroska), .trial(of: .picture),
            .trial(of: .film),
        ]
        for command in commands {
            #expect(command.path == "/usr/bin/bwrap")
            for word in ["--unshare-net", "--unshare-user", "--unshare-pid", "--clearenv", "--die-with-parent"] {
                #expect(command.arguments.contains(word))
            }
            let binds = zip(command.arguments, command.arguments.dropFirst()).filter { $0.0.hasPrefix("--bind") }
            #expect(binds.isEmpty, "nothing can be written to")
            #expect(command.arguments.firstIndex(of: "/usr/bin/prlimit") ?? 0 > 0)
            #expect(command.arguments.filter { $0 == "/w/x" }.count <= 1)
        }
        let film = ThumbnailCommand.film("/w/x", in: .mov).arguments
        #expect(film.contains("file:/in"))
        #expect(zip(film, film.dropFirst()).contains { $0 == ("-protocol_whitelist", "file") })
    }
}
