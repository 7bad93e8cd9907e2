import BlockExchange
import Cryptography
import Reconciliation
import SyncTestKit

/// A few devices that have, free and fetch one file, and the messages between them; all that happens follows from a seed.
/// Everything that is decided is decided by the rules that the agent uses.
struct KeepCluster {
    /// What survives a restart, and comes out of a backup.
    struct Durable {
        /// The version on this disk, if any.
        var disk: Int?
        var notes = KeepNotes()
        /// Requests of each device that something was granted of.
        var promiseCounts: [Int: Int64] = [:]
        var heardCounts: [Int: Int64] = [:]
        var history = ModeHistory(selectiveSince: nil)
        /// The mode that `history` knows of.
        var mode = PeerMode.selective
        var modes: [Int: PeerMode] = [:]
        /// Which version each device announces, and the newest it knows.
        var announced: [Int: Int] = [:]
    }

    struct Device {
        let id: DeviceID
        var mode: PeerMode
        var durable = Durable()
        var backup: Durable?
        // Of this run:
        var acknowledged: Set<Int> = []
        /// Who has stated on this link what it has promised.
        var stated: Set<Int> = []
        var heardIndex: Set<Int> = []
        var seen: [Int: Int64] = [:]

        var disk: Int? { durable.disk }
    }

    enum Message {
        case state(PeerMode, Int64)
        case stated(PeerMode)
        case index(Int?)
        case ask(Int)
        case answer(Int, Bool, Int64)
        case release(Int)
        case released(Int)
    }

    struct Link: Hashable { let from: Int, to: Int }

    static let maximumAge: Int64 = 100
    let countsAnnouncements: Bool
    var generator: SeededGenerator
    var devices: [Device] = []
    /// Both directions of each link that is up.
    var links: [Link: [Message]] = [:]
    var now: Int64 = 1000
    var newest = 1
    var freedCount = 0
    var trace: [String] = []

    init(seed: UInt64, countsAnnouncements: Bool = false) {
        self.countsAnnouncements = countsAnnouncements
        generator = SeededGenerator(seed: seed)
        for number in 0..<generator.int(2...4) {
            var device = Device(
                id: DeviceID(digest: SHA256.digest(generator.bytes(8))),
                mode: generator.pick([.selective, .selective, .full, .full, .syncthing]))
            if number == 0 { device.mode = generator.pick([.selective, .full]) }
            device.durable.mode = device.mode
            device.durable.disk = number == 0 || !generator.isOne(in: 4) ? 1 : nil
            devices.append(device)
        }
        note("modes \(devices.map(\.mode))")
    }

    /// Who has the newest version.
    var holders: [Int] { devices.indices.filter { devices[$0].disk == newest } }

    private mutating func note(_ words: String) { trace.append("\(now): \(words)") }

    private static func file(_ version: Int) -> FileInfo {
        Sample.file("\(version)", VersionVector([.init(id: Sample.other, value: UInt64(version))]))
    }

    private static func content(_ version: Int) -> KeepContent {
        let file = file(version)
        return KeepContent(version: file.version, kind: .file, size: file.size, digest: file.blocksHash)
    }

    private func local(_ number: Int) -> LocalVersion? {
        devices[number].disk.map { LocalVersion(file: Self.file($0), isOnDisk: true) }
    }

    private func number(_ id: DeviceID) -> Int? { devices.firstIndex { $0.id == id } }

    // MARK: what happens

    mutating func act() {
        let one = generator.int(0...devices.count - 1)
        let other = generator.int(0...devices.count - 1)
        switch generator.int(0...99) {
        case 0..<40: for _ in 0..<generator.int(1...8) { deliver() }
        case 40..<50: if one != other { connect(one, other) }
        case 50..<54: if one != other { cut(one, other) }
        case 54..<68: ask(one)
        case 68..<80: free(one)
        case 80..<84: if one != other { fetch(one, from: other) }
        case 84..<86: edit(one)
        case 86..<88: restart(one, isRestored: false)
        case 88..<91: devices[one].backup = devices[one].durable
        case 91..<95: restart(one, isRestored: true)
        case 95..<96: giveUp(one)
        case 96..<98: change(one)
        default: now += Int64(generator.pick([1, 10, 40, 101]))
        }
        for link in links.keys { devices[link.from].seen[link.to] = now }
    }

