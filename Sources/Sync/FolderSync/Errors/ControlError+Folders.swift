import AgentConfiguration
import ControlAPI
import Selection
import SyncDecisions

extension ControlError {
    /// What is wrong with an ignore file of `folder`, or with what was asked of it.
    package init(_ error: IgnoreError, folder: FolderConfiguration) {
        let code: Code =
            switch error.code {
            case .invalidPath: .invalidRequest
            case .inexpressiblePath: .inexpressiblePath
            case .overruled: .overruled
            default: .selectionUnusable
            }
        self.init(code, "\(folder.id): \(error.placedText)", path: folder.id.rawValue)
    }

    /// What a folder refuses, in the words of the control API.
    package init(_ error: FolderError, folder: FolderConfiguration) {
        let id = folder.id.rawValue
        switch error {
        case .notOnDisk(let path): self.init(.noSuchPath, "\(path) is not on this disk", path: path)
        case .noDeviceHas(let path):
            self.init(
                .noSuchPath, "\(id):\(path): not found on any device; `synctrain search` finds names", path: path)
        case .selected(let path):
            self.init(
                .invalidRequest, "\(path) is selected; `synctrain extraneous list` shows files that are not", path: path
            )
        case .notSelected(let path):
            self.init(
                .invalidRequest,
                "\(id):\(path) is not selected here; select it first: `synctrain select \(ShellWord.quoted("\(id):\(path)"))`",
                path: path)
        case .isDirectory(let path):
            self.init(.alreadyExists, "\(id):\(path) is a directory; move it elsewhere first", path: path)
        case .tooManyFiles(let path, let limit):
            self.init(.tooLarge, "more than \(limit) files in \(path); choose part of it", path: path)
        case .differsElsewhere(let path):
            self.init(
                .alreadyExists,
                "\(path) has different contents on other devices; choose with --keep mine, theirs or both", path: path)
        case .noTargetDirectory:
            self.init(.invalidRequest, "give an absolute path of the directory to move them to")
        case .targetInsideFolder(let path):
            self.init(
                .invalidRequest, "\(path) is inside the folder; choose a directory outside it", path: path)
        case .nameTaken(let path):
            self.init(.alreadyExists, "\(id):\(path) exists already; choose another name", path: path)
        case .reservedName(let path):
            self.init(
                .invalidRequest, "\(path.prefix(200)): synctrain uses this name itself; choose another name", path: path
            )
        case .notComposed(let path):
            self.init(
                .invalidRequest, "\(path.prefix(200)): the name is not in Unicode normal form C; rename the file",
                path: path)
        case .notSendOnly:
            self.init(.invalidRequest, "\(id) is not a send-only folder, so there is nothing to override", path: id)
        case .notReceiveOnly:
            self.init(
                .invalidRequest, "\(id) is not a receive-only folder, so there is nothing to revert", path: id)
        case .receivesOnly(let act):
            let remedy: Phrase =
                switch act {
                case .delete: Phrase("delete it on a device that sends")
                case .note: Phrase("note it on a device that sends")
                case .revert: Phrase("revert on a device that sends")
                case .restore:
                    Phrase(
                        "restore it on a device that sends, or copy it there from the archive: `synctrain versions show` says where it is"
                    )
                }
            self.init(
                .invalidRequest, "\(id) is receive-only here, so changes are not sent; \(remedy)", path: id)
        case .notHalted: self.init(.invalidRequest, "\(id) is not halted, so there is nothing to repair", path: id)
        case .notHaltedOverDeletions:
            self.init(
                .invalidRequest, "\(id) holds back no deletions, so there is nothing to confirm", path: id)
        case .scrubbing:
            self.init(
                .busy, "\(id) is being scrubbed by another command; wait for it to end", isRetryable: true, path: id)
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
                "\(id):\(path): no conflict on this disk; `synctrain conflicts list` shows the conflicts",
                path: path)
        case .ambiguousConflict(let path, let copies):
            self.init(.invalidRequest, "\(path) has \(copies) conflict copies; give the path of one of them")
        case .selectionChanged:
            self.init(
                .busy, "\(id): another program is writing .stignore; try again when it has finished", isRetryable: true,
                path: "\(id):")
        case .copyGone(let path): self.init(.noSuchPath, "\(path) is no longer a file", path: path)
        case .keptVersionGone(let path, let other, let copy):
            self.init(
                .noSuchPath,
                "\(id):\(path): no device has that version any more; keep the other one with --keep \(other.rawValue), or delete "
                    + "\(copy) as well", path: path)
        case .notInStep(let path):
            self.init(
                .busy, "\(id):\(path) is not yet in sync with the other devices; try again later",
                isRetryable: true, path: path)
        case .nothingMerged:
            self.init(.failed, "the conflict command reported a merge but wrote no file")
        case .noVersion(let path, let isAtTime):
            self.init(
                .noSuchPath,
                isAtTime
                    ? "no version of \(id):\(path) was archived then or later; the current version is the one from that time"
                    : "\(id):\(path): no archived version; `synctrain versions list` shows what is archived",
                path: path)
        case .keepsNoVersions(let path):
            self.init(
                .noSuchPath,
                "\(id):\(path): no archived version, and this folder keeps none; `synctrain folder set \(ShellWord.quoted(id)) versions=simple` "
                    + "keeps what other devices replace or delete from now on", path: path)
        case .wouldReplace(let path, let size, let archived, let isArchiving):
            let fate =
                isArchiving ? Phrase("and the current one is archived") : Phrase("and the current one is deleted")
            self.init(
                .confirmationNeeded,
                "\(id):\(path) exists, with \(ByteText.size(size)); the version archived on \(archived) replaces it, "
                    + "\(fate). Go on?", path: path)
        case .noSpace(FolderPlace.ignoreFile):
            self.init(
                .noSpace,
                "The disk is too full to write \(id):.stignore. Delete other files on it, or files of the folder that are not selected: "
                    + "`synctrain extraneous list \(ShellWord.quoted(id))`. Selected files that you delete yourself are deleted on all "
                    + "devices.",
                path: FolderPlace.ignoreFile)
        case .noSpace(let path):
            self.init(.noSpace, "not enough free space for \(id):\(path); free some space", path: path)
        case .badNoteKey(let key):
            self.init(
                .invalidRequest,
                "`\(key.prefix(80))` is not a valid key of a note: use 1 to \(NoteFile.keyByteLimit) letters, digits, `.`, `_` or `-`"
            )
        case .badNoteValue:
            self.init(
                .invalidRequest,
                "a note has at most \(NoteFile.valueByteLimit) bytes and no control characters; make it shorter")
        case .notesIncomplete(let path):
            self.init(
                .busy, "the earlier notes of this device are still being downloaded; try again in a moment",
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
                .noSuchPath,
                path.isEmpty
                    ? "\(id): no refused changes; `synctrain refused list` shows them"
                    : "\(id):\(path): no refused changes; `synctrain refused list` shows them", path: path)
        default: self.init(.failed, "\(id): \(error)", path: id)
        }
    }
}
