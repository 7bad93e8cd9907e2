import BlockExchange
import Cryptography

/// Whether this device renames something for another one that asks for it. Pure.
package enum RenameRule {
    /// Names that one request may be about.
    package static let nameLimit = 200_000
    /// A request that has waited longer for its turn is refused: who asked may have gone on without an answer.
    package static let patience: Duration = .seconds(15)

    /// What is known of folder and names before anything is looked at.
    package struct Standing: Equatable, Sendable {
        /// Whether the one that asks may change the folder here, and the folder is one that is changed by others.
        package var mayChange = true
        /// Whether the folder was scanned and nothing has halted it.
        package var isReady = true
        /// Whether the request has not waited too long.
        package var isInTime = true
        /// Whether both names are ones that can be announced, not the folder's own, and neither is below the other.
        package var areNamesGood = true

        package init() {}
    }

    /// What there is at the old name.
    package struct Source: Equatable, Sendable {
        package var nameCount: Int64
        package var digest: SHA256Digest
        /// Whether this disk has all of it as announced, and nothing else in it.
        package var isWhole = true
        /// Whether all of it has the same standing in the selection under the new name, by no line of its own.
        package var isKept = true
        /// Whether a program has something of it open for writing.
        package var isOpen = false

        package init(nameCount: Int64, digest: SHA256Digest) {
            self.nameCount = nameCount
            self.digest = digest
        }
    }

    /// What there is at the new name.
    package struct Target: Equatable, Sendable {
        /// Whether this disk or anybody has something of that name, or of one that this disk takes for the same.
        package var isTaken = false
        /// Whether its directory is on this disk.
        package var hasDirectory = true

        package init() {}
    }

    /// Why nothing is renamed; nil if nothing is in the way so far.
    package static func objection(_ standing: Standing) -> RenameAnswer.Outcome? {
        guard standing.mayChange else { return .notAllowed }
        guard standing.areNamesGood else { return .badName }
        return standing.isReady && standing.isInTime ? nil : .busy
    }

    /// Why nothing is renamed; nil if it is to be renamed.
    ///
    /// - Parameter source: nil if more names are there than one request may be about.
    package static func objection(
        to request: RenameRequest, _ source: Source?, _ target: Target
    ) -> RenameAnswer.Outcome? {
        guard let source, source.nameCount <= nameLimit else { return .tooMany }
        guard request.digest == source.digest, request.nameCount == source.nameCount else { return .changed }
        guard !source.isOpen else { return .busy }
        guard source.isWhole else { return .incomplete }
        guard source.isKept else { return .badName }
        return target.isTaken || !target.hasDirectory ? .taken : nil
    }
}

/// How often one device may ask for something to be renamed: a program that moves files one by one asks for each. Pure.
package struct RenameQuota: Sendable {
    package static let burst = 200
    package static let perSecond = 50

    private var left = Double(burst)
    private var last: MonotonicTime?

    package init() {}

    /// Whether one more may be asked for now.
    package mutating func take(at now: MonotonicTime) -> Bool {
        if let last, now > last {
            left = min(Double(Self.burst), left + (now - last) / .seconds(1) * Double(Self.perSecond))
        }
        last = max(last ?? now, now)
        guard left >= 1 else { return false }
        left -= 1
        return true
    }
}
