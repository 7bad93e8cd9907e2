import AgentConfiguration
import CLinux
import ControlAPI
import Diagnosis
import Glibc
import KernelFiles
import Thumbnails

/// Looks at the machine, at this device's files and at its configuration; changes nothing. What cannot be read is nil.
package struct MachineReading: Sendable {
    private let places: AgentPlaces
    /// The environment's variables, for the paths of programs and units.
    private let variables: [String: String]
    private let isAgent: Bool

    package init(_ places: AgentPlaces, variables: [String: String], isAgent: Bool = false) {
        self.places = places
        self.variables = variables
        self.isAgent = isAgent
    }

    /// How this program is called in commands that are shown.
    package var program: String {
        places.home.map { "synctrain --home \(ShellWord.quoted($0))" } ?? "synctrain"
    }

    /// Reads all of it. Waits for disks: not for threads that must not.
    package func facts() -> MachineFacts {
        var loaded: Configuration?
        let configuration: MachineFacts.Configuration
        do throws(ConfigurationError) {
            let found = try ConfigurationFile(places).load()
            loaded = found
            configuration = .valid(folders: found.folders.count, devices: found.devices.count)
        } catch {
            configuration = error.code == .missing ? .missing : .broken("\(error)")
        }
        return MachineFacts(
            program: program, isAgent: isAgent, files: files, configuration: configuration, disks: disks(loaded),
            inotify: Self.inotify, mounts: mounts, openFileLimit: openFileLimit, service: service,
            isClockSynchronised: Self.isClockSynchronised,
            helpers: loaded?.thumbnails.isEnabled == false ? [] : Self.helpers)
    }

    // MARK: files and disks

    private var files: [MachineFacts.File] {
        [
            (.state, String(places.privateKey.dropLast("/key.pem".count))), (.privateKey, places.privateKey),
            (.certificate, places.certificate), (.linkKey, places.linkKey),
            (.password, places.password), (.pageCertificate, places.pageCertificate), (.index, places.index),
            (.controlSocket, places.controlSocket), (.configuration, places.configurationFile),
        ].map { kind, path in
            var status = stat()
            guard stat(path, &status) == 0 else { return MachineFacts.File(kind, path: path, mode: nil) }
            return MachineFacts.File(
                kind, path: path, mode: UInt32(status.st_mode) & 0o7777, isOwn: status.st_uid == geteuid(),
                size: Int64(status.st_size))
        }
    }

    private func disks(_ configuration: Configuration?) -> [MachineFacts.Disk] {
        // The index is made at the first start; until then this is the disk for it.
        let own = [places.index, places.stateDirectory].lazy.map { path in
            Self.disk(folder: nil, path) { size in
                min(MachineFacts.indexFloor, size / 50)  // bounded: a division by a constant
            }
        }.first { $0.failure == nil }
        // A folder that is paused may be on a disk that is not here.
        let folders = configuration?.folders.filter { !$0.isPaused } ?? []
        return (own.map { [$0] } ?? [])
            + folders.map { folder in
                Self.disk(folder: folder.id.rawValue, folder.path) {
                    folder.minimumFree.byteCount(ofDisk: $0)
                }
            }
    }

    private static func disk(
        folder: String?, _ path: String, floor: (Int64) -> Int64
    ) -> MachineFacts.Disk {
        var status = statvfs()
        guard statvfs(path, &status) == 0 else {
            return MachineFacts.Disk(
                folder: folder, path: path, available: nil, total: nil, floor: 0,
                failure: String(cString: strerror(errno)))
        }
        func bytes(_ blocks: fsblkcnt_t) -> Int64 {
            let (bytes, overflows) = UInt64(blocks).multipliedReportingOverflow(by: UInt64(status.f_frsize))
            return overflows ? .max : Int64(clamping: bytes)
        }
        let total = bytes(status.f_blocks)
        // A file system that counts nothing is not full.
        guard total > 0 else {
            return MachineFacts.Disk(folder: folder, path: path, available: nil, total: nil, floor: 0)
        }
        return MachineFacts.Disk(
            folder: folder, path: path, available: bytes(status.f_bavail), total: total, floor: floor(total))
    }

    // MARK: the machine

    static var inotify: MachineFacts.Inotify? {
        guard let watches = number("/proc/sys/fs/inotify/max_user_watches"),
            let instances = number("/proc/sys/fs/inotify/max_user_instances")
        else { return nil }
        return MachineFacts.Inotify(watches: watches, instances: instances)
    }

    /// The number that a file of /proc begins with.
    private static func number(_ path: String) -> Int64? {
        KernelFile.text(at: path, limit: 32).flatMap { Int64($0.prefix { $0 > " " }) }
    }

    private var mounts: MachineFacts.Mounts {
        let directories = (variables["PATH"] ?? "").split(separator: ":").map(String.init) + ["/usr/bin", "/bin"]
        var own = [CChar](repeating: 0, count: Int(PATH_MAX))
        let length = readlink("/proc/self/exe", &own, own.count - 1)
        let executable = String(decoding: own.prefix(max(0, length)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let directory = executable.utf8.lastIndex(of: UInt8(ascii: "/")).map { executable[..<$0] } ?? ""
        return MachineFacts.Mounts(
            hasDevice: access("/dev/fuse", F_OK) == 0,
            hasHelper: directories.contains { access($0 + "/fusermount3", X_OK) == 0 },
            hasProgram: access("\(directory)/synctrain-mount", X_OK) == 0)
    }

    /// Of the agent what it has; else what an agent raises its limit to.
    private var openFileLimit: UInt64? {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return nil }
        return isAgent ? UInt64(limit.rlim_cur) : min(UInt64(limit.rlim_max), 65_536)
    }

    private var service: MachineFacts.Service? {
        guard access("/run/systemd/system", F_OK) == 0 else { return nil }
        let configurations = variables["XDG_CONFIG_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
        let own = (configurations ?? (places.userHome ?? "") + "/.config") + "/systemd/user"
        func isIn(_ directories: [String], _ name: String) -> Bool {
            directories.contains { access("\($0)/\(name)", F_OK) == 0 }
        }
        let unit = "synctrain.service"
        let account = Self.accountName
        let isEnabled = isIn([own, "/etc/systemd/user"], "default.target.wants/\(unit)")
        let isLingering = account.map { isIn(["/var/lib/systemd/linger"], $0) } ?? false
        // What the Debian package has for a NAS: the unit, and the account that the unit names.
        let system = ["/etc/systemd/system", "/usr/local/lib/systemd/system", "/usr/lib/systemd/system"]
        if !isEnabled, account == "synctrain", isIn(system, unit) {
            return MachineFacts.Service(
                isInstalled: true, isEnabled: isIn(["/etc/systemd/system"], "multi-user.target.wants/\(unit)"),
                isLingering: isLingering, isOfSystem: true)
        }
        return MachineFacts.Service(
            isInstalled: isIn(
                [own, "/etc/systemd/user", "/usr/local/lib/systemd/user", "/usr/lib/systemd/user"], unit),
            isEnabled: isEnabled, isLingering: isLingering)
    }

    private static var accountName: String? {
        var entry = passwd()
        var found: UnsafeMutablePointer<passwd>?
        var buffer = [CChar](repeating: 0, count: 1 << 14)
        guard getpwuid_r(geteuid(), &entry, &buffer, buffer.count, &found) == 0, found != nil, let name = entry.pw_name
        else { return nil }
        return String(cString: name)
    }

    private static var isClockSynchronised: Bool? {
        switch clinux_clock_is_synchronised() {
        case 1: true
        case 0: false
        default: nil
        }
    }

    private static var helpers: [MachineFacts.Helper] {
        (ThumbnailCommand.foundations
            + [ThumbnailCommand.Tool.picture.program, ThumbnailCommand.Tool.film.program]).map { program in
                MachineFacts.Helper(
                    path: program.path, package: program.package, isThere: access(program.path, X_OK) == 0)
            }
    }
}
