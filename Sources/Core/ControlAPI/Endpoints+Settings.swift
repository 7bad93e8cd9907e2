// MARK: - Settings

extension Endpoints {
    static let settingsEndpoints: [any AnyEndpoint] = [settings, changeSettings]

    /// A proxy is shown without its password.
    package static let settings = Endpoint(
        .get, "/v1/settings", "All settings, what they may be and their values", nothing, SettingsDocument.self)

    /// Changes the file, whose comments stay, and applies it; changes nothing when it throws. Throws `invalidRequest` for an
    /// unknown key or a value that is not allowed.
    package static let changeSettings = Endpoint(
        .patch, "/v1/settings", "Change settings", body(SettingsChange.self), SettingsAnswer.self,
        errors: [.noSuchFolder, .noSuchDevice])
}
