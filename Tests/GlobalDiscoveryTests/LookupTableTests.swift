import BlockExchange
import Cryptography
import GlobalDiscovery
import SyncTestKit
import Testing

func device(_ number: Int) -> DeviceID { DeviceID(digest: SHA256.digest(Array("\(number)".utf8))) }

private func found(_ addresses: String...) -> LookupTable.Outcome {
    .found(LookupAnswer(seen: nil, addresses: addresses))
}

@Suite struct LookupTableTests {
    private let a = device(1)

    @Test func asksAllServersAndJoinsTheirAnswers() {
        var table = LookupTable(serverCount: 3)
        #expect(table.begin(a, at: .zero) == [0, 1, 2])
        #expect(table.begin(a, at: .zero).isEmpty)
        #expect(table.isAsked(a))
        #expect(table.finished(a, server: 0, found("tcp://1:1", "tcp://2:2"), at: .seconds(1)) == true)
        #expect(table.finished(a, server: 1, found("tcp://3:3", "tcp://1:1"), at: .seconds(1)) == true)
        #expect(table.finished(a, server: 2, .notFound(retryAfter: nil), at: .seconds(1)) == false)
        #expect(!table.isAsked(a))
        #expect(table.addresses(of: a, at: .seconds(1)) == ["tcp://1:1", "tcp://3:3", "tcp://2:2"])
        #expect(table.finished(a, server: 9, found(), at: .seconds(1)) == false)
        #expect(table.finished(device(2), server: 0, found("tcp://9:9"), at: .seconds(1)) == false)
    }

    @Test func remembersHitsForFiveMinutes() {
        var table = LookupTable(serverCount: 1)
        _ = table.begin(a, at: .zero)
        _ = table.finished(a, server: 0, found("tcp://1:1"), at: .zero)
        #expect(table.begin(a, at: .seconds(299)).isEmpty)
        #expect(table.begin(a, at: .seconds(300)) == [0])
        // A server that cannot be asked takes back nothing that it said before.
        #expect(table.finished(a, server: 0, .failed(retryAfter: nil), at: .seconds(301)) == false)
        #expect(table.addresses(of: a, at: .seconds(7199)) == ["tcp://1:1"])
        #expect(table.addresses(of: a, at: .seconds(7200)).isEmpty)
    }

