import ControlAPI
import Phrases

/// What the facts of a machine come to. Pure.
extension MachineFacts {
    /// Bytes of the index's disk that the agent keeps for this device's own changes.
    package static let indexFloor: Int64 = 64 << 20
    /// With fewer open files than this the agent makes many small files durable more slowly.
    private static let openFilesWanted: UInt64 = 4096

    /// Findings of every area that a running agent is not needed for.
    package var findings: [DoctorFinding] {
        guard isSetUp else {
            return [
                DoctorFinding(
                    .agent, "identity", .problem, Phrase("This device is not set up."),
                    why: Phrase("Without an identity no other device can connect to it."),
                    remedy: Phrase("Create an identity and a configuration."), command: "\(program) init")
            ] + aboutMounts
        }
        return aboutIdentity + aboutConfiguration + aboutFiles + aboutDisks + aboutClock + aboutMounts + aboutHelpers
            + aboutSystem
    }

    /// That no agent runs, and what a start would fail for.
    package func stopped(hindrances: [Phrase]) -> [DoctorFinding] {
        guard !hindrances.isEmpty else {
            return [
                DoctorFinding(
                    .agent, "agent", .problem, Phrase("The agent is not running."),
                    why: Phrase("Nothing is synced."), remedy: Phrase("Start it."), command: "\(program) agent start")
            ]
        }
        return hindrances.map { cause in
            DoctorFinding(
                .agent, "agent", .problem, Phrase("The agent is not running and cannot start: \(cause)").sentence,
                why: Phrase("Nothing is synced."), remedy: Phrase("Remove the cause, then start it."),
                command: "\(program) agent start")
        }
    }

    private func file(_ kind: File.Kind) -> File? { files.first { $0.kind == kind && $0.mode != nil } }

    private var isSetUp: Bool {
        configuration != .missing || file(.privateKey) != nil || file(.certificate) != nil
    }

    // MARK: identity and configuration

    private var aboutIdentity: [DoctorFinding] {
        let missing = files.filter { [.privateKey, .certificate].contains($0.kind) && $0.mode == nil }
        return missing.map { file in
            let isAll = missing.count > 1
            return DoctorFinding(
                .agent, "identity", .problem, subject: file.path, Phrase("\(file.path) is missing."),
                why: Phrase("The key and the certificate are this device's identity; other devices know it by them."),
                remedy: isAll
                    ? Phrase(
                        "Restore both files from a backup, or create a new identity and add it on the other devices.")
                    : Phrase("Restore the file from a backup."), command: isAll ? "\(program) init" : nil)
        }
    }

    private var aboutConfiguration: [DoctorFinding] {
        let path = files.first { $0.kind == .configuration }?.path ?? "config.toml"
        switch configuration {
        case .valid(let folders, let devices):
            return [
                DoctorFinding(
                    .configuration, "configuration", .ok,
                    Phrase("\(path) is valid: \(Words.folders(folders)), \(Words.devices(devices))."))
            ]
        case .missing:
            return [
                DoctorFinding(
                    .configuration, "configuration", .problem, Phrase("\(path) is missing."),
                    why: isAgent
                        ? Phrase("The agent does not start again without it.")
                        : Phrase("The agent does not start without it."),
                    remedy: isAgent
                        ? Phrase("Restore the file from a backup.")
                        : Phrase("Restore the file from a backup, or create one without devices and folders."),
                    command: isAgent ? nil : "\(program) init")
            ]
        case .broken(let message):
            return [
                DoctorFinding(
                    .configuration, "configuration", .problem, Phrase("\(message)").sentence,
                    why: isAgent
                        ? Phrase("The agent uses the settings that it read last and ignores changes of the file.")
                        : Phrase("The agent does not start with it."),
                    remedy: isAgent
                        ? Phrase("Correct the file, then have the agent read it.") : Phrase("Correct the file."),
                    command: isAgent ? "\(program) reload" : nil)
            ]
        }
    }

    // MARK: permissions

    private var aboutFiles: [DoctorFinding] {
        let findings = files.flatMap(about)
        guard !findings.contains(where: { $0.area == .permissions }) else { return findings }
        return findings + [
            DoctorFinding(
                .permissions, "modes", .ok, Phrase("Key, index and control socket belong to this user alone."))
        ]
    }

