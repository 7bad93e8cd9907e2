@_exported import Phrases

/// An answer that is no: what went wrong, in a code that programs read and a message that people act on.
///
/// Travels as JSON: `{"type":"error","code":…,"message":…,"text":…,"retryable":…,"path":…}`. The message is English; `text` is
/// what it was made of, by which a client shows it in another language.
package struct ControlError: PhrasedError, Codable, Equatable, Sendable, CustomStringConvertible {
    /// An open set: a client that meets a code it does not know treats it as `failed`.
    package struct Code: RawRepresentable, Codable, Hashable, Sendable, ExpressibleByStringLiteral {
        package let rawValue: String

        package init(rawValue: String) { self.rawValue = rawValue }
        package init(stringLiteral value: String) { rawValue = value }

        package static let failed: Code = "failed"
        package static let someFailed: Code = "some-failed"
        package static let noAgent: Code = "no-agent"
        package static let noSuchPath: Code = "no-such-path"
        package static let noSuchDevice: Code = "no-such-device"
        package static let noSuchFolder: Code = "no-such-folder"
        /// It was there: the file is deleted, or the link to it has expired.
        package static let gone: Code = "gone"
        /// What is waited for is not selected and does not come by itself.
        package static let notKept: Code = "not-kept"
        package static let alreadyExists: Code = "already-exists"
        package static let noHolder: Code = "no-holder"
        /// Devices that hold it are reached over Bluetooth only, and the settings keep it off Bluetooth.
        package static let keptOffBluetooth: Code = "kept-off-bluetooth"
        /// None can be made of this file, or not at what it would cost.
        package static let noThumbnail: Code = "no-thumbnail"
        /// They are switched off, or a program or the sandbox for it is not available on this machine.
        package static let thumbnailsOff: Code = "thumbnails-off"
        /// The connection is metered or the battery low, and a policy holds it back.
        package static let heldByPolicy: Code = "held-by-policy"
        package static let confirmationNeeded: Code = "confirmation-needed"
        package static let timeout: Code = "timeout"
        package static let invalidRequest: Code = "invalid-request"
        package static let invalidConfiguration: Code = "invalid-configuration"
        package static let noSpace: Code = "no-space"
        package static let noPermission: Code = "no-permission"
        /// Over TCP: the browser has no cookie that is good.
        package static let notLoggedIn: Code = "not-logged-in"
        package static let rangeNotSatisfiable: Code = "range-not-satisfiable"
        package static let indexUnusable: Code = "index-unusable"
        package static let busy: Code = "busy"
        /// No line of `.stignore` can name the path.
        package static let inexpressiblePath: Code = "inexpressible-path"
        /// A line of `.stignore` that commands do not edit decides otherwise.
        package static let overruled: Code = "overruled"
        /// `.stignore`, or a file that it includes, cannot be read or understood.
        package static let selectionUnusable: Code = "selection-unusable"
        /// The folder has halted; `synctrain folder confirm` or `repair` lets it go on.
        package static let folderHalted: Code = "folder-halted"
        /// The other device's user has said no.
        package static let pairingRefused: Code = "pairing-refused"
        /// The two devices show different codes, or one of them was lied to.
        package static let pairingMismatch: Code = "pairing-mismatch"
        package static let pairingFailed: Code = "pairing-failed"
        /// Pairing has failed too often and rests.
        package static let pairingBlocked: Code = "pairing-blocked"
        /// Too many wrong passwords.
        package static let loginBlocked: Code = "login-blocked"
        /// The other device does not wait to be paired; or this one does not, if that was asked.
        package static let notPairing: Code = "not-pairing"
        /// The invitation is not good, or not any more.
        package static let invitationRefused: Code = "invitation-refused"
        /// The other device's user, or the device itself, does not want the file.
        package static let dropRefused: Code = "drop-refused"
        /// The two devices do not see the same keys.
        package static let codesDiffer: Code = "codes-differ"
        package static let linkLost: Code = "link-lost"
        /// The file that arrived is not the one that was announced.
        package static let digestDiffers: Code = "digest-differs"
        package static let dropFailed: Code = "drop-failed"
        /// The agent is ending.
        package static let stopping: Code = "stopping"
        /// The answer ended before it was complete.
        package static let interrupted: Code = "interrupted"
        /// A request's target, method or size that the control server does not take.
        package static let notFound: Code = "not-found"
        package static let methodNotAllowed: Code = "method-not-allowed"
        package static let tooLarge: Code = "too-large"
    }

    package var code: Code
    /// A sentence for people that ends with what to do.
    package var text: Phrase
    /// Whether the same request may succeed later without anything being changed.
    package var isRetryable: Bool
    /// The path, device or folder in question.
    package var path: String?

    package init(_ code: Code, _ text: Phrase, isRetryable: Bool = false, path: String? = nil) {
        self.code = code
        self.text = text
        self.isRetryable = isRetryable
        self.path = path
    }

    /// A message of others, which the catalogue does not have.
    package init(_ code: Code, message: String, isRetryable: Bool = false, path: String? = nil) {
        self.init(code, "\(message)", isRetryable: isRetryable, path: path)
    }

    /// The same to a program, whether or not it was read from JSON.
    package static func == (left: ControlError, right: ControlError) -> Bool {
        left.code == right.code && left.message == right.message && left.isRetryable == right.isRetryable
            && left.path == right.path
    }

    package var description: String { message }

    /// What the command line exits with (see docs/cli.md).
    package var exitCode: Int32 {
        switch code {
        case .someFailed: 2
        case .noAgent: 3
        case .noSuchPath, .noSuchDevice, .noSuchFolder, .gone: 4
        case .noHolder, .keptOffBluetooth, .heldByPolicy: 5
        case .confirmationNeeded: 6
        case .timeout: 7
        case .invalidRequest: 64
        default: 1
        }
    }

    /// What the control server answers with.
    package var httpStatus: Int {
        switch code {
        case .noSuchPath, .noSuchDevice, .noSuchFolder, .notFound, .noThumbnail: 404
        case .methodNotAllowed: 405
        case .gone: 410
        case .tooLarge: 413
        case .alreadyExists, .notKept, .confirmationNeeded, .keptOffBluetooth, .heldByPolicy, .overruled: 409
        case .selectionUnusable, .folderHalted: 409
        case .invalidRequest, .invalidConfiguration, .inexpressiblePath: 400
        case .rangeNotSatisfiable: 416
        case .pairingRefused, .invitationRefused, .pairingMismatch, .notPairing, .dropRefused, .codesDiffer: 409
        case .pairingBlocked, .loginBlocked: 429
        case .noHolder, .busy, .stopping, .thumbnailsOff: 503
        case .timeout: 504
        case .noSpace: 507
        case .noPermission: 403
        case .notLoggedIn: 401
        default: 500
        }
    }

    enum CodingKeys: String, CodingKey {
        case type, code, message, text, isRetryable = "retryable", path
    }

    /// Reads the error; without `retryable` it is permanent.
    ///
    /// - Throws: `DecodingError`.
    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        code = try container.decode(Code.self, forKey: .code)
        let message = try container.decode(String.self, forKey: .message)
        text = try container.decodeIfPresent(Phrase.self, forKey: .text) ?? "\(message)"
        isRetryable = try container.decodeIfPresent(Bool.self, forKey: .isRetryable) ?? false
        path = try container.decodeIfPresent(String.self, forKey: .path)
    }

    /// Writes the error, with the `type` that marks it in a stream.
    ///
    /// - Throws: what the encoder throws.
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode("error", forKey: .type)
        try container.encode(code, forKey: .code)
        try container.encode(message, forKey: .message)
        if !text.isVerbatim { try container.encode(text, forKey: .text) }
        try container.encode(isRetryable, forKey: .isRetryable)
        try container.encodeIfPresent(path, forKey: .path)
    }
}
