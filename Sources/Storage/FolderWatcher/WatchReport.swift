import FileAccess
import Phrases

/// What a `FolderWatcher` tells of a folder.
package enum WatchReport: Hashable, Sendable {
    /// These are settled: look at them. In the order of their names.
    case changed([WatchedChange])
    /// `from` is gone and what was there is now at `to`; both are in watched directories of the folder.
    ///
    /// A hint about the past: by now either may be something else, so look at both. A directory takes all below along.
    case renamed(from: RelativePath, to: RelativePath, isDirectory: Bool)
    /// `.stignore` was written, moved or removed.
    case ignoreFileChanged
    /// `.stfolder` appeared, went, or was touched.
    case markerChanged
    /// Changes may have been missed below the directory, or in the whole folder if nil.
    case rescan(RelativePath?, RescanReason)
    case state(WatchState)
}

/// What is to be looked at.
package enum WatchedChange: Hashable, Sendable {
    /// This name alone: a file, a link, the status of a directory, or something that is gone.
    case item(RelativePath)
    /// A directory and the names in it, but nothing deeper; nil is the root.
    case children(of: RelativePath?)
    /// A directory with all that is below; it may be gone with all that was.
    case tree(RelativePath)

    /// The name, or the directory; nil is the root.
    package var path: RelativePath? {
        switch self {
        case .item(let path), .tree(let path): path
        case .children(let directory): directory
        }
    }
}

/// Why looking at single names is not enough.
package enum RescanReason: String, Hashable, Sendable, CaseIterable {
    /// All watches are set for the first time: what was seen on disk before may have changed since.
    case started
    /// The watch program ended and was started again; nobody watched in between.
    case restarted
    /// More changed at once than the kernel or the watch program could hold.
    case overflow
    /// More changed at once than is remembered name by name.
    case tooManyChanges = "too-many-changes"
    /// A disk that was mounted here is gone.
    case unmounted
}

/// How well a folder is watched.
package enum WatchState: Hashable, Sendable {
    /// Not watched: `run` was not called or has returned.
    case stopped
    /// The watches are being set for the first time.
    case starting
    /// Every change is seen; the number of watched directories when they were last counted.
    case running(watched: Int)
    /// Some or all changes are only found by rescans.
    case impaired(WatchImpairment)
}

/// Why changes are missed, and what the user can do.
package struct WatchImpairment: Hashable, Sendable, CustomStringConvertible {
    package enum Code: String, Hashable, Sendable, CaseIterable {
        /// The system's limit of watches for a user is used up; some directories are not watched.
        case watchLimit = "watch-limit"
        /// The system's limit of inotify instances for a user is used up; nothing is watched.
        case instanceLimit = "instance-limit"
        /// The system refused some watches for another reason.
        case watchFailed = "watch-failed"
        /// The watch program cannot be started: it is not there, or cannot be run.
        case programMissing = "program-missing"
        /// The watch program ended or made no sense, or the system had no room for it; it is started again.
        case programEnded = "program-ended"
        /// The folder's directory was moved, removed or replaced.
        case rootGone = "root-gone"
    }

    package let code: Code
    /// What is the matter and what to do about it, in sentences for people.
    package let text: Phrase
    /// The number of directories that are watched nevertheless.
    package let watched: Int

    /// Whether trying the same directories again may help, once somebody raised a limit.
    var isWorthRetrying: Bool { code == .watchLimit || code == .watchFailed }

    /// `text` in English.
    package var message: String { text.english }
    package var description: String { message }

    package init(code: Code, message: Phrase, watched: Int) {
        self.code = code
        text = message
        self.watched = watched
    }
}
