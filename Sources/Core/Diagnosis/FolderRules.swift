import ControlAPI
import Phrases

/// Findings about folders: acceptance on the other side, halts, errors and what waits for a person. Pure.
extension AgentFacts {
    /// Names with errors that are shown.
    private static let nameLimit = 5

    var aboutFolders: [DoctorFinding] {
        guard !status.folders.isEmpty else {
            return [
                DoctorFinding(
                    .folders, "folders", .note, Phrase("There is no folder."), why: Phrase("There is nothing to sync."),
                    remedy: Phrase("Add a folder, or accept one that another device offers."),
                    command: "\(program) folder add ID DIRECTORY --device DEVICE")
            ]
        }
        return status.folders.flatMap { folder in
            let findings = standing(folder) + folder.waits.compactMap { about($0, of: folder) } + decisions(folder)
            let (state, size) = (Words.state(folder), ByteText.size(folder.need.bytes))
            return findings.contains { $0.state != .note } || findings.contains { $0.code == "folder" }
                ? findings
                : findings + [
                    DoctorFinding(
                        .folders, "folder", .ok, subject: folder.id,
                        folder.need.isZero
                            ? Phrase("\(folder.id): \(state), needs nothing.")
                            : Phrase("\(folder.id): \(state), needs \(Words.files(folder.need.files)), \(size).")
                    )
                ]
        }
    }

    private func standing(_ folder: FolderStatus) -> [DoctorFinding] {
        if folder.isIncomplete {
            return [
                DoctorFinding(
                    .folders, "folder", .problem, subject: folder.id,
                    folder.text.map {
                        Phrase("\(folder.id): not all that the devices announced could be stored: \($0.ended)")
                    } ?? Phrase("\(folder.id): not all that the devices announced could be stored."),
                    why: Phrase("Files may be missing in what is shown and synced."),
                    remedy: Phrase("Remove the cause in the message."),
                    command: "\(program) status")
            ]
        }
        guard folder.condition.isFailure else { return [] }
        let wait = folder.waits.first { [.halted, .space].contains($0.reason) }
        return [
            DoctorFinding(
                .folders, "folder", .problem, subject: folder.id,
                folder.text.map { "\(folder.id): \(Words.state(folder)): \($0.ended)" }
                    ?? "\(folder.id): \(Words.state(folder)).",
                why: Phrase("Nothing is synced in it until that is settled."),
                remedy: wait?.remedyText.sentence ?? Phrase("Remove the cause in the message."),
                command: wait?.command.map { Words.command($0, program: program) })
        ]
    }

    private func about(_ wait: FolderWait, of folder: FolderStatus) -> DoctorFinding? {
        let state: DoctorFinding.State
        switch wait.reason {
        case .halted, .space, .problems: return nil
        case .unsharedThere, .encryptedThere: state = .problem
        case .paused, .unshared, .index, .devicePaused, .pausedThere, .holder, .unavailable, .policy, .notTaken,
            .notSent,
            .refusedThere:
            state = .note
        }
        return DoctorFinding(
            .folders, "waits-\(wait.reason.rawValue)", state, subject: folder.id,
            "\(folder.id): \(wait.text.ended)", why: why(wait.reason), remedy: wait.remedyText.sentence,
            command: wait.command.map { Words.command($0, program: program) },
            details: wait.devices.map { "\(name($0)): \($0)" })
    }

    private func why(_ reason: FolderWait.Reason) -> Phrase {
        switch reason {
        case .unsharedThere: Phrase("Both devices have to share a folder before any of it is exchanged.")
        case .encryptedThere: Phrase("Nothing of the folder is exchanged with that device.")
        case .unshared: Phrase("No other device has a copy.")
        case .paused: Phrase("Nothing is synced in it.")
        case .notTaken, .notSent, .refusedThere: Phrase("This device and the others have different files until then.")
        default: Phrase("Until then a part of the folder is missing or old.")
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
                    Phrase("\(folder.id): \(Words.names(folder.errors)) cannot be synced."),
                    why: Phrase("The other devices do not get them, or this one does not."),
                    remedy: Phrase("Each message says what helps; the agent retries automatically."),
                    command: "\(program) status",
                    details: folder.problems.prefix(Self.nameLimit).map { "\($0.path): \($0.phrase)" }))
        }
        if let held = folder.heldDeletions {
            let deletions = Phrase(held.names, one: "\(held.names) deletion", many: "\(held.names) deletions")
            findings.append(
                DoctorFinding(
                    .folders, "held-deletions", .warning, subject: folder.id,
                    Phrase("\(folder.id): \(deletions) to confirm: \(held.phrase.ended)"),
                    why: Phrase("The names stay until somebody decides."),
                    remedy: Phrase("Confirm the deletions if they were intended; otherwise restore the files."),
                    command: "\(program) folder confirm \(id)"))
        }
        if folder.refused > 0 {
            findings.append(
                DoctorFinding(
                    .folders, "refused", .warning, subject: folder.id,
                    Phrase("\(folder.id): \(Words.changes(folder.refused)) by read-only devices refused."),
                    why: Phrase("Those devices have other versions than all others."),
                    remedy: Phrase("Accept or revert them."),
                    command: "\(program) refused list \(id)"))
        }
        if let scrub = folder.scrub, scrub.damaged > 0 {
            findings.append(
                DoctorFinding(
                    .folders, "damage", .problem, subject: folder.id,
                    Phrase("\(folder.id): \(Words.files(scrub.damaged)) damaged on this disk."),
                    why: Phrase("The disk returns other bytes than were written."),
                    remedy: Phrase("Repair them with blocks of other devices, and check the disk."),
                    command: "\(program) scrub --repair \(ShellWord.quoted(folder.id + ":"))"))
        }
        if let conflicts = folder.conflicts, conflicts > 0 {
            findings.append(
                DoctorFinding(
                    .folders, "conflicts", .note, subject: folder.id,
                    Phrase("\(folder.id): \(Words.conflicts(conflicts))."),
                    why: Phrase("Two devices changed the same file; both versions are kept."),
                    remedy: Phrase("Choose the version to keep."),
                    command: "\(program) conflicts list \(id)"))
        }
        findings += folder.hintTexts.map { hint in
            DoctorFinding(
                .folders, "ignore-lines", .note, subject: "\(folder.id): \(hint)",
                Phrase("\(folder.id): \(hint)").sentence)
        }
        return findings
    }
}
