import BlockExchange
import Cryptography
import SyncTestKit
import Testing

@testable import SyncDecisions

@Suite struct FetchBudgetTests {
    private static let devices = (1...6).map { DeviceID(digest: SHA256.digest([UInt8($0)])) }
    private static let (alice, bob, carol) = (devices[0], devices[1], devices[2])

    /// A budget and who has been let go, in order.
    private struct Scene {
        var budget: FetchBudget
        var went: [Int] = []

        init(limit: Int, reserve: Int = 0) { budget = FetchBudget(limit: limit, reserve: reserve) }

        @discardableResult mutating func ask(_ count: Int, of device: DeviceID, isUrgent: Bool = false) -> Int {
            let id = budget.takeID()
            budget.add(id, count, to: device, isUrgent: isUrgent)
            admit()
            return id
        }

        mutating func end(_ id: Int) {
            budget.end(id)
            admit()
        }

        private mutating func admit() { while let id = budget.next() { went.append(id) } }
    }

    /// Bytes per request, and how many of the requests to one device alone are under way.
    @Test(arguments: [(1, 32), (4, 8), (7, 4), (16, 2), (17, 1), (32, 1), (48, 1), (1000, 1)])
    func aDeviceGetsTwoThirdsOfWhatTheOthersLeave(count: Int, requests: Int) {
        var scene = Scene(limit: 64, reserve: 16)
        for _ in 0..<100 { scene.ask(count, of: Self.alice) }
        #expect(scene.went.count == requests)
        #expect(scene.budget.waitingCount == 100 - requests)
    }

    /// Each of them takes all that it may, and answers nothing.
    @Test func whoAnswersNothingLeavesSomethingForEachOther() {
        var scene = Scene(limit: 48 << 10)
        var shares: [Int] = []
        for device in Self.devices {
            let before = scene.budget.byteCount
            for _ in 0..<1000 { scene.ask(128, of: device) }
            shares.append(scene.budget.byteCount - before)
        }
        #expect(shares == [32768, 10880, 3584, 1280, 384, 128])
        #expect(scene.budget.byteCount < 48 << 10)
    }

    @Test func aFirstRequestGoesAtOnceHoweverMuchIsUnderWay() {
        var scene = Scene(limit: 64, reserve: 16)
        for device in Self.devices {
            let (first, second) = (scene.ask(48, of: device), scene.ask(48, of: device))
            #expect(scene.went.last == first)
            let urgent = scene.ask(64, of: device, isUrgent: true)
            #expect(scene.went.last == urgent)
            #expect(!scene.went.contains(second))
        }
    }

    @Test func theReserveIsForWhatAPersonWaitsFor() {
        var scene = Scene(limit: 60, reserve: 15)
        for _ in 0..<100 { scene.ask(1, of: Self.alice) }
        #expect(scene.went.count == 30)
        for _ in 0..<100 { scene.ask(1, of: Self.bob) }
        #expect(scene.went.count == 40)
        // 40 are under way with others, and 20 are left of the whole.
        for _ in 0..<100 { scene.ask(1, of: Self.alice, isUrgent: true) }
        #expect(scene.went.count == 52)
    }

    @Test func theUrgentGoFirstADevicesRequestsInTheirOrderAndDevicesInTurn() {
        var scene = Scene(limit: 48)
        // Carol has 20, alice and bob may have 18 together.
        let carols = (0..<5).map { _ in scene.ask(4, of: Self.carol) }
        let (a, b) = (scene.ask(10, of: Self.alice), scene.ask(8, of: Self.bob))
        #expect(scene.went == carols + [a, b])
        let alices = (0..<3).map { _ in scene.ask(8, of: Self.alice) }
        let bobs = (0..<3).map { _ in scene.ask(8, of: Self.bob) }
        let urgent = [scene.ask(18, of: Self.bob, isUrgent: true), scene.ask(8, of: Self.bob, isUrgent: true)]
        #expect(scene.went == carols + [a, b, urgent[0]])
        scene.went = []
        for id in carols { scene.end(id) }
        scene.end(urgent[0])
        // One that does not wait any more is passed over.
        scene.end(alices[1])
        for id in [a, b] { scene.end(id) }
        var ended = 0
        while ended < scene.went.count {
            scene.end(scene.went[ended])
            ended += 1
        }
        #expect(scene.went.first == urgent[1])
        #expect(scene.went.filter(alices.contains) == [alices[0], alices[2]])
        #expect(scene.went.filter(bobs.contains) == bobs)
        #expect(scene.budget.byteCount == 0 && scene.budget.waitingCount == 0)
    }

    /// Devices that answer, in any order, and others that answer nothing.
    @Test(arguments: 1...200 as ClosedRange<UInt64>)
    func allThatADeviceIsAskedForGoesOnceItAnswers(seed: UInt64) {
        struct Lane: Hashable {
            var device: DeviceID
            var isUrgent: Bool
        }
        var random = SeededGenerator(seed: seed)
        let reserve = random.int(0...32)
        let largest = random.pick([1, 8, 40, 100])
        var budget = FetchBudget(limit: 64, reserve: reserve)
        let silent = Set(Self.devices.filter { _ in random.isOne(in: 2) })
        var requests: [Int: (lane: Lane, count: Int)] = [:]
        var (waiting, underWay): ([Int], [Int]) = ([], [])

        func admit() {
            var others = Dictionary(grouping: underWay, by: { requests[$0]?.lane }).mapValues(\.count)
            while let id = budget.next() {
                let lane = requests[id]?.lane
                // Within its kind and device, the one that has waited longest.
                #expect(waiting.first(where: { requests[$0]?.lane == lane }) == id)
                waiting.removeAll { $0 == id }
                underWay.append(id)
                // Only the first of a kind exceeds the limit.
                let limit = lane?.isUrgent == true ? 64 : 64 - reserve
                #expect(others[lane] == nil || budget.byteCount <= limit)
                others[lane, default: 0] += 1
            }
            #expect(budget.byteCount == underWay.reduce(0) { $0 + (requests[$1]?.count ?? 0) })
            #expect(budget.waitingCount == waiting.count)
            // Nobody waits for another device.
            #expect(waiting.allSatisfy { others[requests[$0]?.lane] != nil })
        }
        for _ in 0..<300 {
            if random.isOne(in: 3), let id = underWay.filter({ !isSilent($0) }).randomElement(using: &random) {
                underWay.removeAll { $0 == id }
                budget.end(id)
            } else if random.isOne(in: 10), let id = waiting.randomElement(using: &random) {
                waiting.removeAll { $0 == id }
                budget.end(id)
            } else {
                let id = budget.takeID()
                let lane = Lane(device: random.pick(Self.devices), isUrgent: random.isOne(in: 4))
                let count = random.int(1...largest)
                requests[id] = (lane, count)
                waiting.append(id)
                budget.add(id, count, to: lane.device, isUrgent: lane.isUrgent)
            }
            admit()
        }
        while let id = underWay.first(where: { !isSilent($0) }) {
            underWay.removeAll { $0 == id }
            budget.end(id)
            admit()
        }
        #expect(waiting.allSatisfy(isSilent))

        func isSilent(_ id: Int) -> Bool { requests[id].map { silent.contains($0.lane.device) } ?? false }
    }
}
