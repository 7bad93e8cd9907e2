import ScaleModel

/// A cluster of many agents that share one folder: what a change costs, and whether all end with the same.
///
///     make scale
///     ScaleSimulation [DEVICES] [SEED]
@main
enum ScaleSimulation {
    private static let fileCount = 120

    static func main() throws {
        let numbers = CommandLine.arguments.dropFirst().compactMap { Int($0) }
        let deviceCount = max(20, numbers.first ?? 1000)
        let seed = UInt64(numbers.dropFirst().first ?? 1)
        print("\(deviceCount) agents, one folder of \(fileCount) files, seed \(seed)")
        printSizes()
        let hubs = max(3, deviceCount / 50)
        try run(.hub(deviceCount), hubCount: 1, seed: seed)
        try run(.hub(deviceCount), hubCount: 1, selectiveShare: 90, seed: seed)
        try run(.hubs(deviceCount, hubs: 5), hubCount: 5, seed: seed)
        try run(.ring(deviceCount, hubs: hubs), hubCount: hubs, seed: seed)
        try run(.random(deviceCount, degree: 8, seed: seed), seed: seed)
        try run(.mesh(max(20, deviceCount / 20)), seed: seed)
    }

    private static func printSizes() {
        print("an IndexUpdate with one file, in bytes:")
        for (title, size) in [("100 KiB", 100 << 10), ("1 MiB", 1 << 20), ("100 MiB", 100 << 20), ("4 GiB", 4 << 30)] {
            print("  \(title): \(MessageSizes.indexUpdate(ofFileWith: Int64(size)))")
        }
        print("  1 MiB, changed by 100 devices: \(MessageSizes.indexUpdate(ofFileWith: 1 << 20, changedBy: 100))")
        print("  not selected: \(MessageSizes.unselectedUpdate)")
        for count in [10, 100, 500, 1000] {
            print("a ClusterConfig of a folder with \(count) devices: \(MessageSizes.clusterConfig(sharedBy: count))")
        }
    }

    private static func run(
        _ topology: Topology, hubCount: Int = 0, selectiveShare: Int = 0, seed: UInt64
    ) throws {
        let start = ContinuousClock.now
        var cluster = try Cluster(
            topology, fileCount: fileCount, hubCount: hubCount, selectiveShare: selectiveShare, seed: seed)
        let selective = selectiveShare == 0 ? "" : ", \(selectiveShare) % with nothing selected"
        print("\n\(topology.name)\(selective): \(topology.deviceCount) agents, \(topology.links.count) links")
        print("  most links of one agent: \(cluster.mostLinks)")
        report("connecting", cluster, changes: nil)
        try measure("1 change", &cluster, changes: 1) { $0.changeFiles(1) }
        try measure("100 changes at once", &cluster, changes: 100) { $0.changeFiles(100) }
        try measure("2 agents change the same file", &cluster, changes: 2) { $0.changeOneFile(byDevices: 2) }
        print("    renamed by: \(cluster.conflictCopyCount) agents, to \(cluster.fileCount - fileCount) names")
        print("  seconds: \(tenths((ContinuousClock.now - start) / .seconds(1)))")
    }

    private static func measure(
        _ title: String, _ cluster: inout Cluster, changes: Int, _ change: (inout Cluster) -> Void
    ) throws {
        cluster.resetTraffic()
        let begun = cluster.tick
        change(&cluster)
        try cluster.settle()
        report(title, cluster, changes: changes)
        print("    ticks: \(cluster.tick - begun), links on the longest way: \(cluster.longestWay)")
        guard cluster.hasConverged else { fatalError("\(title): the agents do not have the same files") }
    }

    private static func report(_ title: String, _ cluster: Cluster, changes: Int?) {
        let traffic = cluster.traffic
        print(
            "  \(title): \(traffic.messageCount) messages, \(traffic.entryCount) entries, \(bytes(traffic.byteCount)); "
                + "the busiest agent sent \(bytes(traffic.mostBytesOfOneDevice))")
        guard let changes, changes > 0 else { return }
        print(
            "    per change: \(tenths(Double(traffic.messageCount) / Double(changes))) messages, "
                + bytes(traffic.byteCount / changes))
    }

    private static func bytes(_ count: Int) -> String {
        switch count {
        case ..<10_000: "\(count) B"
        case ..<10_000_000: "\(tenths(Double(count) / 1000)) kB"
        default: "\(tenths(Double(count) / 1_000_000)) MB"
        }
    }

    private static func tenths(_ value: Double) -> String {
        let tenths = Int((value * 10).rounded())
        return "\(tenths / 10).\(tenths % 10)"
    }
}
