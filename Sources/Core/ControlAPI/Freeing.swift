import Arithmetic
import Phrases

/// What becomes of the files on this disk that are not selected any more.
package enum LocalFiles: String, Codable, Sendable, CaseIterable {
    /// Those that other devices hold as they are here go; the rest stays.
    case free
    /// They stay, and are extraneous.
    case keep
    /// As `free`, and what may be all there is goes too.
    case force
}

/// A file, symbolic link or directory that stays on this disk, or went although it need not have.
package struct StayingName: Codable, Equatable, Sendable {
    /// Relative to the folder's root.
    package var path: String
    package var size: Int64
    /// A word for programs: `no-other-copy`, `too-few-copies`, `uncertain-copies`, `failed-copies`, `promised`,
    /// `changed-here`, `outdated`, `deleted-elsewhere`, `not-compared`, `unsettled`, `unknown`, `in-use` or `failed`; others may come.
    package var reason: String
    /// A sentence for people that ends with what to do; `text` is what it was made of.
    package private(set) var message: String
    package private(set) var text: Phrase?

    package init(path: String, size: Int64, reason: String, message: Phrase) {
        self.path = path
        self.size = size
        self.reason = reason
        self.message = message.english
        text = message.unlessVerbatim
    }

    package var phrase: Phrase { text ?? "\(message)" }
}

/// What freeing space in one folder came to, or would come to.
package struct FreeingOutcome: Codable, Equatable, Sendable {
    /// How many names each list has at most; the counts are of all.
    package static let nameLimit = 1000

    /// Files and links that went because other devices hold them, and their bytes.
    package var freedFiles: Int64 = 0
    package var freedBytes: Int64 = 0
    /// Directories that went because nothing was left in them; not counted in a dry run.
    package var freedDirectories: Int64 = 0
    package var freed: [String] = []
    package var stayingFiles: Int64 = 0
    package var stayingBytes: Int64 = 0
    package var staying: [StayingName] = []
    /// What went by force, with the reason why it would have stayed.
    package var givenUpFiles: Int64 = 0
    package var givenUpBytes: Int64 = 0
    package var givenUp: [StayingName] = []

    package init() {}

    package mutating func noteFreed(_ path: String, size: Int64) {
        freedFiles += 1
        freedBytes.addClamped(size)
        if freed.count < Self.nameLimit { freed.append(path) }
    }

    package mutating func noteGivenUp(_ name: StayingName) {
        givenUpFiles += 1
        givenUpBytes.addClamped(name.size)
        if givenUp.count < Self.nameLimit { givenUp.append(name) }
    }

    package mutating func noteStaying(_ name: StayingName) {
        stayingFiles += 1
        stayingBytes.addClamped(name.size)
        if staying.count < Self.nameLimit { staying.append(name) }
    }

    /// As if nothing had stayed but those of the listed names that `isNamed` is true of.
    package mutating func keepStaying(where isNamed: (StayingName) -> Bool) {
        let named = staying.filter(isNamed)
        (staying, stayingFiles, stayingBytes) = ([], 0, 0)
        for name in named { noteStaying(name) }
    }
}
