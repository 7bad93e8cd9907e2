import BlockExchange
import SyncTestKit
import Testing

@testable import LinkRules

/// Two devices, each with a set of its own, over connections that deliver in order, late, and break.
private struct Pair {
    struct Message {
        var end: Int
        var event: ConnectionSet.Event
        var at: Duration
        var link: LinkNumber
    }

    var sets: [ConnectionSet]
    var now: Duration = .zero
    var inbox: [Message] = []
    var random: SeededGenerator
    let peerIsSyncthing: Bool
    /// How many connections both want.
    let connectionCount: Int32
    var open: Set<LinkNumber> = []
    var ways: [LinkNumber: (way: LinkWay, dialler: Int)] = [:]
    var promotions = 0
    /// For each end the connections on which it has heard what the other shares since its own last exchange there ended: without that it
    /// takes no index.
    var informed: [Set<LinkNumber>] = [[], []]

    init(seed: Int) {
        random = SeededGenerator(seed: UInt64(seed))
        peerIsSyncthing = random.isOne(in: 3)
        connectionCount = random.isOne(in: 2) ? 1 : 3
        sets = [true, false].map { ConnectionSetTests.set(isLow: $0) }
    }

    /// Messages on one connection keep their order.
    mutating func post(_ event: ConnectionSet.Event, to end: Int, on link: LinkNumber) {
        let last = inbox.filter { $0.link == link && $0.end == end }.map(\.at).max() ?? now
        inbox.append(
            Message(end: end, event: event, at: max(last, now) + .milliseconds(random.int(1...300)), link: link))
    }

    /// - Parameter ends: those that hear of it: the peer may have heard of a dial that this end gives up.
    mutating func dial(_ number: Int, _ way: LinkWay, by dialler: Int, heardBy ends: [Int] = [0, 1]) {
        let link = LinkNumber(number)
        open.insert(link)
        ways[link] = (way, dialler)
        for end in ends {
            post(
                .hello(
                    LinkView(link, way: way, isOurs: end == dialler, since: now), connectionCount: connectionCount,
                    knowsRule: true),
                to: end, on: link)
        }
    }

    mutating func shut(_ link: LinkNumber) {
        guard open.remove(link) != nil else { return }
        for end in 0...1 { post(.ended(link), to: end, on: link) }
    }

    mutating func perform(_ actions: [ConnectionSet.Action], at end: Int) {
        for action in actions {
            switch action {
            case .promote(let link):
                promotions += 1
                post(.configReceived(link, isSecondary: false), to: 1 - end, on: link)
                post(.configSent(link), to: end, on: link)
            case .sendSecondary(let link):
                post(.configReceived(link, isSecondary: true), to: 1 - end, on: link)
                post(.configSent(link), to: end, on: link)
            case .refuse(let link, _), .close(let link, _): shut(link)
            case .retire(let link): post(.idle(link), to: end, on: link)
            case .probe(let links):
                for link in links where open.contains(link) { post(.answered(link), to: end, on: link) }
            case .demote(let link):
                informed[end].remove(link)
            case .proceed, .admit, .connected, .disconnected: break
            }
        }
    }

    /// Lets everything happen that is due until `end`.
    mutating func run(until end: Duration) {
        while true {
            let wakes = sets.indices.compactMap { index in sets[index].nextWake.map { (at: $0, end: index) } }
            let message = inbox.min { $0.at < $1.at }
            let wake = wakes.min { $0.at < $1.at }
            guard let next = [message?.at, wake?.at].compactMap({ $0 }).min(), next <= end else { break }
            now = max(now, next)
            if let message, message.at <= next {
                let index = inbox.firstIndex {
                    $0.at == message.at && $0.end == message.end && $0.link == message.link
                }!
                let taken = inbox.remove(at: index)
                let isDead = !open.contains(taken.link)
                if case .ended = taken.event {} else if isDead { continue }
                var event = taken.event
                if case .configReceived(let link, isSecondary: false) = event { informed[taken.end].insert(link) }
                if case .hello(var view, let count, let knows) = event {
                    view.since = now
                    event = .hello(view, connectionCount: count, knowsRule: knows)
                }
                perform(sets[taken.end].handle(event, at: now), at: taken.end)
            } else if let wake {
                perform(sets[wake.end].handle(.time, at: now), at: wake.end)
            }
        }
        now = end
    }
}

@Suite struct ConnectionAgreementTests {
    /// Dials from both ends that cross, links that break, messages that come late: some seconds after the last of it both ends
    /// have the same connections and exchange the indexes on the same one.
    @Test func bothEndsSettleOnOnePrimary() {
        var connectedCount = 0
        for seed in 0..<1500 {
            var pair = Pair(seed: seed)
            var number = 0
            for _ in 0..<pair.random.int(1...12) {
                let way: LinkWay = pair.random.isOne(in: 5) ? .relay : .wideTCP
                let dialler = pair.random.int(0...1)
                if pair.random.isOne(in: 4), let link = pair.open.sorted().first {
                    pair.shut(link)
                } else if pair.random.isOne(in: 4) {
                    number += 1
                    pair.dial(number, way, by: dialler, heardBy: [1 - dialler])
                    pair.run(until: pair.now + .milliseconds(pair.random.int(0...600)))
                    pair.shut(LinkNumber(number))
                } else {
                    number += 1
                    pair.dial(number, way, by: dialler)
                }
                pair.run(until: pair.now + .milliseconds(pair.random.int(0...4000)))
            }
            let promotions = pair.promotions
            pair.run(until: pair.now + .seconds(30))
            let settled = pair.promotions
            pair.run(until: pair.now + .seconds(600))
            #expect(pair.promotions == settled, "seed \(seed)")
            #expect(settled - promotions <= 8, "seed \(seed)")
            #expect(pair.sets[0].primary == pair.sets[1].primary, "seed \(seed)")
            #expect(Set(pair.sets[0].active.map(\.number)) == Set(pair.sets[1].active.map(\.number)), "seed \(seed)")
            #expect(Set(pair.sets[0].openLinks) == Set(pair.sets[0].active.map(\.number)), "seed \(seed)")
            guard let primary = pair.sets[0].primary else { continue }
            connectedCount += 1
            #expect(pair.informed.allSatisfy { $0.contains(primary) }, "seed \(seed)")
        }
        #expect(connectedCount > 1000)
    }
}