    private mutating func send(_ message: Message, _ from: Int, _ to: Int) {
        guard devices[from].mode != .syncthing || { if case .index = message { true } else { false } }() else { return }
        guard devices[to].mode != .syncthing || { if case .index = message { true } else { false } }() else { return }
        links[Link(from: from, to: to)]?.append(message)
    }

    private mutating func connect(_ one: Int, _ other: Int) {
        guard links[Link(from: one, to: other)] == nil else { return }
        note("\(one) and \(other) meet")
        for (from, to) in [(one, other), (other, one)] {
            links[Link(from: from, to: to)] = []
            devices[from].acknowledged.remove(to)
            devices[from].stated.remove(to)
            devices[from].heardIndex.remove(to)
        }
        for (from, to) in [(one, other), (other, one)] { greet(from, to) }
    }

    private mutating func greet(_ from: Int, _ to: Int) {
        send(.index(devices[from].disk), from, to)
        send(.state(devices[from].mode, devices[from].durable.promiseCounts[to] ?? 0), from, to)
        for (id, held) in devices[from].durable.notes.held where held.standing == .released && number(id) == to {
            send(.release(Int(held.content.version.counters[0].value)), from, to)
        }
    }

    private mutating func cut(_ one: Int, _ other: Int) {
        guard links[Link(from: one, to: other)] != nil else { return }
        note("\(one) and \(other) part")
        links[Link(from: one, to: other)] = nil
        links[Link(from: other, to: one)] = nil
        devices[one].durable.notes.gaveUp(devices[other].id)
        devices[other].durable.notes.gaveUp(devices[one].id)
    }

    private mutating func announce(_ one: Int) {
        for other in devices.indices where other != one { send(.index(devices[one].disk), one, other) }
    }

    private mutating func deliver() {
        let waiting = links.filter { !$0.value.isEmpty }.keys.sorted { ($0.from, $0.to) < ($1.from, $1.to) }
        guard !waiting.isEmpty else { return }
        let link = generator.pick(waiting)
        guard let message = links[link]?.removeFirst() else { return }
        let (from, to) = (link.from, link.to)
        let sender = devices[from].id
        note("\(from) to \(to): \(message)")
        switch message {
        case .index(let version):
            devices[to].durable.announced[from] = version
            devices[to].heardIndex.insert(from)
            if devices[from].mode == .syncthing { devices[to].durable.modes[from] = .syncthing }
            // A newer version replaces an older one.
            if let version, let own = devices[to].disk, own < version {
                devices[to].durable.disk = version
                announce(to)
            }
        case .state(let mode, let count):
            devices[to].durable.modes[from] = mode
            if count < devices[to].durable.heardCounts[from] ?? 0 { devices[to].durable.notes.lost(by: sender) }
            devices[to].durable.heardCounts[from] = count
            devices[to].stated.insert(from)
            send(.stated(mode), to, from)
        case .stated(let mode):
            guard mode == devices[to].mode else { return }
            devices[to].acknowledged.insert(from)
            devices[to].durable.history.told.insert(sender)
        case .ask(let version):
            let local = local(to)
            let own = devices[to].id
            let isGranted = devices[to].durable.notes.grant(
                Self.content(version), to: sender, by: own, local: local, isUnchanged: true)
            if isGranted { devices[to].durable.promiseCounts[from, default: 0] += 1 }
            send(.answer(version, isGranted, devices[to].durable.promiseCounts[from] ?? 0), to, from)
        case .answer(let version, let isGranted, let count):
            devices[to].durable.notes.answered(sender, Self.content(version), isGranted: isGranted)
            devices[to].durable.heardCounts[from] = max(devices[to].durable.heardCounts[from] ?? 0, count)
        case .release(let version):
            devices[to].durable.notes.release(Self.content(version), by: sender)
            send(.released(version), to, from)
        case .released(let version):
            guard devices[to].durable.notes.held[sender]?.content == Self.content(version) else { return }
            devices[to].durable.notes.wasReleased(sender)
        }
    }

    private func rule(_ one: Int) -> CopyRule {
        let device = devices[one]
        var rule = CopyRule(isFull: device.mode == .full, maximumAge: .seconds(Self.maximumAge), peers: [:])
        var modes: [DeviceID: PeerMode] = [:]
        for other in devices.indices where other != one {
            let mode = device.durable.modes[other] ?? .unknown
            modes[devices[other].id] = mode
            let isConnected = links[Link(from: one, to: other)] != nil
            rule.peers[devices[other].id] = CopyRule.Peer(
                mode: mode, isConnected: isConnected,
                isAskable: isConnected && (mode == .syncthing || device.stated.contains(other)),
                isAgreed: device.acknowledged.contains(other) && device.heardIndex.contains(other),
                unseen: device.seen[other].map { .seconds(now - $0) })
        }
        rule.isKnownAsSelective = device.durable.history.isKnownAsSelective(
            to: modes, at: now, maximumAge: .seconds(Self.maximumAge))
        return rule
    }

