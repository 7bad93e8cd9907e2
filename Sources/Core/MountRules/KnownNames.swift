import Names

/// Which names there are in directories in which a program makes one after the other. Pure.
///
/// The kernel asks for each name before it makes it. When a few names of one directory were nobody's, all of the directory is asked for
/// once, and what is not in that list is nobody's for as long as the kernel itself would keep such an answer.
package struct KnownNames: Sendable {
    private enum Standing {
        /// So many names were asked for that are nobody's, the first of them then.
        case missed(Int, since: Duration)
        /// The list was asked for then; names that were made meanwhile.
        case asked(since: Duration, made: Set<NameKey>)
        case known(Set<NameKey>, asOf: Duration)
        /// It has more names than are asked for; nobody tries again until a second has passed.
        case large(since: Duration)
    }

    /// Names that are missed before the list is asked for: programs look in vain for a few names in many directories.
    static let missLimit = 4
    private let directoryLimit: Int
    private let nameLimit: Int
    private let validity: Duration
    private var directories: [NameKey: Standing] = [:]

    /// - Parameters:
    ///   - directoryLimit: how many directories are remembered; beyond that all are forgotten.
    ///   - nameLimit: how many names of one.
    ///   - validity: how long a list holds from when it was asked for.
    package init(
        directoryLimit: Int = 64, nameLimit: Int = 20_000, validity: Duration = MountDeadlines.presentValidity
    ) {
        self.directoryLimit = directoryLimit
        self.nameLimit = nameLimit
        self.validity = validity
    }

    /// How long it holds that nobody has the name; nil if that is not known.
    package func isNobodys(_ name: String, in directory: String, at now: Duration) -> Duration? {
        guard case .known(let names, let asOf) = directories[directory], now < asOf + validity, !names.contains(name)
        else { return nil }
        return asOf + validity - now
    }

    /// A name was asked for that nobody has. Whether all names of the directory are to be asked for now.
    package mutating func missed(in directory: String, at now: Duration) -> Bool {
        var (count, since) = (0, now)
        switch directories[directory] {
        case nil:
            if directories.count >= directoryLimit { directories = [:] }
        case .missed(let so, let begin)?:
            if now < begin + validity { (count, since) = (so, begin) }
        case .asked(let begin, _)?, .large(let begin)?:
            // An answer that did not come is not waited for.
            guard now >= begin + validity else { return false }
        case .known(_, let asOf)?:
            guard now >= asOf + validity else { return false }
            // As soon as a list is too old while the program goes on.
            count = now < asOf + validity + validity ? Self.missLimit : 0
        }
        guard count + 1 >= Self.missLimit else {
            directories[directory] = .missed(count + 1, since: since)
            return false
        }
        directories[directory] = .asked(since: now, made: [])
        return true
    }

    /// The list that was asked for when `missed` said so; nil if there are more names than in it.
    package mutating func listed(_ names: some Sequence<String>, isAll: Bool, in directory: String) {
        guard case .asked(let since, let made) = directories[directory] else { return }
        directories[directory] =
            isAll ? .known(made.union(names.map { NameKey($0) }), asOf: since) : .large(since: since)
    }

    /// A program of this mount makes the name, or tries to.
    package mutating func making(_ name: String, in directory: String) {
        switch directories[directory] {
        case .asked(let since, var made)?:
            directories[directory] = nil
            made.insert(name)
            if made.count <= nameLimit { directories[directory] = .asked(since: since, made: made) }
        case .known(var names, let asOf)?:
            // Out of its place first, or the set would be copied.
            directories[directory] = nil
            names.insert(name)
            if names.count <= nameLimit { directories[directory] = .known(names, asOf: asOf) }
        default: break
        }
    }

    /// What has the name is another, or there is nothing any more, or something now. A list that was asked for before may not show it.
    package mutating func changed(_ path: String) {
        directories[path] = nil
        guard let (directory, name) = NodeTable.split(path) else { return }
        making(name, in: directory)
    }

    package mutating func changedEverywhere() { directories = [:] }
}
