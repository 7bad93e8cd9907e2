import ControlAPI
import Phrases

/// Findings about the agent as a whole. Pure.
extension AgentFacts {
    /// Clocks that differ by less are as good as the same.
    static let skewLimit: Int64 = 60

    var aboutDatabase: [DoctorFinding] {
        switch database {
        case .sound(let bytes, let schema, let isWhole):
            let extent = isWhole ? Phrase("no damage") : Phrase("no damage in the part that was checked in time")
            return [
                DoctorFinding(
                    .database, "index", .ok,
                    Phrase("The index has \(ByteText.size(bytes)), schema \(schema), \(extent)."))
            ]
        case .damaged(let words):
            return [
                DoctorFinding(
                    .database, "index", .problem, Phrase("The index is damaged: \(words)."),
                    why: Phrase("What is synced next may be decided by wrong data."),
                    remedy: Phrase("Rebuild it from the other devices; files are not touched."),
                    command: "\(program) reset index")
            ]
        case .unreadable(let message):
            return [
                DoctorFinding(
                    .database, "index", .problem, Phrase("The index could not be checked: \(message)."),
                    why: Phrase("Nothing is synced without it."), remedy: Phrase("Remove the cause in the message."))
            ]
        }
    }

    var aboutClock: [DoctorFinding] {
        let off = skews.filter { $0.seconds.magnitude > UInt64(Self.skewLimit) }
        guard !skews.isEmpty else {
            return [
                DoctorFinding(
                    .clock, "clock-skew", .ok,
                    Phrase("Not known whether the clock is right: no connected device has told the time."))
            ]
        }
        guard !off.isEmpty else {
            return [
                DoctorFinding(
                    .clock, "clock-skew", .ok, Phrase("The clock agrees with those of the connected devices."))
            ]
        }
        return off.map { skew in
            let amount = Words.duration(skew.seconds.magnitude)
            return DoctorFinding(
                .clock, "clock-skew", .warning, subject: skew.device,
                skew.seconds > 0
                    ? Phrase("The clock of \(name(skew.device)) is \(amount) ahead of this one's.")
                    : Phrase("The clock of \(name(skew.device)) is \(amount) behind this one's."),
                why: Phrase("Of two changes made at once the later one counts, by the clocks of the devices."),
                remedy: Phrase("Correct the clock that is wrong, with time synchronisation."),
                command: "sudo timedatectl set-ntp true")
        }
    }

    // MARK: network

    var aboutNetwork: [DoctorFinding] {
        var findings: [DoctorFinding] = []
        if status.listening.isEmpty {
            findings.append(
                DoctorFinding(
                    .network, "listening", .warning, Phrase("This device does not listen for connections."),
                    why: Phrase("Other devices can connect only over a relay or Bluetooth."),
                    remedy: Phrase("`listen` and `proxy-only` in config.toml change that.")))
        } else {
            findings.append(
                DoctorFinding(
                    .network, "listening", .ok, Phrase("Listens on \(status.listening.joined(separator: ", ")).")))
        }
        if let http = status.http {
            findings.append(
                status.httpRemarkPhrase.map { remark in
                    DoctorFinding(
                        .network, "page", .note, remark.sentence,
                        why: Phrase("Bookmarks and links that were made before lead to the other program."),
                        remedy: Phrase("End that program, or set another port."),
                        command: "\(program) config set http.listen 127.0.0.1:8395")
                } ?? reachedPage(http) ?? DoctorFinding(.network, "page", .ok, Phrase("The page is at \(http).")))
        }
        findings += status.problemPhrases.filter { !thumbnailProblems.contains($0.english) }.map { problem in
            DoctorFinding(
                .network, "agent-problem", .warning, subject: problem.english, problem.sentence,
                why: Phrase("A part of the agent does not work."), remedy: Phrase("The message says what helps."))
        }
        findings += reach.servers.map(about) + aboutRelays
        if !reach.routers.isEmpty {
            findings.append(
                DoctorFinding(
                    .network, "routers", .ok, Phrase("Routers were asked to forward the port."),
                    details: reach.routers.map { "\($0)" }))
        }
        return findings
    }

