import ControlAPI

/// Findings about folders: acceptance on the other side, halts, errors and what waits for a person. Pure.
extension AgentFacts {
    /// Names with errors that are shown.
    private static let nameLimit = 5

    var aboutFolders: [DoctorFinding] {
        guard !status.folders.isEmpty else {
            return [
                DoctorFinding(
                    .folders, "folders", .note, "There is no folder.", why: "There is nothing to sync.",
                    remedy: "Add a folder, or accept one that another device offers.",
                    command: "\(program) folder add ID DIRECTORY --device DEVICE")
            ]
        }
        return status.folders.flatMap { folder in
            let findings = standing(folder) + folder.waits.compactMap { about($0, of: folder) } + decisions(folder)
            return findings.contains { $0.state != .note } || findings.contains { $0.code == "folder" }
                ? findings
                : findings + [
                    DoctorFinding(
                        .folders, "folder", .ok, subject: folder.id,
                        "\(folder.id): \(folder.state), \(folder.need.isZero ? "needs nothing" : "needs \(need(folder))")."
                    )
                ]
        }
    }

    private func need(_ folder: FolderStatus) -> String {
        "\(Words.count(folder.need.files, "file")), \(ByteText.size(folder.need.bytes))"
    }

    private func standing(_ folder: FolderStatus) -> [DoctorFinding] {
        if folder.isIncomplete {
            return [
                DoctorFinding(
                    .folders, "folder", .problem, subject: folder.id,
                    "\(folder.id): not all that the devices announced could be stored"
                        + (folder.message.map { ": \(Words.ended($0))" } ?? "."),
                    why: "Files may be missing in what is shown and synced.",
                    remedy: "Remove the cause in the message.",
                    command: "\(program) status")
            ]
        }
        guard folder.condition.isFailure else { return [] }
        let wait = folder.waits.first { [.halted, .space].contains($0.reason) }
        return [
            DoctorFinding(
                .folders, "folder", .problem, subject: folder.id,
                "\(folder.id): \(folder.state)" + (folder.message.map { ": \(Words.ended($0))" } ?? "."),
                why: "Nothing is synced in it until that is settled.",
                remedy: wait.map { Words.sentence($0.remedy) } ?? "Remove the cause in the message.",
                command: wait.flatMap { Words.command(in: $0.remedy, program: program) })
        ]
    }

    private func about(_ wait: FolderWait, of folder: FolderStatus) -> DoctorFinding? {
        let state: DoctorFinding.State
        switch wait.reason {
        case .halted, .space, .problems: return nil
        case .unsharedThere, .encryptedThere: state = .problem
        case .paused, .unshared, .index, .devicePaused, .pausedThere, .holder, .unavailable, .policy: state = .note
        }
        return DoctorFinding(
            .folders, "waits-\(wait.reason.rawValue)", state, subject: folder.id,
            "\(folder.id): \(Words.ended(wait.message))", why: why(wait.reason),
            remedy: Words.sentence(wait.remedy), command: Words.command(in: wait.remedy, program: program),
            details: wait.devices.map { "\(name($0)): \($0)" })
    }

    private func why(_ reason: FolderWait.Reason) -> String {
        switch reason {
        case .unsharedThere: "Both devices have to share a folder before any of it is exchanged."
        case .encryptedThere: "Nothing of the folder is exchanged with that device."
        case .unshared: "No other device has a copy."
        case .paused: "Nothing is synced in it."
        default: "Until then a part of the folder is missing or old."
        }
    }

    /// What waits for a person.
    private func decisions(_ folder: FolderStatus) -> [DoctorFinding] {
        let id = ShellWord.quoted(folder.id)
        var findings: [DoctorFinding] = []
        if folder.errors > 0 {
            findings.append(
                DoctorFinding(
                    .folders, "errors", .warning, subject: folder.id,
                    "\(folder.id): \(Words.count(folder.errors, "name")) cannot be synced.",
                    why: "The other devices do not get them, or this one does not.",
                    remedy: "Each message says what helps; the agent retries automatically.",
                    command: "\(program) status",
                    details: folder.problems.prefix(Self.nameLimit).map { "\($0.path): \($0.message)" }))
        }
        if let held = folder.heldDeletions {
            findings.append(
                DoctorFinding(
                    .folders, "held-deletions", .warning, subject: folder.id,
                    "\(folder.id): \(Words.count(held.names, "deletion")) to confirm: \(Words.ended(held.message))",
                    why: "The names stay until somebody decides.",
                    remedy: "Confirm the deletions if they were intended; otherwise restore the files.",
                    command: "\(program) folder confirm \(id)"))
        }
        if folder.refused > 0 {
            findings.append(
                DoctorFinding(
                    .folders, "refused", .warning, subject: folder.id,
                    "\(folder.id): \(Words.count(folder.refused, "change")) by read-only devices refused.",
                    why: "Those devices have other versions than all others.", remedy: "Accept or revert them.",
                    command: "\(program) refused list \(id)"))
        }
        if let scrub = folder.scrub, scrub.damaged > 0 {
            findings.append(
                DoctorFinding(
                    .folders, "damage", .problem, subject: folder.id,
                    "\(folder.id): \(Words.count(scrub.damaged, "file")) damaged on this disk.",
                    why: "The disk returns other bytes than were written.",
                    remedy: "Repair them with blocks of other devices, and check the disk.",
                    command: "\(program) scrub --repair \(ShellWord.quoted(folder.id + ":"))"))
        }
        if let conflicts = folder.conflicts, conflicts > 0 {
            findings.append(
                DoctorFinding(
                    .folders, "conflicts", .note, subject: folder.id,
                    "\(folder.id): \(Words.count(conflicts, "conflict")).",
                    why: "Two devices changed the same file; both versions are kept.",
                    remedy: "Choose the version to keep.",
                    command: "\(program) conflicts list \(id)"))
        }
        findings += folder.hints.map { hint in
            DoctorFinding(
                .folders, "ignore-lines", .note, subject: folder.id + ": " + hint,
                Words.sentence("\(folder.id): \(hint)"))
        }
        return findings
    }
}
