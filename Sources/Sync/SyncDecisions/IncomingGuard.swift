import BlockExchange
import ControlAPI
import Phrases

/// Tells deletions by other devices that somebody means from those that look like an accident: pure, so that its rules can
/// be read and tested as a table. It is `DeletionGuard` for the other direction, with the same limits for what is too much.
///
/// An index arrives in parts. So deletions that could become too many wait until no more arrive, and those that were carried
/// out in the last minute, or in one run (`DeletionRun`), count as well. At most `DeletionGuard.massFloor` files are deleted without that wait.
package struct IncomingGuard: Sendable {
    package enum Verdict: Equatable, Sendable {
        case proceed
        /// More may arrive: see again later.
        case wait
        /// More than half of the files would go: a person has to confirm that.
        case hold
    }

    /// How long no more may arrive before many deletions are carried out, and how long that is waited for.
    package static let pause: Duration = .seconds(2)
    package static let patience = DeletionGuard.window

    private var waiting: (since: MonotonicTime, lastGrowth: MonotonicTime, count: Int)?
    private var recent: [(time: MonotonicTime, count: Int)] = []
    private var run = DeletionRun()

    package init() {}

    /// Whether so many names that wait to be deleted can be too many. If not, nobody needs to count what would be lost.
    ///
    /// - Parameter known: files on this disk, those included.
    package mutating func mayBeTooMany(_ names: Int, known: Int, at now: MonotonicTime) -> Bool {
        see(known: known, at: now)
        return names > DeletionGuard.massFloor - min(before, DeletionGuard.massFloor)
    }

    /// - Parameters:
    ///   - lost: files that wait to be deleted, less those whose content stays under another name.
    ///   - known: files on this disk, `lost` included.
    package mutating func verdict(lost: Int, known: Int, at now: MonotonicTime) -> Verdict {
        see(known: known, at: now)
        let (all, total) = (lost + before, known + before)
        guard lost > 0, all > DeletionGuard.massFloor else {
            waiting = nil
            return .proceed
        }
        guard all <= total / 2 else {
            waiting = nil
            return .hold
        }
        guard var waited = waiting else {
            waiting = (now, now, lost)
            return .wait
        }
        if lost > waited.count { waited.lastGrowth = now }
        waited.count = lost
        waiting = waited
        guard now - waited.lastGrowth >= Self.pause || now - waited.since >= Self.patience else { return .wait }
        waiting = nil
        return .proceed
    }

    /// So many files were deleted.
    package mutating func noted(_ count: Int, at now: MonotonicTime) {
        guard count > 0 else { return }
        run.add(count, at: now)
        if let last = recent.last, last.time == now {
            recent[recent.count - 1].count += count
        } else {
            recent.append((now, count))
        }
    }

    private var before: Int { max(run.lost, recent.reduce(0) { $0 + $1.count }) }

    private mutating func see(known: Int, at now: MonotonicTime) {
        recent.removeAll { now - $0.time > DeletionGuard.window }
        run.see(known: known, at: now)
    }
}

/// Deletions by other devices that wait for a person.
package struct HeldDeletions: Equatable, Sendable {
    /// Files that would be deleted, and those on this disk.
    package var files: Int
    package var known: Int
    /// Who deleted them, by name, the one with the most first.
    package var devices: [(name: String, files: Int)]

    package init(files: Int, known: Int, devices: [(name: String, files: Int)]) {
        (self.files, self.known) = (files, known)
        self.devices = devices.sorted { ($1.files, $0.name) < ($0.files, $1.name) }
    }

    package static func == (left: Self, right: Self) -> Bool {
        left.files == right.files && left.known == right.known
            && left.devices.elementsEqual(right.devices, by: ==)
    }

    /// A sentence for people that ends with the remedies.
    package func text(folder: String) -> Phrase {
        let shown = devices.prefix(3).map { devices.count == 1 ? $0.name : "\($0.name) (\($0.files))" }
        let names = shown.joined(separator: ", ")
        let who = devices.count > shown.count ? Phrase("\(names) and others") : "\(names)"
        return Phrase(
            "\(who) deleted \(files) of the \(known) files here, so nothing that other devices delete is deleted here; if "
                + "this was intended: synctrain folder confirm \(ShellWord.quoted(folder)); to keep the files, restore them on \(who)"
        )
    }
}