    /// The page, if other machines reach it.
    private func reachedPage(_ http: String) -> DoctorFinding? {
        status.httpFingerprint.map { fingerprint in
            DoctorFinding(
                .network, "page-reached", .note,
                Phrase("Other machines reach the page: \(http), with TLS and the password."),
                why: Phrase("Anyone who knows the password can read, change and delete all synced files."),
                remedy: Phrase(
                    "If only this machine is to reach it, let it listen there alone, and restart the agent."),
                command: "\(program) config set http.listen 127.0.0.1:8394",
                details: [Phrase("SHA-256 fingerprint of the certificate: \(fingerprint)")])
        }
    }

    private func about(_ server: ReachReport.Server) -> DoctorFinding {
        guard let problem = server.problemPhrase else {
            return DoctorFinding(
                .network, "discovery-server", .ok, subject: server.url,
                Phrase("The discovery server \(server.url) answers."))
        }
        return DoctorFinding(
            .network, "discovery-server", .warning, subject: server.url, "\(server.url): \(problem.ended)",
            why: Phrase("Devices elsewhere may not find this one, and it may not find them."),
            remedy: Phrase("Check the connection to the Internet; the agent retries automatically."),
            command: "\(program) reach")
    }

    private var aboutRelays: [DoctorFinding] {
        guard !reach.relays.isEmpty else { return [] }
        if let joined = reach.relays.first(where: { $0.state == "joined" }) {
            return [
                DoctorFinding(
                    .network, "relay", .ok,
                    Phrase("Devices elsewhere reach this one over the relay \(joined.address ?? joined.source)."))
            ]
        }
        return [
            DoctorFinding(
                .network, "relay", .warning, Phrase("No relay is joined."),
                why: Phrase("Devices elsewhere reach this one only if the router forwards its port."),
                remedy: Phrase("Have connected devices test whether the port is reached."),
                command: "\(program) reach --test",
                details: reach.relays.map { "\($0.address ?? $0.source): \($0.problemPhrase ?? "\($0.state)")" })
        ]
    }

    // MARK: watching, Bluetooth, thumbnails

    /// Watched directories are at most this part of what the user may watch, in percent, before it is worth knowing.
    private static let watchPercent: Int64 = 80

    var aboutWatching: [DoctorFinding] {
        let watches = status.folders.compactMap(\.watch)
        guard !watches.isEmpty else { return [] }
        let watched = watches.reduce(0) { $0 + $1.watched }
        var findings = status.folders.compactMap { folder -> DoctorFinding? in
            guard let watch = folder.watch, ["partial", "failed"].contains(watch.state) else { return nil }
            let isOverLimit = inotify.map { watched >= $0.watches / 100 * Self.watchPercent } ?? false
            return DoctorFinding(
                .watching, "watching", .warning, subject: folder.id,
                unwatched(watch, folder.id),
                why: Phrase("Changes there are found by the next scan only."),
                remedy: isOverLimit ? Phrase("Allow this user more watches.") : Phrase("The message says what helps."),
                command: isOverLimit ? raise(watched) : nil)
        }
        guard let inotify else { return findings }
        let share = Phrase(
            watched, one: "\(watched) directory of \(inotify.watches) watched.",
            many: "\(watched) directories of \(inotify.watches) watched.")
        let isNear = watched >= inotify.watches / 100 * Self.watchPercent
        if findings.isEmpty {
            findings.append(
                DoctorFinding(
                    .watching, "inotify-watches", isNear ? .note : .ok, share,
                    why: isNear ? Phrase("Beyond the limit, changes are found by the next scan only.") : nil,
                    remedy: isNear ? Phrase("Allow this user more watches.") : nil,
                    command: isNear ? raise(watched) : nil))
        }
        return findings
    }

