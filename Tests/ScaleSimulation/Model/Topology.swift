import SyncTestKit

/// Which devices of a cluster share the folder with each other, and so have a link.
package struct Topology: Sendable, CustomStringConvertible {
    package struct Pair: Hashable, Sendable {
        package var first: Int
        package var second: Int

        package init(_ first: Int, _ second: Int) {
            self.first = min(first, second)
            self.second = max(first, second)
        }
    }

    package let name: String
    package let deviceCount: Int
    /// Each pair once, in an order that is the same in every run.
    package let links: [Pair]

    /// - Parameter links: pairs of different numbers below `deviceCount`; repeated ones count once.
    package init(name: String, deviceCount: Int, links: [Pair]) {
        self.name = name
        self.deviceCount = deviceCount
        var known: Set<Pair> = []
        self.links = links.filter { $0.first != $0.second && known.insert($0).inserted }
    }

    package var description: String { "\(name), \(deviceCount) devices" }

    /// Device 0 has a link with every other.
    package static func hub(_ deviceCount: Int) -> Topology {
        Topology(name: "one hub", deviceCount: deviceCount, links: (1..<deviceCount).map { Pair(0, $0) })
    }

    /// The first `hubCount` devices form a ring; every other one has a link with two neighbours on it.
    package static func ring(_ deviceCount: Int, hubs hubCount: Int) -> Topology {
        let ring = (0..<hubCount).map { Pair($0, ($0 + 1) % hubCount) }
        let spokes = (hubCount..<deviceCount).flatMap { device in
            [Pair(device, device % hubCount), Pair(device, (device + 1) % hubCount)]
        }
        return Topology(name: "ring of \(hubCount) hubs", deviceCount: deviceCount, links: ring + spokes)
    }

    /// The first `hubCount` devices have links with each other; every other one has a link with two of them.
    package static func hubs(_ deviceCount: Int, hubs hubCount: Int) -> Topology {
        let spokes = (hubCount..<deviceCount).flatMap { device in
            [Pair(device, device % hubCount), Pair(device, (device + 1) % hubCount)]
        }
        return Topology(
            name: "\(hubCount) hubs with links to each other", deviceCount: deviceCount,
            links: mesh(hubCount).links + spokes)
    }

    /// Every device has about `degree` links with devices that chance chooses; the graph is connected.
    package static func random(_ deviceCount: Int, degree: Int, seed: UInt64) -> Topology {
        var random = SeededGenerator(seed: seed)
        var links: [Pair] = []
        // Each shuffled circle gives every device two links, and the first connects all.
        for _ in 0..<max(1, degree / 2) {
            let circle = Array(0..<deviceCount).shuffled(using: &random)
            for index in circle.indices { links.append(Pair(circle[index], circle[(index + 1) % circle.count])) }
        }
        return Topology(name: "random, degree \(degree)", deviceCount: deviceCount, links: links)
    }

    /// Every device has a link with every other.
    package static func mesh(_ deviceCount: Int) -> Topology {
        Topology(
            name: "full mesh", deviceCount: deviceCount,
            links: (0..<deviceCount).flatMap { first in (first + 1..<deviceCount).map { Pair(first, $0) } })
    }
}
