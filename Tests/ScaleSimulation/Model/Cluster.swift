import BlockExchange
import Cryptography
import NIOCore
import Reconciliation
import SyncTestKit

/// Devices that share one folder, with links between them that take time and lose nothing. A value; the same seed gives the
/// same run.
///
/// Each end of a link has the agent's own machines: `IndexExchange` decides what is sent, `ConnectionMachine` makes and reads the
/// bytes. There are no sockets, no disks and no TLS, and blocks are not transferred.
package struct Cluster {
    package static let folder = FolderID("library")
    /// As `LinkExchange` sends them over a link that is not slow.
    static let entriesPerMessage = 1000
    /// A message is under way for 1 to this many ticks.
    static let longestDelay = 5
    static let ticksPerSecond = 50
    /// Seconds by which a device's clock is wrong at most.
    static let largestSkew = 2

    private struct End {
        var device: Int
        var exchange: IndexExchange
        var connection: ConnectionMachine
        /// When the last message to this end arrives: links keep the order.
        var lastArrival = 0
    }

    private struct Link {
        /// The ends, 0 and 1.
        var ends: [End]
    }

    private struct Frame {
        var link: Int
        /// To which end of the link.
        var end: Int
        var bytes: ByteBuffer
    }

    package let topology: Topology
    package private(set) var traffic: Traffic
    package private(set) var tick = 0
    private var devices: [ClusterDevice]
    /// Seconds by which each device's clock is ahead.
    private var skews: [Int64]
    private var links: [Link] = []
    private var underWay: [Int: [Frame]] = [:]
    private var random: SeededGenerator
    private let start: Int64 = 1_760_000_000
    private var fileNames: [String] = []
    private var blocks: [SHA256Digest: [BlockInfo]] = [:]

    /// Connects all devices, each of which has the same files, and lets them exchange their indexes.
    ///
    /// - Parameter selectiveShare: how many of 100 devices, hubs aside, have nothing selected.
    /// - Throws: `ProtocolError` if one end does not accept what the other sends.
    package init(
        _ topology: Topology, fileCount: Int, hubCount: Int = 0, selectiveShare: Int = 0, seed: UInt64
    ) throws {
        self.topology = topology
        var random = SeededGenerator(seed: seed)
        traffic = Traffic(deviceCount: topology.deviceCount)
        var devices = (0..<topology.deviceCount).map { number in
            ClusterDevice(number: number, isFull: number < hubCount || number % 100 >= selectiveShare)
        }
        for (number, pair) in topology.links.enumerated() {
            devices[pair.first].addLink(number)
            devices[pair.second].addLink(number)
        }
        self.devices = devices
        skews = devices.map { _ in Int64(random.int(-Self.largestSkew...Self.largestSkew)) }
        for number in 0..<fileCount {
            let name = "documents/2025/report-\(number).pdf"
            let item = Self.content(using: &random, at: start)
            var author = ClusterDevice(number: 0, isFull: true)
            author.write(name, item, at: start)
            guard let file = author.updates(after: 0, limit: 1).first else { continue }
            for device in self.devices.indices { self.devices[device].hold(file) }
            fileNames.append(name)
        }
        self.random = random
        try connect()
        try settle()
    }

    package var deviceCount: Int { devices.count }
    /// The names in the folder, conflict copies included.
    package var fileCount: Int { devices.first { $0.isFull }?.contents.count ?? 0 }
    /// Files that agents have renamed because another version won.
    package var conflictCopyCount: Int { devices.reduce(0) { $0 + $1.conflictCopyCount } }
    /// The links that the change that went farthest has passed.
    package var longestWay: Int { devices.flatMap(\.hops.values).max() ?? 0 }
    package var mostLinks: Int { devices.map(\.links.count).max() ?? 0 }

    /// Whether all full devices have the same version of every name, and every device has all that its neighbours announced.
    package var hasConverged: Bool {
        let full = devices.filter(\.isFull)
        guard let expected = full.first?.contents, full.allSatisfy({ $0.contents == expected }) else { return false }
        for (number, link) in links.enumerated() {
            for end in 0...1 {
                let announced = devices[link.ends[1 - end].device].ownPosition
                if devices[link.ends[end].device].position(of: number) != announced { return false }
            }
        }
        return true
    }

    package mutating func resetTraffic() { traffic = Traffic(deviceCount: devices.count) }

    // MARK: changes

    /// Users change so many different files at the same moment, each on a full device that chance chooses.
    package mutating func changeFiles(_ count: Int) {
        let full = devices.indices.filter { devices[$0].isFull }
        for name in fileNames.shuffled(using: &random).prefix(count) { change(name, by: random.pick(full)) }
    }

    /// So many users, each on another device, change the same file before they hear of each other.
    package mutating func changeOneFile(byDevices count: Int) {
        let name = random.pick(fileNames)
        let full = devices.indices.filter { devices[$0].isFull }
        for device in full.shuffled(using: &random).prefix(count) { change(name, by: device) }
    }

    private mutating func change(_ name: String, by device: Int) {
        let now = now(device)
        devices[device].write(name, Self.content(using: &random, at: now), at: now)
    }

    private func now(_ device: Int) -> Int64 { start + 1000 + Int64(tick / Self.ticksPerSecond) + skews[device] }

    /// A file of 1 MiB: eight blocks.
    private static func content(using random: inout SeededGenerator, at unixSeconds: Int64) -> ObservedItem {
        let size = Int32(BlockSize.minimum)
        return ObservedItem(
            kind: .file, size: 8 * Int64(size), modifiedSeconds: unixSeconds,
            modifiedNanoseconds: Int32(random.int(0...999_999_999)), blockSize: size,
            blocks: (0..<8).map { BlockInfo(offset: $0 * Int64(size), size: size, hash: random.digest()) })
    }

    // MARK: links

    private mutating func connect() throws {
        for pair in topology.links {
            let numbers = [pair.first, pair.second]
            var ends = [0, 1].map { end in
                End(
                    device: numbers[end],
                    exchange: IndexExchange(local: devices[numbers[end]].id, peer: devices[numbers[1 - end]].id),
                    connection: ConnectionMachine(now: .zero))
            }
            for end in 0...1 { ends[end].exchange.share([Self.folder: .open]) }
            links.append(Link(ends: ends))
        }
        for link in links.indices {
            for end in 0...1 {
                let hello = Hello(
                    deviceName: "device \(links[link].ends[end].device)", clientName: "synctrain",
                    clientVersion: "0.1.0")
                dispatch(links[link].ends[end].connection.start(hello, at: .zero), link, from: end)
                let config = clusterConfig(of: link, end)
                dispatch(links[link].ends[end].connection.send(.clusterConfig(config), at: .zero), link, from: end)
            }
            // Otherwise the configurations of all links would be in memory at the same time.
            while !underWay.isEmpty { try step() }
        }
    }

    /// As `SharedFolders.clusterConfig` has it: all devices that share the folder with the sender.
    private func clusterConfig(of link: Int, _ end: Int) -> ClusterConfig {
        let device = devices[links[link].ends[end].device]
        let own = device.ownPosition
        var listed = [
            ClusterConfig.Device(
                id: device.id, name: "device \(links[link].ends[end].device)", addresses: ["dynamic"],
                maxSequence: own.sequence, indexID: own.indexID)
        ]
        for other in device.links {
            let pair = topology.links[other]
            let neighbour = devices[pair.first].id == device.id ? pair.second : pair.first
            let known = other == link ? device.position(of: link) : nil
            listed.append(
                ClusterConfig.Device(
                    id: devices[neighbour].id, name: "device \(neighbour)", addresses: ["dynamic"],
                    maxSequence: known?.sequence ?? 0, indexID: known?.indexID ?? .none))
        }
        return ClusterConfig(folders: [ClusterConfig.Folder(id: Self.folder, label: "Library", devices: listed)])
    }

    private mutating func dispatch(_ bytes: ByteBuffer, _ link: Int, from end: Int) {
        traffic.count(bytes.readableBytes, by: links[link].ends[end].device)
        let arrival = max(tick + random.int(1...Self.longestDelay), links[link].ends[1 - end].lastArrival)
        links[link].ends[1 - end].lastArrival = arrival
        underWay[arrival, default: []].append(Frame(link: link, end: 1 - end, bytes: bytes))
    }

    // MARK: running

    /// Runs until no message is under way.
    ///
    /// - Throws: `ProtocolError` if one end does not accept what the other sends.
    package mutating func settle() throws {
        for device in devices.indices { feed(device) }
        while !underWay.isEmpty { try step() }
    }

    private mutating func step() throws {
        tick += 1
        guard let frames = underWay.removeValue(forKey: tick) else { return }
        var touched: [Int: Set<String>] = [:]
        for frame in frames {
            let device = links[frame.link].ends[frame.end].device
            touched[device, default: []].formUnion(try receive(frame))
        }
        for device in touched.keys.sorted() {
            for name in touched[device, default: []].sorted() { devices[device].reconcile(name, at: now(device)) }
            feed(device)
        }
    }

    /// Hands a frame to the machines of its end. Gives the names that were announced.
    private mutating func receive(_ frame: Frame) throws -> [String] {
        let (number, end) = (frame.link, frame.end)
        let device = links[number].ends[end].device
        let neighbour = links[number].ends[1 - end].device
        var names: [String] = []
        links[number].ends[end].connection.receive(frame.bytes, at: .zero)
        while let event = try links[number].ends[end].connection.nextEvent() {
            switch event {
            case .clusterConfig(let config):
                let facts = IndexExchange.Facts(
                    own: devices[device].ownPosition, peers: devices[device].position(of: number))
                for action in try links[number].ends[end].exchange.heard(config, [Self.folder: facts]) {
                    if case .settle(let settlement) = action { devices[device].settle(settlement, link: number) }
                }
                links[number].ends[end].exchange.performed()
            case .index(let batch):
                guard links[number].ends[end].exchange.received(batch, terms: .open) == .store else { continue }
                names += devices[device].store(shared(batch), link: number, hops: devices[neighbour].hops)
            case .hello, .request, .response, .downloadProgress, .keepRequest, .keepAnswer, .reachRequest, .reachAnswer,
                .renameRequest, .renameAnswer, .closed:
                break
            }
        }
        return names
    }

    /// The same with blocks that all devices share in memory, as every one reads them from bytes of its own.
    private mutating func shared(_ batch: IndexBatch) -> IndexBatch {
        var batch = batch
        for index in batch.files.indices {
            guard let hash = batch.files[index].blocksHash else { continue }
            if let known = blocks[hash] {
                batch.files[index].blocks = known
            } else {
                blocks[hash] = batch.files[index].blocks
            }
        }
        return batch
    }

    /// Sends every neighbour of `device` what that has not got of its index.
    private mutating func feed(_ device: Int) {
        for link in devices[device].links {
            let end = links[link].ends[0].device == device ? 0 : 1
            while let feed = links[link].ends[end].exchange.feed(of: Self.folder) {
                let files = devices[device].updates(after: feed.after, limit: Self.entriesPerMessage)
                guard let last = files.last?.sequence,
                    links[link].ends[end].exchange.sends(Self.folder, feed, through: last)
                else { break }
                let message = OutgoingMessage.index(
                    folder: Self.folder, files: files, isFullIndex: feed.isWhole, previousSequence: feed.after)
                dispatch(links[link].ends[end].connection.send(message, at: .zero), link, from: end)
                traffic.entryCount += files.count
            }
        }
    }
}
