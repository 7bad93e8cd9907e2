/// Where a device may be found, by all who say so: bounded, without doubles, without what must not be dialled.
struct AddressBook: Sendable {
    /// Of each source no more texts are read.
    static let readLimit = 1000
    /// In all no more are kept.
    static let limit = 32
    /// Names cost a look-up each, and any number may lead to one place.
    static let foundNameLimit = 4

    struct Entry: Sendable, Equatable {
        var target: DialTarget
        var source: AddressSource
    }

    private var texts: [AddressSource: [DialTarget]] = [:]
    private(set) var entries: [Entry] = []
    private var hasProxy = false
    private var isProxyOnly = false

    /// Replaces what a source has said.
    mutating func set(_ source: AddressSource, _ texts: [String]) {
        var targets: [DialTarget] = []
        for text in texts.prefix(Self.readLimit) {
            // What cannot be dialled says nothing of the rest: a peer may be newer, or lie.
            guard let target = try? DialTarget(parsing: text), !targets.contains(target) else { continue }
            targets.append(target)
            if targets.count >= Self.limit * 4 { break }
        }
        self.texts[source] = targets
        merge()
    }

    mutating func set(hasProxy: Bool, isProxyOnly: Bool) {
        guard (hasProxy, isProxyOnly) != (self.hasProxy, self.isProxyOnly) else { return }
        (self.hasProxy, self.isProxyOnly) = (hasProxy, isProxyOnly)
        merge()
    }

    private mutating func merge() {
        var seen: Set<DialTarget> = []
        entries = []
        for source in AddressSource.allCases.sorted() {
            var room = Self.room(source)
            var names = source == .configured ? Self.limit : Self.foundNameLimit
            for target in texts[source] ?? [] where entries.count < Self.limit {
                guard let places = room[target.kind], places > 0, !seen.contains(target),
                    AddressSanity.problem(target, from: source, hasProxy: hasProxy, isProxyOnly: isProxyOnly) == nil
                else { continue }
                if target.ipAddress == nil, target.kind != .radio {
                    guard names > 0 else { continue }
                    names -= 1
                }
                room[target.kind] = places - 1
                seen.insert(target)
                entries.append(Entry(target: target, source: source))
            }
        }
    }

    /// How many a source may have of each kind. Nobody but the user may send this device to a radio address.
    private static func room(_ source: AddressSource) -> [DialTarget.Kind: Int] {
        switch source {
        case .configured: [.tcp: limit, .relay: 8, .radio: 4]
        case .local: [.tcp: 8, .relay: 2]
        case .introduced: [.tcp: 4, .relay: 4]
        case .global: [.tcp: 16, .relay: 4]
        }
    }
}

extension DialPolicy {
    /// The addresses that may be dialled of those that others than the user name, direct ones before relays; no radios.
    package func targets(_ named: [AddressSource: [String]]) -> [DialTarget] {
        var book = AddressBook()
        book.set(hasProxy: hasProxy, isProxyOnly: !allowsDirect)
        for (source, texts) in named where source != .configured { book.set(source, texts) }
        let targets = book.entries.map(\.target).filter { allow($0) }
        return targets.filter { $0.kind == .tcp } + targets.filter { $0.kind == .relay }
    }
}