    private func about(_ file: File) -> [DoctorFinding] {
        guard let mode = file.mode else { return [] }
        let path = ShellWord.quoted(file.path)
        guard file.isOwn else {
            return [
                DoctorFinding(
                    .permissions, "owner", .problem, subject: file.path,
                    Phrase("\(file.path) belongs to another user."),
                    why: Phrase("The agent can read or change it only as long as that user allows it."),
                    remedy: Phrase("Make this user its owner."), command: "sudo chown \"$USER\": \(path)")
            ]
        }
        // A sentence with places for the path and the mode.
        let (code, state, what, why): (String, DoctorFinding.State, Phrase, Phrase)
        let (name, octal) = (file.path, Words.octal(mode))
        switch file.kind {
        case .privateKey where mode & 0o077 != 0:
            (code, state, what) = (
                "key-mode", .problem, Phrase("Other users can read the private key (\(name), mode \(octal)).")
            )
            why = Phrase("Anyone who has the key can connect to your devices as this one.")
        case .linkKey where mode & 0o077 != 0:
            (code, state, what) = (
                "link-key-mode", .problem,
                Phrase("Other users can read the key that links are signed with (\(name), mode \(octal)).")
            )
            why = Phrase("Anyone who has the key can make links to your files; the agent does not start with it.")
        case .password where mode & 0o077 != 0:
            (code, state, what) = (
                "password-mode", .problem,
                Phrase("Other users can read what the page's password is checked with (\(name), mode \(octal)).")
            )
            why = Phrase(
                "Anyone who has it can try passwords as fast as a machine can; the page does not listen with it.")
        case .pageCertificate where mode & 0o077 != 0:
            (code, state, what) = (
                "page-key-mode", .problem,
                Phrase("Other users can read the key of the page's certificate (\(name), mode \(octal)).")
            )
            why = Phrase("Anyone who has the key can pass for the page; the page does not listen with it.")
        case .controlSocket where mode & 0o077 != 0:
            (code, state, what) = (
                "socket-mode", .problem, Phrase("Other users can control the agent (\(name), mode \(octal)).")
            )
            why = Phrase("Anyone who controls the agent can read, change and delete all synced files.")
        case .index where mode & 0o077 != 0:
            (code, state, what) = (
                "index-mode", .warning, Phrase("Other users can read the index (\(name), mode \(octal)).")
            )
            why = Phrase("The index has the names of all files of all folders.")
        case .state where mode & 0o022 != 0:
            (code, state, what) = (
                "state-mode", .problem, Phrase("Other users can replace this device's files (\(name), mode \(octal)).")
            )
            why = Phrase("Anyone who can write to the directory can exchange the key and the configuration.")
        case .configuration where mode & 0o022 != 0:
            (code, state, what) = (
                "configuration-mode", .problem,
                Phrase("Other users can change the configuration (\(name), mode \(octal)).")
            )
            why = Phrase("The configuration says which devices get your files.")
        default: return []
        }
        let target = file.kind == .state ? "700" : "600"
        return [
            DoctorFinding(
                .permissions, code, state, subject: file.path,
                what, why: why,
                remedy: Phrase("Allow this user alone."), command: "chmod \(target) \(path)")
        ]
    }

    // MARK: disks

    private var aboutDisks: [DoctorFinding] { disks.map(about) }

    private func about(_ disk: Disk) -> DoctorFinding {
        if let failure = disk.failure {
            return DoctorFinding(
                .space, "disk-space", .warning, subject: disk.folder ?? disk.path,
                Phrase("\(disk.path) cannot be read: \(failure)."),
                why: disk.folder.map { Phrase("Nothing of the folder \($0) can be synced until it can.") }
                    ?? Phrase("Nothing of the index can be synced until it can."),
                remedy: Phrase("Mount the disk, or check the path and its permissions."))
        }
        guard let available = disk.available, let total = disk.total else {
            return DoctorFinding(
                .space, "disk-space", .note, subject: disk.folder ?? disk.path,
                disk.folder.map { Phrase("The disk of the folder \($0) does not say how much is free.") }
                    ?? Phrase("The disk of the index does not say how much is free."))
        }
        let free = Phrase("\(ByteText.size(available)) of \(ByteText.size(total)) free")
        guard available < disk.floor else {
            return DoctorFinding(
                .space, "disk-space", .ok, subject: disk.folder ?? disk.path,
                disk.folder.map { Phrase("The disk of the folder \($0): \(free).") }
                    ?? Phrase("The disk of the index: \(free)."))
        }
        guard let folder = disk.folder else {
            return DoctorFinding(
                .space, "disk-space", .problem, subject: disk.path,
                Phrase("The disk of the index is almost full: \(free) (\(disk.path))."),
                why: Phrase("What other devices announce is refused so that this device's own changes still fit."),
                remedy: Phrase("Free some space on that disk."))
        }
        return DoctorFinding(
            .space, "disk-space", .problem, subject: folder,
            Phrase(
                "The disk of the folder \(folder) is below its floor: \(free), and `minimum-free` keeps \(ByteText.size(disk.floor))."
            ),
            why: Phrase("Nothing is downloaded into the folder."),
            remedy: Phrase("Free some space, have files freed that other devices have, or lower `minimum-free`."),
            command: "\(program) free \(ShellWord.quoted(folder)) --until \(Words.mebibytes(disk.floor))")
    }

