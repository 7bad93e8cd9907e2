/// What `openapi.json` says of a field and the field's type does not.
package struct FieldNote: Sendable {
    package enum Value: Sendable {
        /// Always this text.
        case constant(String)
        /// A text that is one of these.
        case oneOf([String])
        case text(length: ClosedRange<Int>)
        case number(ClosedRange<Int64>)
        /// A list of so many.
        case items(ClosedRange<Int>)
        /// May be null as well as missing.
        case nullable
        /// An object of any kind.
        case object
    }

    package var value: Value?
    package var description: String?
    /// Never missing in an answer, though clients accept answers of older agents without it.
    package var isAlways: Bool

    init(_ value: Value? = nil, _ description: String? = nil, isAlways: Bool = false) {
        (self.value, self.description, self.isAlways) = (value, description, isAlways)
    }
}

/// A type with notes on fields, by the fields' names in JSON.
package protocol FieldNoted {
    static var fieldNotes: [String: FieldNote] { get }
    /// Which of its cases a value is: the field that says so and its words; nil for a type without cases.
    static var cases: (field: String, words: [String])? { get }
}

extension FieldNoted {
    package static var fieldNotes: [String: FieldNote] { [:] }
    package static var cases: (field: String, words: [String])? { nil }
}

// MARK: - Requests

private let roles = FieldNote(.oneOf(["read", "write", "admin"]))
private let bluetoothUses = FieldNote(.oneOf(["all", "selected-and-on-demand", "index-only", "off"]))

extension PathReference: FieldNoted {
    package static var fieldNotes: [String: FieldNote] {
        [
            "text": FieldNote(
                .text(length: 1...ControlLimits.path), "FOLDER:relative/path, or as a person typed it."),
            "workingDirectory": FieldNote(.text(length: 1...ControlLimits.path), "Absolute: where it was typed."),
        ]
    }
}

extension SelectionChange: FieldNoted {
    package static var fieldNotes: [String: FieldNote] { ["paths": FieldNote(.items(1...ControlLimits.paths))] }
}

extension ExtraneousResolution: FieldNoted {
    package static var fieldNotes: [String: FieldNote] { ["paths": FieldNote(.items(1...ControlLimits.paths))] }
}

extension RemovalRequest: FieldNoted {
    package static var fieldNotes: [String: FieldNote] { ["paths": FieldNote(.items(1...ControlLimits.paths))] }
}

extension RefusalRequest: FieldNoted {
    package static var fieldNotes: [String: FieldNote] { ["paths": FieldNote(.items(1...ControlLimits.paths))] }
}

extension ConflictResolution: FieldNoted {
    package static var fieldNotes: [String: FieldNote] { ["paths": FieldNote(.items(1...ControlLimits.paths))] }
}

extension WaitRequest: FieldNoted {
    package static var fieldNotes: [String: FieldNote] {
        ["paths": FieldNote(.items(1...ControlLimits.paths)), "seconds": FieldNote(.number(0...31_536_000))]
    }
}

extension LinkRequest: FieldNoted {
    package static var fieldNotes: [String: FieldNote] { ["seconds": FieldNote(.number(1...Self.longest))] }
}

extension DropSendRequest: FieldNoted {
    package static var fieldNotes: [String: FieldNote] {
        [
            "files": FieldNote(.items(1...Self.fileLimit), "Either these or provided."),
            "provided": FieldNote(.items(1...Self.fileLimit), "Files of the client; the agent asks for their bytes."),
            "seconds": FieldNote(.number(1...Int64(Self.longestWait))),
        ]
    }
}

extension ProvidedFile: FieldNoted {
    package static var fieldNotes: [String: FieldNote] {
        [
            "name": FieldNote(.text(length: 1...Self.longestName), "A name, not a path."),
            "size": FieldNote(.number(0...Self.largest), "Bytes."),
        ]
    }
}

extension DropReceiveRequest: FieldNoted {
    package static var fieldNotes: [String: FieldNote] {
        ["seconds": FieldNote(.number(1...Int64(DropSendRequest.longestWait)))]
    }
}

extension PairRequest: FieldNoted {
    package static var fieldNotes: [String: FieldNote] { ["seconds": FieldNote(.number(1...Int64(Self.longestWait)))] }
}

extension PairAnswer: FieldNoted {
    package static var cases: (field: String, words: [String])? { ("action", ["confirm", "refuse", "dial"]) }
}

extension InvitationRequest: FieldNoted {
    package static var fieldNotes: [String: FieldNote] { ["role": roles] }
}

extension FolderRoleChange: FieldNoted {
    package static var fieldNotes: [String: FieldNote] { ["role": roles] }
}

extension FolderBluetoothChange: FieldNoted {
    package static var fieldNotes: [String: FieldNote] { ["use": bluetoothUses] }
}

extension DeviceBluetoothChange: FieldNoted {
    package static var fieldNotes: [String: FieldNote] { ["use": bluetoothUses] }
}

