/// All settings and their values.
package struct SettingsDocument: Codable, Equatable, Sendable {
    package var schema = 1
    package var settings: [SettingDescription]
    package var agent: [SettingState]
    package var folders: [SettingsSubject]
    package var devices: [SettingsSubject]

    package init(
        settings: [SettingDescription], agent: [SettingState], folders: [SettingsSubject], devices: [SettingsSubject]
    ) {
        (self.settings, self.agent, self.folders, self.devices) = (settings, agent, folders, devices)
    }
}

/// What a setting is and what its value may be.
package struct SettingDescription: Codable, Equatable, Sendable {
    /// `agent`, `folder` or `device`.
    package var scope: String
    package var key: String
    package var kind: String
    /// What may be written, for people.
    package var allowed: String
    /// The values that it may be; empty where it is not one of a few.
    package var words: [String]
    package var isList: Bool
    package var usual: String
    /// What happens without a value.
    package var without: String?
    package var summary: String
    /// Whether a change counts only when the agent is started again.
    package var needsRestart: Bool
    /// What changes it instead; nil if it can be set.
    package var changedBy: String?
    /// The heading that it stands under, for people.
    package var group: String
    /// Whether few need it.
    package var isAdvanced: Bool
    /// What an empty value means; nil if that is the default.
    package var emptyMeans: String?
    /// Whether it names a program that the agent runs: changed over the socket only, never by a browser.
    package var runsProgram: Bool

    package init(
        scope: String, key: String, kind: String, allowed: String, words: [String], isList: Bool, usual: String,
        without: String?, summary: String, needsRestart: Bool, changedBy: String?, group: String = "",
        isAdvanced: Bool = false, emptyMeans: String? = nil, runsProgram: Bool = false
    ) {
        (self.scope, self.key, self.kind, self.allowed, self.words) = (scope, key, kind, allowed, words)
        (self.isList, self.usual, self.without, self.summary) = (isList, usual, without, summary)
        (self.needsRestart, self.changedBy, self.group, self.isAdvanced) = (needsRestart, changedBy, group, isAdvanced)
        (self.emptyMeans, self.runsProgram) = (emptyMeans, runsProgram)
    }
}

/// A setting's value.
package struct SettingState: Codable, Equatable, Sendable {
    package var key: String
    /// As in the file; a list as `["a", "b"]`; empty where there is none.
    package var value: String
    /// Of a list, its elements.
    package var values: [String]?
    package var isDefault: Bool
    /// Whether `value` has a password, which is replaced by `…`; nil for no.
    package var hidesPassword: Bool?
    /// The value that the running agent goes on with until it is started again, without a password; nil if it is this one.
    package var running: String?

    package init(
        key: String, value: String, values: [String]?, isDefault: Bool, hidesPassword: Bool? = nil,
        running: String? = nil
    ) {
        (self.key, self.value, self.values, self.isDefault) = (key, value, values, isDefault)
        (self.hidesPassword, self.running) = (hidesPassword, running)
    }
}

/// A folder or a device and its settings.
package struct SettingsSubject: Codable, Equatable, Sendable {
    package var id: String
    package var name: String
    package var settings: [SettingState]

    package init(id: String, name: String, settings: [SettingState]) {
        (self.id, self.name, self.settings) = (id, name, settings)
    }
}

/// New values of settings: of a folder, of a device, else of the agent.
package struct SettingsChange: Codable, Equatable, Sendable, CheckedRequest {
    package static let limit = 200

    package var folder: String?
    /// Id or name.
    package var device: String?
    package var settings: [SettingInput]

    package init(folder: String? = nil, device: String? = nil, settings: [SettingInput]) {
        (self.folder, self.device, self.settings) = (folder, device, settings)
    }

    /// - Throws: `invalidRequest` for a change of nothing, of too much, or of a folder and a device at once.
    package func check() throws(ControlError) {
        guard folder == nil || device == nil else {
            throw ControlError(.invalidRequest, "Give either a folder or a device.")
        }
        guard (1...Self.limit).contains(settings.count) else {
            throw ControlError(.invalidRequest, "Give 1 to \(Self.limit) settings.")
        }
    }
}

/// A new value as a user wrote it: a text, or the elements of a list; without both the default.
package struct SettingInput: Codable, Equatable, Sendable {
    package var key: String
    package var value: String?
    package var values: [String]?

    package init(key: String, value: String? = nil, values: [String]? = nil) {
        (self.key, self.value, self.values) = (key, value, values)
    }
}

/// What a change of settings did.
package struct SettingsAnswer: Codable, Equatable, Sendable {
    package struct Change: Codable, Equatable, Sendable {
        package var key: String
        package var from: String
        package var to: String
        /// Whether the running agent goes on with another value until it is started again.
        package var needsRestart: Bool

        package init(key: String, from: String, to: String, needsRestart: Bool) {
            (self.key, self.from, self.to, self.needsRestart) = (key, from, to, needsRestart)
        }
    }

    package var schema = 1
    /// Of each setting that was given, in this order.
    package var settings: [Change]

    package init(settings: [Change]) { self.settings = settings }
}

extension SettingDescription: FieldNoted {
    package static var fieldNotes: [String: FieldNote] {
        ["scope": FieldNote(.oneOf(["agent", "folder", "device"]))]
    }
}

extension SettingsChange: FieldNoted {
    package static var fieldNotes: [String: FieldNote] { ["settings": FieldNote(.items(1...limit))] }
}
