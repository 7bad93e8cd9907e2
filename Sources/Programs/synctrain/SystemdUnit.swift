import ControlAPI
import Foundation

/// The agent's unit for the user's systemd.
struct SystemdUnit: Equatable {
    static let name = "synctrain.service"
    /// What prints the agent's log.
    static let log = "journalctl --user -u synctrain"
    /// The same of the system unit that the Debian package has for a NAS.
    static let systemLog = "sudo journalctl -u synctrain"

    /// Absolute path of the program.
    var executable: String
    var home: String?
    /// Where the unit goes.
    var path: String

    init(executable: String, home: String?, path: String) {
        self.executable = executable
        self.home = home
        self.path = path
    }

    /// Of this program.
    init(_ places: CommandEnvironment.Places) throws(ControlError) {
        self.init(
            executable: try AgentProcess.executable(), home: places.home,
            path: places.unitDirectory + "/" + Self.name)
    }

    /// `config/synctrain.service`, which says why, with this program's path.
    var text: String {
        var command = [executable, "agent", "run", "--log-format", "json"]
        if let home { command += ["--home", home] }
        return """
            [Unit]
            Description=synctrain, selective sync of your devices' folders
            Documentation=man:synctrain(1)

            [Service]
            Type=exec
            ExecStart=\(command.map(Self.quoted).joined(separator: " "))
            TimeoutStopSec=20
            Restart=on-failure
            RestartSec=5
            RestartPreventExitStatus=64 78
            NoNewPrivileges=yes
            LockPersonality=yes
            MemoryDenyWriteExecute=yes
            RestrictRealtime=yes
            SystemCallArchitectures=native

            [Install]
            WantedBy=default.target

            """
    }

    /// As of `config/synctrain-mount@.service`.
    static func mountDescription(of folder: String) -> String { "synctrain, all files of the folder \(folder)" }

    /// Whether a process belongs to the system unit, by its /proc/PID/cgroup (cgroups(7)). Pure.
    static func isOfSystemUnit(cgroup: String) -> Bool {
        cgroup.split(separator: "\n").contains { $0.hasSuffix("/system.slice/\(name)") }
    }

    /// Whether another unit of that name is there.
    func isOtherwiseInstalled() throws(ControlError) -> Bool {
        guard FileManager.default.fileExists(atPath: path) else { return false }
        guard let found = FileManager.default.contents(atPath: path) else {
            throw ControlError(.noPermission, "\(path) cannot be read. Move it elsewhere.", path: path)
        }
        return found != Data(text.utf8)
    }

    /// Where the Debian package has put a unit that starts the same; nil if it has not, or if another is in its way.
    ///
    /// - Parameter root: what the package was installed below; empty for this system.
    func packaged(below root: String = "") -> String? {
        let provided = "\(root)/usr/lib/systemd/user/\(Self.name)"
        let manager = FileManager.default
        guard home == nil, executable == "\(root)/usr/bin/synctrain", !manager.fileExists(atPath: path) else {
            return nil
        }
        return manager.fileExists(atPath: provided) ? provided : nil
    }

    /// Whether a unit of that name is there that starts the same.
    func isInstalled(below root: String = "") -> Bool {
        packaged(below: root) != nil || FileManager.default.contents(atPath: path) == Data(text.utf8)
    }

    func install() throws(ControlError) {
        do {
            let directory = URL(filePath: path).deletingLastPathComponent()
            try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
            try Data(text.utf8).write(to: URL(filePath: path), options: .atomic)
        } catch {
            throw ControlError(.failed, "\(path) cannot be written: \(error.localizedDescription)", path: path)
        }
    }

    /// An argument as systemd.service(5) reads it: in quotes where there is more than letters, `%` and `$` doubled.
    static func quoted(_ argument: String) -> String {
        var text = ""
        var isPlain = !argument.isEmpty
        for scalar in argument.unicodeScalars {
            switch scalar {
            case "%": text += "%%"
            case "$": text += "$$"
            case "\"", "\\":
                text += "\\" + String(scalar)
                isPlain = false
            case "\n":
                text += "\\n"
                isPlain = false
            case "a"..."z", "A"..."Z", "0"..."9", "/", ".", "-", "_", ":", "+", "@", ",", "=":
                text.unicodeScalars.append(scalar)
            default:
                text.unicodeScalars.append(scalar)
                isPlain = false
            }
        }
        return isPlain ? text : "\"\(text)\""
    }
}
