import ControlAPI

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
                    .agent, "identity", .problem, "This device is not set up.",
                    why: "Without an identity no other device can connect to it.",
                    remedy: "Create an identity and a configuration.", command: "\(program) init")
            ] + aboutMounts
        }
        return aboutIdentity + aboutConfiguration + aboutFiles + aboutDisks + aboutClock + aboutMounts + aboutHelpers
            + aboutSystem
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
                .agent, "identity", .problem, subject: file.path, "\(file.path) is missing.",
                why: "The key and the certificate are this device's identity; other devices know it by them.",
                remedy: isAll
                    ? "Restore both files from a backup, or create a new identity and add it on the other devices."
                    : "Restore the file from a backup.", command: isAll ? "\(program) init" : nil)
        }
    }

    private var aboutConfiguration: [DoctorFinding] {
        let path = files.first { $0.kind == .configuration }?.path ?? "config.toml"
        switch configuration {
        case .valid(let folders, let devices):
            return [
                DoctorFinding(
                    .configuration, "configuration", .ok,
                    "\(path) is valid: \(Words.count(folders, "folder")), \(Words.count(devices, "device")).")
            ]
        case .missing:
            return [
                DoctorFinding(
                    .configuration, "configuration", .problem, "\(path) is missing.",
                    why: isAgent
                        ? "The agent does not start again without it." : "The agent does not start without it.",
                    remedy: "Restore the file from a backup.")
            ]
        case .broken(let message):
            return [
                DoctorFinding(
                    .configuration, "configuration", .problem, Words.sentence(message),
                    why: isAgent
                        ? "The agent uses the settings that it read last and ignores changes of the file."
                        : "The agent does not start with it.",
                    remedy: isAgent ? "Correct the file, then have the agent read it." : "Correct the file.",
                    command: isAgent ? "\(program) reload" : nil)
            ]
        }
    }

    // MARK: permissions

    private var aboutFiles: [DoctorFinding] {
        let findings = files.flatMap(about)
        guard !findings.contains(where: { $0.area == .permissions }) else { return findings }
        return findings + [
            DoctorFinding(.permissions, "modes", .ok, "Key, index and control socket belong to this user alone.")
        ]
    }

    private func about(_ file: File) -> [DoctorFinding] {
        guard let mode = file.mode else { return [] }
        let path = ShellWord.quoted(file.path)
        guard file.isOwn else {
            return [
                DoctorFinding(
                    .permissions, "owner", .problem, subject: file.path, "\(file.path) belongs to another user.",
                    why: "The agent can read or change it only as long as that user allows it.",
                    remedy: "Make this user its owner.", command: "sudo chown \"$USER\": \(path)")
            ]
        }
        let (code, state, who, why): (String, DoctorFinding.State, String, String)
        switch file.kind {
        case .privateKey where mode & 0o077 != 0:
            (code, state, who) = ("key-mode", .problem, "can read the private key")
            why = "Anyone who has the key can connect to your devices as this one."
        case .linkKey where mode & 0o077 != 0:
            (code, state, who) = ("link-key-mode", .problem, "can read the key that links are signed with")
            why = "Anyone who has the key can make links to your files; the agent does not start with it."
        case .password where mode & 0o077 != 0:
            (code, state, who) = ("password-mode", .problem, "can read what the page's password is checked with")
            why = "Anyone who has it can try passwords as fast as a machine can; the page does not listen with it."
        case .pageCertificate where mode & 0o077 != 0:
            (code, state, who) = ("page-key-mode", .problem, "can read the key of the page's certificate")
            why = "Anyone who has the key can pass for the page; the page does not listen with it."
        case .controlSocket where mode & 0o077 != 0:
            (code, state, who) = ("socket-mode", .problem, "can control the agent")
            why = "Anyone who controls the agent can read, change and delete all synced files."
        case .index where mode & 0o077 != 0:
            (code, state, who) = ("index-mode", .warning, "can read the index")
            why = "The index has the names of all files of all folders."
        case .state where mode & 0o022 != 0:
            (code, state, who) = ("state-mode", .problem, "can replace this device's files")
            why = "Anyone who can write to the directory can exchange the key and the configuration."
        case .configuration where mode & 0o022 != 0:
            (code, state, who) = ("configuration-mode", .problem, "can change the configuration")
            why = "The configuration says which devices get your files."
        default: return []
        }
        let target = file.kind == .state ? "700" : "600"
        return [
            DoctorFinding(
                .permissions, code, state, subject: file.path,
                "Other users \(who) (\(file.path), mode \(Words.octal(mode))).", why: why,
                remedy: "Allow this user alone.", command: "chmod \(target) \(path)")
        ]
    }

    // MARK: disks

    private var aboutDisks: [DoctorFinding] { disks.map(about) }

    private func about(_ disk: Disk) -> DoctorFinding {
        let what = disk.folder.map { "the folder \($0)" } ?? "the index"
        if let failure = disk.failure {
            return DoctorFinding(
                .space, "disk-space", .warning, subject: disk.folder ?? disk.path,
                "\(disk.path) cannot be read: \(failure).",
                why: "Nothing of \(what) can be synced until it can.",
                remedy: "Mount the disk, or check the path and its permissions.")
        }
        guard let available = disk.available, let total = disk.total else {
            return DoctorFinding(
                .space, "disk-space", .note, subject: disk.folder ?? disk.path,
                "The disk of \(what) does not say how much is free.")
        }
        let free = "\(ByteText.size(available)) of \(ByteText.size(total)) free"
        guard available < disk.floor else {
            return DoctorFinding(
                .space, "disk-space", .ok, subject: disk.folder ?? disk.path, "The disk of \(what): \(free).")
        }
        guard let folder = disk.folder else {
            return DoctorFinding(
                .space, "disk-space", .problem, subject: disk.path,
                "The disk of the index is almost full: \(free) (\(disk.path)).",
                why: "What other devices announce is refused so that this device's own changes still fit.",
                remedy: "Free some space on that disk.")
        }
        return DoctorFinding(
            .space, "disk-space", .problem, subject: folder,
            "The disk of \(what) is below its floor: \(free), and `minimum-free` keeps \(ByteText.size(disk.floor)).",
            why: "Nothing is downloaded into the folder.",
            remedy: "Free some space, have files freed that other devices have, or lower `minimum-free`.",
            command: "\(program) free \(ShellWord.quoted(folder)) --until \(Words.mebibytes(disk.floor))")
    }

    // MARK: clock, mounts, helpers, system

    private var aboutClock: [DoctorFinding] {
        switch isClockSynchronised {
        case true?: [DoctorFinding(.clock, "clock-source", .ok, "The system synchronises its clock.")]
        case false?:
            [
                DoctorFinding(
                    .clock, "clock-source", .note, "The system does not synchronise its clock.",
                    why: "Of two changes made at once the later one counts, by the clocks of the devices.",
                    remedy: "Switch on time synchronisation, unless something else sets the clock.",
                    command: "sudo timedatectl set-ntp true")
            ]
        case nil: []
        }
    }

    private var aboutMounts: [DoctorFinding] {
        guard let mounts else { return [] }
        let why = "`synctrain mount` needs it to show folders as directories."
        var findings: [DoctorFinding] = []
        if !mounts.hasDevice {
            findings.append(
                DoctorFinding(
                    .mount, "fuse-device", .warning, "This system has no /dev/fuse.", why: why,
                    remedy: "Load the kernel module.", command: "sudo modprobe fuse"))
        }
        if !mounts.hasHelper {
            findings.append(
                DoctorFinding(
                    .mount, "fusermount3", .warning, "The program fusermount3 is not installed.", why: why,
                    remedy: "Install the Debian package fuse3.", command: "sudo apt install fuse3"))
        }
        if !mounts.hasProgram {
            findings.append(
                DoctorFinding(
                    .mount, "synctrain-mount", .warning, "The program synctrain-mount is missing beside this one.",
                    why: why,
                    remedy: "Install synctrain again."))
        }
        return findings.isEmpty ? [DoctorFinding(.mount, "mount", .ok, "Folders can be mounted.")] : findings
    }

    private var aboutHelpers: [DoctorFinding] {
        let missing = helpers.filter { !$0.isThere }
        guard !helpers.isEmpty else { return [] }
        guard !missing.isEmpty else {
            return [
                DoctorFinding(
                    .thumbnails, "thumbnail-programs", .ok, "The programs that make thumbnails are installed.")
            ]
        }
        return [
            DoctorFinding(
                .thumbnails, "thumbnail-programs", .note,
                "Programs that make thumbnails are missing: \(missing.map(\.path).joined(separator: ", ")).",
                why: "Pictures or films have no thumbnails.",
                remedy: "Install them, or set `enabled = false` in [thumbnails].",
                command: "sudo apt install \(missing.map(\.package).joined(separator: " "))")
        ]
    }

    private var aboutSystem: [DoctorFinding] {
        var findings: [DoctorFinding] = []
        if let limit = openFileLimit {
            findings.append(
                limit < Self.openFilesWanted
                    ? DoctorFinding(
                        .system, "open-files", .warning, "The agent may have only \(limit) files open at once.",
                        why: "Many connections and many small files need more.",
                        remedy:
                            "Raise the limit to 65536: `LimitNOFILE=65536` in the unit, or `ulimit -n` before the start."
                    ) : DoctorFinding(.system, "open-files", .ok, "The agent may have \(limit) files open at once."))
        }
        guard let service else { return findings }
        if !service.isInstalled || !service.isEnabled {
            findings.append(
                DoctorFinding(
                    .system, "service", .note, "The agent does not start automatically after a restart of the machine.",
                    why: "Nothing is synced until somebody starts it.", remedy: "Install it as a service of this user.",
                    command: "\(program) agent install"))
        } else if !service.isLingering {
            findings.append(
                DoctorFinding(
                    .system, "service", .note, "The agent stops when this user logs out.",
                    why: "Services of a user run only while the user is logged in.",
                    remedy: "Let them run without a login.", command: "loginctl enable-linger"))
        } else {
            findings.append(DoctorFinding(.system, "service", .ok, "The agent starts with the machine."))
        }
        return findings
    }
}