    // MARK: clock, mounts, helpers, system

    private var aboutClock: [DoctorFinding] {
        switch isClockSynchronised {
        case true?: [DoctorFinding(.clock, "clock-source", .ok, Phrase("The system synchronises its clock."))]
        case false?:
            [
                DoctorFinding(
                    .clock, "clock-source", .note, Phrase("The system does not synchronise its clock."),
                    why: Phrase("Of two changes made at once the later one counts, by the clocks of the devices."),
                    remedy: Phrase("Switch on time synchronisation, unless something else sets the clock."),
                    command: "sudo timedatectl set-ntp true")
            ]
        case nil: []
        }
    }

    private var aboutMounts: [DoctorFinding] {
        guard let mounts else { return [] }
        let why = Phrase("`synctrain mount` needs it to show folders as directories.")
        var findings: [DoctorFinding] = []
        if !mounts.hasDevice {
            findings.append(
                DoctorFinding(
                    .mount, "fuse-device", .warning, Phrase("This system has no /dev/fuse."), why: why,
                    remedy: Phrase("Load the kernel module."), command: "sudo modprobe fuse"))
        }
        if !mounts.hasHelper {
            findings.append(
                DoctorFinding(
                    .mount, "fusermount3", .warning, Phrase("The program fusermount3 is not installed."), why: why,
                    remedy: Phrase("Install the Debian package fuse3."), command: "sudo apt install fuse3"))
        }
        if !mounts.hasProgram {
            findings.append(
                DoctorFinding(
                    .mount, "synctrain-mount", .warning,
                    Phrase("The program synctrain-mount is missing beside this one."),
                    why: why,
                    remedy: Phrase("Install synctrain again.")))
        }
        return findings.isEmpty ? [DoctorFinding(.mount, "mount", .ok, Phrase("Folders can be mounted."))] : findings
    }

    private var aboutHelpers: [DoctorFinding] {
        let missing = helpers.filter { !$0.isThere }
        guard !helpers.isEmpty else { return [] }
        guard !missing.isEmpty else {
            return [
                DoctorFinding(
                    .thumbnails, "thumbnail-programs", .ok, Phrase("The programs that make thumbnails are installed."))
            ]
        }
        return [
            DoctorFinding(
                .thumbnails, "thumbnail-programs", .note,
                Phrase("Programs that make thumbnails are missing: \(missing.map(\.path).joined(separator: ", "))."),
                why: Phrase("Pictures or films have no thumbnails."),
                remedy: Phrase("Install them, or set `enabled = false` in [thumbnails]."),
                command: "sudo apt install \(missing.map(\.package).joined(separator: " "))")
        ]
    }

    private var aboutSystem: [DoctorFinding] {
        var findings: [DoctorFinding] = []
        if let limit = openFileLimit {
            findings.append(
                limit < Self.openFilesWanted
                    ? DoctorFinding(
                        .system, "open-files", .warning, Phrase("The agent may have only \(limit) files open at once."),
                        why: Phrase("Many connections and many small files need more."),
                        remedy:
                            Phrase(
                                "Raise the limit to 65536: `LimitNOFILE=65536` in the unit, or `ulimit -n` before the start."
                            )
                    )
                    : DoctorFinding(
                        .system, "open-files", .ok, Phrase("The agent may have \(limit) files open at once.")))
        }
        guard let service else { return findings }
        if !service.isInstalled || !service.isEnabled {
            findings.append(
                DoctorFinding(
                    .system, "service", .note,
                    Phrase("The agent does not start automatically after a restart of the machine."),
                    why: Phrase("Nothing is synced until somebody starts it."),
                    remedy: service.isOfSystem
                        ? Phrase("Enable the system unit.") : Phrase("Install it as a service of this user."),
                    command: service.isOfSystem ? "sudo systemctl enable synctrain" : "\(program) agent install"))
        } else if !service.isLingering, !service.isOfSystem {
            findings.append(
                DoctorFinding(
                    .system, "service", .note, Phrase("The agent stops when this user logs out."),
                    why: Phrase("Services of a user run only while the user is logged in."),
                    remedy: Phrase("Let them run without a login."), command: "loginctl enable-linger"))
        } else {
            findings.append(DoctorFinding(.system, "service", .ok, Phrase("The agent starts with the machine.")))
        }
        return findings
    }
}
