import AgentConfiguration
import ControlAPI
import Selection

extension ControlError {
    /// What is wrong with an ignore file of `folder`, or with what was asked of it.
    init(_ error: IgnoreError, folder: FolderConfiguration) {
        let code: Code =
            switch error.code {
            case .invalidPath: .invalidRequest
            case .inexpressiblePath: .inexpressiblePath
            case .overruled: .overruled
            default: .selectionUnusable
            }
        self.init(code, "\(folder.id): \(error)", path: folder.id.rawValue)
    }

    /// What a folder refuses, in the words of the control API.
    init(_ error: FolderError, folder: FolderConfiguration) {
        let id = folder.id.rawValue
        switch error {
        case .notOnDisk(let path): self.init(.noSuchPath, "there is no \(path) on this disk", path: path)
        case .noDeviceHas(let path):
            self.init(
                .noSuchPath, "no device has \(path) in the folder \(id); `synctrain search` finds names", path: path)
        case .selected(let path):
            self.init(
                .invalidRequest, "\(path) is selected; `synctrain extraneous list` shows what is not", path: path)
        case .notSelected(let path):
            self.init(
                .invalidRequest,
                "\(id):\(path) is not selected here; select it first: `synctrain select \(id):\(path)`", path: path)
        case .isDirectory(let path):
            self.init(.alreadyExists, "\(id):\(path) is a directory; move it away first", path: path)
        case .tooManyFiles(let path, let limit):
            self.init(.tooLarge, "more than \(limit) files in \(path); take a part of it", path: path)
        case .differsElsewhere(let path):
            self.init(
                .alreadyExists,
                "\(path) is on other devices with other contents; choose with --keep mine, theirs or both", path: path)
        case .noTargetDirectory:
            self.init(.invalidRequest, "say which directory to move them to, as an absolute path")
        case .targetInsideFolder(let path):
            self.init(
                .invalidRequest, "\(path) is inside the folder itself; choose a directory outside of it", path: path)
        case .notSendOnly:
            self.init(.invalidRequest, "\(id) is not a folder that only sends; there is nothing to override", path: id)
        case .notReceiveOnly:
            self.init(
                .invalidRequest, "\(id) is not a folder that only receives; there is nothing to revert", path: id)
        case .receivesOnly(let act):
            let remedy =
                switch act {
                case .delete: "delete it on a device that sends"
                case .note: "note it on a device that sends"
                case .revert: "revert on a device that sends"
                }
            self.init(
                .invalidRequest, "\(id) only receives here: what is done here is not sent; \(remedy)", path: id)
        case .notHalted: self.init(.invalidRequest, "\(id) has not halted; there is nothing to repair", path: id)
        case .notHaltedOverDeletions:
            self.init(.invalidRequest, "\(id) has not halted over deletions; there is nothing to confirm", path: id)
        default: self.init(settling: error, folder: folder)
        }
    }

    /// The same for conflicts, versions, notes and refused changes.
    private init(settling error: FolderError, folder: FolderConfiguration) {
        let id = folder.id.rawValue
        switch error {
        case .noConflict(let path):
            self.init(
                .noSuchPath,
                "there is no conflict of \(id):\(path) on this disk; `synctrain conflicts list` shows those there are",
                path: path)
        case .ambiguousConflict(let path, let copies):
            self.init(.invalidRequest, "there are \(copies) copies of \(path); name the one")
        case .copyGone(let path): self.init(.noSuchPath, "\(path) is not a file any more", path: path)
        case .notInStep(let path):
            self.init(
                .busy, "\(id):\(path) is not in step with the other devices yet; try again when it is",
                isRetryable: true, path: path)
        case .nothingMerged:
            self.init(.failed, "the command for conflicts said that it has merged, and there is no file")
        case .noVersion(let path, let isAtTime):
            self.init(
                .noSuchPath,
                isAtTime
                    ? "no version of \(id):\(path) was archived then or later: what was there at that time is there now"
                    : "there is no archived version of \(id):\(path); `synctrain versions list` shows those there are",
                path: path)
        case .wouldReplace(let path, let size, let archived, let isArchiving):
            let fate = isArchiving ? "and goes to the archive" : "and is gone then"
            self.init(
                .confirmationNeeded,
                "\(id):\(path) is there, with \(size) bytes; it is replaced by what was archived at \(archived), \(fate). "
                    + "Go on?", path: path)
        case .noSpace(let path):
            self.init(.noSpace, "the disk has too little free for \(id):\(path); free some space", path: path)
        case .badNoteKey(let key):
            self.init(
                .invalidRequest,
                "`\(key.prefix(80))` is no key of a note: write 1 to \(NoteFile.keyByteLimit) letters, digits, `.`, `_` or `-`"
            )
        case .badNoteValue:
            self.init(
                .invalidRequest,
                "a note has at most \(NoteFile.valueByteLimit) bytes and no control characters; make it shorter")
        case .notesIncomplete(let path):
            self.init(
                .busy, "the notes that this device wrote earlier are still to come; try again in a moment",
                isRetryable: true, path: path)
        case .tooManyNotes(let path):
            self.init(
                .tooLarge, "a file has at most \(NoteFile.keyLimit) notes; remove some with --remove KEY", path: path)
        case .tooManyNoteLines:
            self.init(.tooLarge, "this device has written \(NoteFile.lineLimit) notes in \(id)")
        case .notesTooLarge:
            self.init(.tooLarge, "this device's notes in \(id) have more than a mebibyte; remove some")
        case .nothingRefused(let path):
            self.init(
                .noSuchPath, "nothing is refused at \(id):\(path); `synctrain refused list` shows what is", path: path)
        default: self.init(.failed, "\(id): \(error)", path: id)
        }
    }
}