    @Test(arguments: [(nil, 60), (0, 60), (117, 117), (1924, 1924), (86_400, 3600)] as [(Int64?, Int64)])
    func remembersMissesAsLongAsAskedWithinBounds(seconds: Int64?, pause: Int64) {
        var table = LookupTable(serverCount: 1)
        _ = table.begin(a, at: .zero)
        _ = table.finished(a, server: 0, found("tcp://1:1"), at: .zero)
        _ = table.begin(a, at: .seconds(400))
        #expect(
            table.finished(a, server: 0, .notFound(retryAfter: seconds.map { .seconds($0) }), at: .seconds(400)) == true
        )
        #expect(table.addresses(of: a, at: .seconds(400)).isEmpty)
        #expect(table.nextLookup(of: a) == .seconds(400 + pause))
        #expect(table.begin(a, at: .seconds(399 + pause)).isEmpty)
        #expect(table.begin(a, at: .seconds(400 + pause)) == [0])
    }

    /// A fresh server says “come back in half an hour”; two devices that have just been paired do not wait for that.
    @Test func aPairingAllowsOneLookupAtOnce() {
        var table = LookupTable(serverCount: 2)
        _ = table.begin(a, at: .zero)
        for server in 0...1 { _ = table.finished(a, server: server, .notFound(retryAfter: .seconds(1800)), at: .zero) }
        table.allowLookup(of: a, at: .seconds(1))
        #expect(table.begin(a, at: .seconds(9)).isEmpty)
        #expect(table.begin(a, at: .seconds(10)) == [0, 1])
        for server in 0...1 {
            _ = table.finished(a, server: server, .notFound(retryAfter: .seconds(1800)), at: .seconds(11))
        }
        #expect(table.begin(a, at: .seconds(500)).isEmpty)
        // Nobody has asked about this one before.
        table.allowLookup(of: device(2), at: .seconds(500))
        #expect(table.begin(device(2), at: .seconds(500)) == [0, 1])
    }

    @Test func anotherNetworkAllowsOneLookupOfEach() {
        var table = LookupTable(serverCount: 1)
        for number in 1...3 {
            _ = table.begin(device(number), at: .zero)
            _ = table.finished(device(number), server: 0, .notFound(retryAfter: .seconds(1800)), at: .zero)
        }
        table.allowAllLookups()
        for number in 1...3 {
            #expect(table.begin(device(number), at: .seconds(60)) == [0])
            _ = table.finished(device(number), server: 0, .notFound(retryAfter: .seconds(1800)), at: .seconds(60))
            #expect(table.begin(device(number), at: .seconds(120)).isEmpty)
        }
    }

    @Test func leavesAServerAloneThatFails() {
        var table = LookupTable(serverCount: 2)
        #expect(table.pauseEnd(ofServer: 0) == nil)
        _ = table.begin(a, at: .zero)
        _ = table.begin(device(2), at: .zero)
        _ = table.finished(a, server: 0, .failed(retryAfter: nil), at: .zero)
        // Both lookups failed of the same cause.
        _ = table.finished(device(2), server: 0, .failed(retryAfter: nil), at: .zero)
        #expect(table.pauseEnd(ofServer: 0) == .seconds(60))
        #expect(table.begin(device(3), at: .seconds(59)) == [1])
        #expect(table.begin(device(4), at: .seconds(60)) == [0, 1])
        _ = table.finished(device(4), server: 0, .failed(retryAfter: nil), at: .seconds(60))
        #expect(table.pauseEnd(ofServer: 0) == .seconds(180))
        _ = table.begin(device(5), at: .seconds(180))
        _ = table.finished(device(5), server: 0, .notFound(retryAfter: nil), at: .seconds(180))
        #expect(table.pauseEnd(ofServer: 0) == nil)
        _ = table.begin(device(6), at: .seconds(200))
        _ = table.finished(device(6), server: 0, .failed(retryAfter: .seconds(86_400)), at: .seconds(200))
        #expect(table.pauseEnd(ofServer: 0) == .seconds(3800))
        table.allowAllLookups()
        #expect(table.pauseEnd(ofServer: 0) == nil)
    }

    @Test func boundsTheNumberOfDevices() {
        var table = LookupTable(serverCount: 1, deviceLimit: 3)
        for number in 1...3 {
            #expect(table.begin(device(number), at: .seconds(number)) == [0])
            if number > 1 {
                _ = table.finished(device(number), server: 0, found("tcp://x:\(number)"), at: .seconds(number))
            }
        }
        // The first is being asked about, and what is known of the others is fresh.
        #expect(table.begin(device(4), at: .seconds(5)).isEmpty)
        #expect(table.addresses(of: device(2), at: .seconds(5)) == ["tcp://x:2"])
        // The second is due, and nobody has wanted it since.
        #expect(table.begin(device(4), at: .seconds(302)) == [0])
        #expect(table.deviceCount == 3)
        #expect(table.addresses(of: device(2), at: .seconds(302)).isEmpty)
        #expect(table.addresses(of: device(3), at: .seconds(302)) == ["tcp://x:3"])
        table.abandonAll()
        #expect(table.begin(device(5), at: .seconds(302)) == [0])
        // A person asks: what is fresh gives way as well, but not what is being asked.
        #expect(table.begin(device(6), at: .seconds(302)) == [0])
        table.allowLookup(of: device(7), at: .seconds(302))
        #expect(table.begin(device(7), at: .seconds(302)) == [0])
        #expect(table.deviceCount == 3)
        table.allowLookup(of: device(8), at: .seconds(302))
        #expect(table.begin(device(8), at: .seconds(302)).isEmpty)
    }

    /// More devices than the table has room for: each is asked about as seldom as its servers want, or not at all.
    @Test(arguments: [(100, 150, 1800), (100, 150, 60), (100, 1000, 60), (200, 150, 1800)])
    func asksAsSeldomAsToldWhenItIsFull(limit: Int, devices: Int, retryAfter: Int64) {
        var table = LookupTable(serverCount: 1, deviceLimit: limit)
        var lookups: [Int: Int] = [:]
        for second in stride(from: 0, to: 3600, by: 15) {
            for number in 1...devices where !table.begin(device(number), at: .seconds(second)).isEmpty {
                lookups[number, default: 0] += 1
                _ = table.finished(
                    device(number), server: 0, .notFound(retryAfter: .seconds(retryAfter)), at: .seconds(second))
            }
        }
        let each = 3600 / Int(retryAfter)
        #expect(lookups.values.allSatisfy { $0 <= each })
        #expect(lookups.values.reduce(0, +) <= min(limit, devices) * each)
        #expect(lookups.count >= min(limit, devices))
        // Those without room get some as soon as others are due.
        if retryAfter == 1800 { #expect(lookups.count == devices) }
    }

    /// However events fall, a server is asked about a device at most once in ten seconds, and never twice at a time.
    @Test(arguments: 0..<20) func neverFloodsAServer(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var table = LookupTable(serverCount: 2, deviceLimit: 4)
        var asked: [Int: Duration] = [:]
        var pending: [(Int, Int)] = []
        var now = Duration.zero
        for _ in 0..<5000 {
            now += .milliseconds(random.int(1...3000))
            let number = random.int(1...4)
            switch random.int(0...5) {
            case 0: table.allowLookup(of: device(number), at: now)
            case 1: table.allowAllLookups()
            case 2, 3:
                for server in table.begin(device(number), at: now) {
                    let key = number * 2 + server
                    #expect(asked[key].map { now - $0 >= .seconds(10) } ?? true)
                    #expect(!pending.contains { $0 == (number, server) })
                    asked[key] = now
                    pending.append((number, server))
                }
            default:
                guard !pending.isEmpty else { continue }
                let (number, server) = pending.remove(at: random.int(0...pending.count - 1))
                let outcomes = [
                    found("tcp://\(random.int(1...3)):1"), .notFound(retryAfter: .seconds(random.int(-9...9999))),
                    .failed(retryAfter: nil),
                ]
                _ = table.finished(device(number), server: server, random.pick(outcomes), at: now)
                #expect(table.addresses(of: device(number), at: now).count <= LookupAnswer.addressLimit)
            }
        }
        #expect(asked.count == 8)
    }
}
