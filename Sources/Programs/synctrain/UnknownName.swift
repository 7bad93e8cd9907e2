import ControlAPI
import Spelling

/// A folder or a device that there is not, with the one that may have been meant.
extension ControlError {
    static func noSuchFolder(_ id: String, among ids: [String]) -> ControlError {
        guard let near = NearestWord.find(id, in: ids) else {
            return ControlError(
                .noSuchFolder, "`\(id)`: no such folder; `synctrain folder list` shows the shared folders", path: id)
        }
        return ControlError(.noSuchFolder, "`\(id)`: no such folder; did you mean `\(near)`?", path: id)
    }

    /// - Parameter names: of all known devices; empty for one without.
    static func noSuchDevice(_ reference: String, among names: [String]) -> ControlError {
        guard let near = NearestWord.find(reference, in: names.filter { !$0.isEmpty }) else {
            return ControlError(
                .noSuchDevice, "`\(reference)`: no such device; `synctrain device list` shows the known devices",
                path: reference)
        }
        return ControlError(.noSuchDevice, "`\(reference)`: no such device; did you mean `\(near)`?", path: reference)
    }
}
