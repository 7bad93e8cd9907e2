import BlockExchange

/// A folder that this device shares with others.
public struct FolderConfiguration: Equatable, Sendable {
    public enum Mode: String, Sendable, CaseIterable {
        /// Keeps what `.stignore` selects.
        case selective
        /// Keeps all that `.stignore` does not ignore.
        case full
    }

    public enum Kind: String, Sendable, CaseIterable {
        case sendReceive = "sendreceive"
        case sendOnly = "sendonly"
        case receiveOnly = "receiveonly"
    }

    public var id: FolderID
    /// What the user calls it; may be empty.
    public var label: String
    /// Absolute, without `.`, `..`, double or trailing slashes.
    public var path: String
    public var mode: Mode
    /// Written `type` in the file, as Syncthing does.
    public var kind: Kind
    public var devices: [DeviceID]
    public var isPaused: Bool

    public init(
        id: FolderID, label: String = "", path: String, mode: Mode = .selective, kind: Kind = .sendReceive,
        devices: [DeviceID] = [], isPaused: Bool = false
    ) {
        self.id = id
        self.label = label
        self.path = path
        self.mode = mode
        self.kind = kind
        self.devices = devices
        self.isPaused = isPaused
    }

    func problem() -> (key: String, problem: SettingProblem)? {
        let id = id.rawValue
        guard !id.isEmpty, id.utf8.count <= 255, Configuration.isOneLine(id) else {
            return (
                "id",
                SettingProblem(.invalidValue, "a folder id has 1 to 255 bytes and no control characters; write one")
            )
        }
        if let problem = Configuration.problem(name: label) { return ("label", problem) }
        do throws(SettingProblem) {
            let clean = try FolderPath.clean(path, userHome: nil)
            guard clean.utf8.elementsEqual(path.utf8) else {
                return ("path", SettingProblem(.invalidValue, "write the path as `\(clean)`"))
            }
        } catch {
            return ("path", error)
        }
        return nil
    }
}
