import ControlAPI

/// The facts that a person may be notified of, as they are at one moment. Pure.
package struct NoticeFacts: Equatable, Sendable {
    package struct Folder: Equatable, Sendable {
        package var id: String
        /// For people.
        package var name: String
        /// Conflict copies; nil while nobody has counted them.
        package var conflicts: Int64?
        /// Why the folder has stopped, and what to do; nil if it has not.
        package var halt: String?
        /// Bytes that are selected and not here; nil while nobody knows.
        package var missingBytes: Int64?
        /// Whether everything selected is here.
        package var isReady: Bool

        package init(
            id: String, name: String, conflicts: Int64? = 0, halt: String? = nil, missingBytes: Int64? = 0,
            isReady: Bool = true
        ) {
            self.id = id
            self.name = name
            self.conflicts = conflicts
            self.halt = halt
            self.missingBytes = missingBytes
            self.isReady = isReady
        }
    }

    /// A device that is not known and tried to connect.
    package struct Stranger: Equatable, Sendable {
        package var id: String
        /// As it says of itself.
        package var name: String

        package init(id: String, name: String) {
            self.id = id
            self.name = name
        }
    }

    package var folders: [Folder]
    package var strangers: [Stranger]

    package init(folders: [Folder] = [], strangers: [Stranger] = []) {
        self.folders = folders
        self.strangers = strangers
    }

    /// What follows from the agent's status.
    package init(_ folders: [FolderStatus], _ strangers: [PendingDevice]) {
        self.init(
            folders: folders.map { folder in
                let isUncertain =
                    folder.isIncomplete || folder.copy == .unknown || folder.condition == .receivingIndex
                    || folder.condition == .scanning
                return Folder(
                    id: folder.id, name: folder.label.isEmpty ? folder.id : folder.label, conflicts: folder.conflicts,
                    halt: folder.condition.isHalted ? folder.message ?? "See `synctrain status`." : nil,
                    missingBytes: isUncertain ? nil : folder.need.bytes,
                    isReady: !isUncertain && !folder.condition.isFailure && folder.need.isZero)
            }, strangers: strangers.map { Stranger(id: $0.id, name: $0.name) })
    }
}

/// What is shown on the desktop.
package struct Notice: Equatable, Sendable {
    /// One of each is shown; a newer one takes the place of an older one.
    package enum Kind: String, CaseIterable, Sendable {
        case conflicts, halted, strangers, ready
    }

    package var kind: Kind
    /// One line, without markup.
    package var summary: String
    /// What to do; without markup.
    package var body: String

    package init(_ kind: Kind, _ summary: String, _ body: String) {
        self.kind = kind
        self.summary = summary
        self.body = body
    }

    /// Something has stopped: it stays until somebody has seen it.
    package var isUrgent: Bool { kind == .halted }
}