    private func unwatched(_ watch: FolderStatus.Watch, _ folder: String) -> Phrase {
        let isPartial = watch.state == "partial"
        guard let why = watch.phrase else {
            return isPartial
                ? Phrase("\(folder): not all directories are watched.") : Phrase("\(folder): no directory is watched.")
        }
        return isPartial
            ? Phrase("\(folder): not all directories are watched: \(why.ended)")
            : Phrase("\(folder): no directory is watched: \(why.ended)")
    }

    private func raise(_ watched: Int64) -> String {
        let wanted = max(524_288, watched < Int64.max / 4 ? watched * 2 : watched)
        return
            "echo fs.inotify.max_user_watches=\(wanted) | sudo tee /etc/sysctl.d/60-synctrain.conf && sudo sysctl --system"
    }

    var aboutBluetooth: [DoctorFinding] {
        guard let radio = status.bluetooth else {
            return [DoctorFinding(.bluetooth, "radio", .ok, Phrase("Bluetooth is off in the configuration."))]
        }
        guard let remedy = radio.remedyPhrase else {
            return [DoctorFinding(.bluetooth, "radio", .ok, radio.phrase.sentence)]
        }
        let isUsed = status.devices.contains { $0.addresses.contains { $0.hasPrefix("ble:") } }
        return [
            DoctorFinding(
                .bluetooth, "radio", isUsed ? .warning : .note, radio.phrase.sentence,
                why: isUsed
                    ? Phrase("Devices that are reached over Bluetooth cannot connect.")
                    : Phrase("Nearby devices cannot be found by radio."),
                remedy: remedy.sentence, command: radio.command)
        ]
    }

    var aboutThumbnails: [DoctorFinding] {
        thumbnailProblems.map { problem in
            DoctorFinding(
                .thumbnails, "thumbnail-sandbox", .warning, subject: problem, Phrase("\(problem)").sentence,
                why: Phrase("Pictures or films have no thumbnails."), remedy: Phrase("The message says what helps."))
        }
    }

    // MARK: mounts

    /// The codes of what is found of mounts that there are, and not of whether there can be any.
    package static let mountCodes: Set = ["mount-answers", "mount-problem"]

    /// The finding for a mount that does not answer. The agent uses it, and the command line for mounts in the system's list.
    package static func unanswered(folder: String, directory: String, program: String) -> DoctorFinding {
        DoctorFinding(
            .mount, "mount-answers", .warning, subject: directory,
            Phrase("\(folder): the mount on \(directory) does not answer."),
            why: Phrase("Its process has ended or is stopped: programs that use the directory fail or wait."),
            remedy: Phrase("Unmount it, then mount it again."),
            command: "\(program) unmount --lazy \(ShellWord.quoted(directory))")
    }

    /// The finding for an agent that answers nothing. The command line uses it.
    ///
    /// - Parameters:
    ///   - process: nil if it is not known.
    ///   - isStopped: by a signal, as by Ctrl-Z.
    package static func silent(process: Int32?, isStopped: Bool, program: String) -> DoctorFinding {
        let why = Phrase("Nothing is synced, and every command waits.")
        if let process, isStopped {
            return DoctorFinding(
                .agent, "agent", .problem, Phrase("The agent (process \(process)) is stopped, for example by Ctrl-Z."),
                why: why,
                remedy: Phrase("Let it continue."), command: "kill -CONT \(process)")
        }
        return DoctorFinding(
            .agent, "agent", .problem, Phrase("The agent does not answer."), why: why,
            remedy: Phrase(
                "Look into its log. If it does not help to wait, kill its process and start the agent again."),
            command: process.map { "kill -KILL \($0)" } ?? "\(program) logs")
    }

    var aboutMounts: [DoctorFinding] {
        (status.mounts ?? []).compactMap { mount in
            if mount.state == "not-answering" {
                return Self.unanswered(folder: mount.folder, directory: mount.directory, program: program)
            }
            return mount.problem.map { problem in
                DoctorFinding(
                    .mount, "mount-problem", .warning, subject: mount.directory,
                    Phrase("\(mount.folder): \(problem.text.ended)"),
                    why: Phrase("The mount is not as the configuration has it."),
                    remedy: Phrase("The message says what helps."))
            }
        }
    }
}