    private func announcers(_ one: Int, of version: Int) -> [DeviceID] {
        devices.indices.filter { $0 != one && devices[one].durable.announced[$0] == version }.map { devices[$0].id }
            .sorted()
    }

    private mutating func ask(_ one: Int) {
        guard devices[one].mode != .syncthing, let version = devices[one].disk else { return }
        let content = Self.content(version)
        let words = devices[one].durable.notes.words(about: content)
        for id in rule(one).askable(announcers(one, of: version), words: words) {
            guard let other = number(id) else { continue }
            if devices[other].mode == .syncthing {
                devices[one].durable.notes.verified(id, content, isGood: devices[other].disk == version)
            } else if devices[one].durable.notes.ask(id, for: content) {
                note("\(one) asks \(other)")
                send(.ask(version), one, other)
            }
        }
    }

    private mutating func giveUp(_ one: Int) {
        for id in devices.map(\.id) { devices[one].durable.notes.gaveUp(id) }
        if generator.isOne(in: 2) {
            let global = devices[one].durable.announced.values.max() ?? 0
            let version = max(global, devices[one].disk ?? 0)
            devices[one].durable.notes.settle(local: local(one), global: Self.file(version).version)
        }
        for other in devices.indices where links[Link(from: one, to: other)] != nil { greet(one, other) }
    }

    private mutating func free(_ one: Int) {
        guard devices[one].mode != .syncthing, let version = devices[one].disk else { return }
        let file = Self.file(version)
        let notes = devices[one].durable.notes
        let holders = announcers(one, of: version)
        var copies = rule(one).copies(holders, words: notes.words(about: Self.content(version)))
        if countsAnnouncements { copies.count = holders.count }
        copies.promisedTo = notes.promised(file.version)
        let reason = Freeing.reason(
            against: local(one), global: file, copies: copies, minimumCopies: 1, sight: .unchanged)
        guard reason == nil else { return }
        note(
            "\(one) frees \(version): \(copies.count), \(notes.held.map { "\(number($0.key) ?? -1) \($0.value.standing)" })"
        )
        devices[one].durable.disk = nil
        freedCount += 1
        announce(one)
    }

    private mutating func fetch(_ one: Int, from other: Int) {
        guard links[Link(from: one, to: other)] != nil, let version = devices[other].disk,
            version > devices[one].disk ?? 0
        else { return }
        note("\(one) fetches \(version)")
        devices[one].durable.disk = version
        announce(one)
    }

    private mutating func edit(_ one: Int) {
        guard devices[one].disk == newest else { return }
        newest += 1
        note("\(one) edits \(newest)")
        devices[one].durable.disk = newest
        announce(one)
    }

    private mutating func change(_ one: Int) {
        let device = devices[one]
        guard device.mode != .syncthing else { return }
        let mode: PeerMode = device.mode == .full ? .selective : .full
        note("\(one) becomes \(mode)")
        devices[one].mode = mode
        noteMode(one)
        for other in devices.indices where links[Link(from: one, to: other)] != nil { greet(one, other) }
    }

    private mutating func noteMode(_ one: Int) {
        guard devices[one].durable.mode != devices[one].mode else { return }
        devices[one].durable.mode = devices[one].mode
        devices[one].durable.history = ModeHistory(selectiveSince: now)
    }

    private mutating func restart(_ one: Int, isRestored: Bool) {
        for other in devices.indices where other != one { cut(one, other) }
        if isRestored {
            // What a restored disk has not is lost by who restores it, unless others have it.
            guard devices[one].mode != .syncthing, let backup = devices[one].backup,
                devices[one].disk == nil || devices[one].disk == backup.disk
            else { return }
            note("\(one) is restored, with \(backup.disk ?? 0)")
            devices[one].durable = backup
            // Who relies on a copy that a backup does not have has lost nothing by its own rules.
        }
        note("\(one) starts")
        devices[one].durable.notes.restart()
        devices[one].acknowledged = []
        devices[one].heardIndex = []
        devices[one].seen = [:]
        noteMode(one)
    }
}
