import Testing

@testable import AgentServer

@Suite struct IdleConnectionsTests {
    @Test func theOldestIsReplaced() {
        var idle = IdleConnections<String>(limit: 2)
        let first = idle.add("a")
        #expect(first.excess == nil)
        #expect(idle.add("b").excess == nil)
        #expect(idle.add("c").excess == "a")
        // Already removed.
        idle.remove(first.number)
        #expect(idle.add("d").excess == "b")
    }

    @Test func connectionsWithARequestDoNotCount() {
        var idle = IdleConnections<String>(limit: 2)
        for name in ["a", "b", "c", "d"] {
            let (number, excess) = idle.add(name)
            #expect(excess == nil)
            idle.remove(number)
        }
        #expect(idle.add("e").excess == nil)
        #expect(idle.add("f").excess == nil)
        #expect(idle.add("g").excess == "e")
    }

    @Test(arguments: [-1, 0, 1]) func theNewestIsAlwaysAccepted(limit: Int) {
        var idle = IdleConnections<String>(limit: limit)
        #expect(idle.add("a").excess == nil)
        #expect(idle.add("b").excess == "a")
        #expect(idle.add("c").excess == "b")
    }
}
