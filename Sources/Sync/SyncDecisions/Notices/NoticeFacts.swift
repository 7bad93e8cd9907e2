import ControlAPI
import Phrases

/// The facts that a person may be notified of, as they are at one moment. Pure.
package struct NoticeFacts: Equatable, Sendable {
    package struct Folder: Equatable, Sendable {
        package var id: String
        /// For people.
        package var name: String
        /// Conflict copies; nil while nobody has counted them.
        package var conflicts: Int64?
        /// Why the folder has stopped, and what to do; nil if it has not.
        package var halt: Phrase?
        /// Bytes that are selected and not here; nil while nobody knows.
        package var missingBytes: Int64?
        /// Whether everything selected is here.
        package var isReady: Bool

        package init(
            id: String, name: String, conflicts: Int64? = 0, halt: Phrase? = nil, missingBytes: Int64? = 0,
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
                    halt: folder.condition.isHalted ? folder.text ?? Phrase("See `synctrain status`.") : nil,
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
    package var title: Phrase
    /// What to do; without markup.
    package var advice: Phrase

    package init(_ kind: Kind, _ title: Phrase, _ advice: Phrase) {
        self.kind = kind
        self.title = title
        self.advice = advice
    }

    /// The title in English.
    package var summary: String { Self.summary(title, in: .english) }
    /// The advice in English.
    package var body: String { Self.body(advice, in: .english) }

    /// As a desktop shows it: what is put in may be anybody's text.
    package func shown(in translation: Translation) -> (summary: String, body: String) {
        (Self.summary(title, in: translation), Self.body(advice, in: translation))
    }

    private static func summary(_ text: Phrase, in translation: Translation) -> String { translation.text(text) }

    private static func body(_ text: Phrase, in translation: Translation) -> String {
        NoticeText.clean(translation.text(text), limit: 400)
    }

    package static func == (left: Notice, right: Notice) -> Bool {
        left.kind == right.kind && left.summary == right.summary && left.body == right.body
    }

    /// Something has stopped: it stays until somebody has seen it.
    package var isUrgent: Bool { kind == .halted }
}