extension DeviceChange: FieldNoted {
    package static var fieldNotes: [String: FieldNote] {
        [
            "up": FieldNote(.number(0...Int64.max), "Bytes per second; 0 for no limit."),
            "down": FieldNote(.number(0...Int64.max), "Bytes per second; 0 for no limit."),
            "connections": FieldNote(.number(0...8), "0: as many as all devices."),
        ]
    }
}

extension LoginRequest: FieldNoted {
    package static var fieldNotes: [String: FieldNote] {
        [
            "page": FieldNote(nil, "Whether a file is written that leads a browser to the link."),
            "path": FieldNote(nil, "What the browser shows once it is logged in."),
        ]
    }
}

// MARK: - Answers

extension Entry: FieldNoted {
    package static var fieldNotes: [String: FieldNote] {
        [
            "modified": FieldNote(.nullable),
            "selectedFiles": FieldNote(nil, "Of a directory: files and links below it that are selected."),
            "selectedBytes": FieldNote(nil, "Of a directory: their bytes."),
            "presentFiles": FieldNote(
                nil, "Of a directory: those of them that are on this disk in the newest version, verified."),
            "presentBytes": FieldNote(nil, "Of a directory: their bytes."),
        ]
    }
}

extension FolderStatus: FieldNoted {
    package static var fieldNotes: [String: FieldNote] {
        [
            "extraneous": FieldNote(.nullable, isAlways: true), "conflicts": FieldNote(.nullable, isAlways: true),
            "incomplete": FieldNote(
                nil, "Not all that the devices announced could be stored: the counts are of what is known.",
                isAlways: true),
        ]
    }
}

extension ReloadAnswer: FieldNoted {
    package static var fieldNotes: [String: FieldNote] { ["changed": FieldNote(isAlways: true)] }
}

extension ReachTest.Result: FieldNoted {
    package static var fieldNotes: [String: FieldNote] { ["outcome": FieldNote(.oneOf(outcomes))] }
}

extension LoginLink: FieldNoted {
    package static var fieldNotes: [String: FieldNote] {
        ["page": FieldNote(nil, "The path of the file, which goes when the link is used or expires.")]
    }
}

extension Job: FieldNoted {
    package static var fieldNotes: [String: FieldNote] {
        [
            "kind": FieldNote(
                .oneOf(Endpoints.all.filter(\.canBeJob).map { String($0.id.path.dropFirst(4)) }.sorted())),
            "result": FieldNote(.object, "What the request would have answered."),
        ]
    }
}

extension ControlError: FieldNoted {
    package static var fieldNotes: [String: FieldNote] {
        [
            "type": FieldNote(.constant("error"), isAlways: true), "retryable": FieldNote(isAlways: true),
        ]
    }
}

extension ChangeEntry: FieldNoted {
    package static var fieldNotes: [String: FieldNote] { ["type": FieldNote(.constant("change"))] }
}

extension Conflict: FieldNoted {
    package static var fieldNotes: [String: FieldNote] { ["type": FieldNote(.constant("conflict"))] }
}

extension ExplainedPath: FieldNoted {
    package static var fieldNotes: [String: FieldNote] { ["type": FieldNote(.constant("explanation"))] }
}

extension LogRecord: FieldNoted {
    package static var fieldNotes: [String: FieldNote] { ["type": FieldNote(.constant("record"))] }
}

extension RefusedChange: FieldNoted {
    package static var fieldNotes: [String: FieldNote] { ["type": FieldNote(.constant("refused"))] }
}

extension SelectedPath: FieldNoted {
    package static var fieldNotes: [String: FieldNote] { ["type": FieldNote(.constant("selected"))] }
}

extension ArchivedVersion: FieldNoted {
    package static var fieldNotes: [String: FieldNote] { ["type": FieldNote(.constant("version"))] }
}

extension DeletedFile: FieldNoted {
    package static var fieldNotes: [String: FieldNote] { ["type": FieldNote(.constant("deleted"))] }
}

extension ScrubEvent: FieldNoted {
    package static var fieldNotes: [String: FieldNote] {
        ["type": FieldNote(.oneOf(["plan", "progress", "damaged", "repaired", "failed", "done"]))]
    }
}

extension FetchEvent: FieldNoted {
    package static var cases: (field: String, words: [String])? {
        ("type", ["plan", "progress", "file", "failed", "done"])
    }
}

extension PairEvent: FieldNoted {
    package static var cases: (field: String, words: [String])? {
        (
            "type",
            [
                "waiting", "nearby", "dialling", "code", "confirmed-there", "attempt-failed", "paired",
                "already-paired",
            ]
        )
    }
}

extension DropNotice: FieldNoted {
    package static var cases: (field: String, words: [String])? {
        (
            "type",
            [
                "sending", "waiting", "receivers", "preparing", "wanted", "connecting", "code", "offer", "announced",
                "progress",
                "retrying", "sent", "received", "failed", "done",
            ]
        )
    }
}
