import ControlAPI

/// Findings about the agent as a whole. Pure.
extension AgentFacts {
    /// Clocks that differ by less are as good as the same.
    static let skewLimit: Int64 = 60

    var aboutDatabase: [DoctorFinding] {
        switch database {
        case .sound(let bytes, let schema, let isWhole):
            let extent = isWhole ? "no damage" : "no damage in the part that was checked in time"
            return [
                DoctorFinding(
                    .database, "index", .ok, "The index has \(ByteText.size(bytes)), schema \(schema), \(extent).")
            ]
        case .damaged(let words):
            return [
                DoctorFinding(
                    .database, "index", .problem, "The index is damaged: \(words).",
                    why: "What is synced next may be decided by wrong data.",
                    remedy: "Rebuild it from the other devices; files are not touched.",
                    command: "\(program) reset index")
            ]
        case .unreadable(let message):
            return [
                DoctorFinding(
                    .database, "index", .problem, "The index could not be checked: \(message).",
                    why: "Nothing is synced without it.", remedy: "Remove the cause in the message.")
            ]
        }
    }

    var aboutClock: [DoctorFinding] {
        let off = skews.filter { $0.seconds.magnitude > UInt64(Self.skewLimit) }
        guard !skews.isEmpty else {
            return [
                DoctorFinding(
                    .clock, "clock-skew", .ok,
                    "Not known whether the clock is right: no connected device has told the time.")
            ]
        }
        guard !off.isEmpty else {
            return [DoctorFinding(.clock, "clock-skew", .ok, "The clock agrees with those of the connected devices.")]
        }
        return off.map { skew in
            let amount = Words.duration(skew.seconds.magnitude)
            return DoctorFinding(
                .clock, "clock-skew", .warning, subject: skew.device,
                "The clock of \(name(skew.device)) is \(amount) \(skew.seconds > 0 ? "ahead of" : "behind") this one's.",
                why: "Of two changes made at once the later one counts, by the clocks of the devices.",
                remedy: "Correct the clock that is wrong, with time synchronisation.",
                command: "sudo timedatectl set-ntp true")
        }
    }

    // MARK: network

    var aboutNetwork: [DoctorFinding] {
        var findings: [DoctorFinding] = []
        if status.listening.isEmpty {
            findings.append(
                DoctorFinding(
                    .network, "listening", .warning, "This device does not listen for connections.",
                    why: "Other devices can connect only over a relay or Bluetooth.",
                    remedy: "`listen` and `proxy-only` in config.toml change that."))
        } else {
            findings.append(
                DoctorFinding(.network, "listening", .ok, "Listens on \(status.listening.joined(separator: ", "))."))
        }
        if let http = status.http {
            findings.append(
                status.httpRemark.map { remark in
                    DoctorFinding(
                        .network, "page", .note, Words.sentence(remark),
                        why: "Bookmarks and links that were made before lead to the other program.",
                        remedy: "End that program, or set another port.",
                        command: "\(program) config set http.listen 127.0.0.1:8395")
                } ?? reachedPage(http) ?? DoctorFinding(.network, "page", .ok, "The page is at \(http)."))
        }
        findings += status.problems.filter { !thumbnailProblems.contains($0) }.map { problem in
            DoctorFinding(
                .network, "agent-problem", .warning, subject: problem, Words.sentence(problem),
                why: "A part of the agent does not work.", remedy: "The message says what helps.",
                command: Words.command(in: problem, program: program))
        }
        findings += reach.servers.map(about) + aboutRelays
        if !reach.routers.isEmpty {
            findings.append(
                DoctorFinding(
                    .network, "routers", .ok, "Routers were asked to forward the port.", details: reach.routers))
        }
        return findings
    }

    /// The page, if other machines reach it.
    private func reachedPage(_ http: String) -> DoctorFinding? {
        status.httpFingerprint.map { fingerprint in
            DoctorFinding(
                .network, "page-reached", .note, "Other machines reach the page: \(http), with TLS and the password.",
                why: "Anyone who knows the password can read, change and delete all synced files.",
                remedy: "If only this machine is to reach it, let it listen there alone, and restart the agent.",
                command: "\(program) config set http.listen 127.0.0.1:8394",
                details: ["SHA-256 fingerprint of the certificate: \(fingerprint)"])
        }
    }

    private func about(_ server: ReachReport.Server) -> DoctorFinding {
        guard let problem = server.problem else {
            return DoctorFinding(
                .network, "discovery-server", .ok, subject: server.url, "The discovery server \(server.url) answers.")
        }
        return DoctorFinding(
            .network, "discovery-server", .warning, subject: server.url, "\(server.url): \(Words.ended(problem))",
            why: "Devices elsewhere may not find this one, and it may not find them.",
            remedy: "Check the connection to the Internet; the agent retries automatically.",
            command: "\(program) reach")
    }

    private var aboutRelays: [DoctorFinding] {
        guard !reach.relays.isEmpty else { return [] }
        if let joined = reach.relays.first(where: { $0.state == "joined" }) {
            return [
                DoctorFinding(
                    .network, "relay", .ok,
                    "Devices elsewhere reach this one over the relay \(joined.address ?? joined.source).")
            ]
        }
        return [
            DoctorFinding(
                .network, "relay", .warning, "No relay is joined.",
                why: "Devices elsewhere reach this one only if the router forwards its port.",
                remedy: "Have connected devices test whether the port is reached.", command: "\(program) reach --test",
                details: reach.relays.map { "\($0.address ?? $0.source): \($0.problem ?? $0.state)" })
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
                "\(folder.id): \(watch.state == "partial" ? "not all directories are" : "no directory is") watched"
                    + (watch.message.map { ": \(Words.ended($0))" } ?? "."),
                why: "Changes there are found by the next scan only.",
                remedy: isOverLimit ? "Allow this user more watches." : "The message says what helps.",
                command: isOverLimit
                    ? raise(watched) : watch.message.flatMap { Words.command(in: $0, program: program) })
        }
        guard let inotify else { return findings }
        let share = "\(Words.count(watched, "directory", "directories")) of \(inotify.watches) watched"
        let isNear = watched >= inotify.watches / 100 * Self.watchPercent
        if findings.isEmpty {
            findings.append(
                DoctorFinding(
                    .watching, "inotify-watches", isNear ? .note : .ok, share + ".",
                    why: isNear ? "Beyond the limit, changes are found by the next scan only." : nil,
                    remedy: isNear ? "Allow this user more watches." : nil, command: isNear ? raise(watched) : nil))
        }
        return findings
    }

    private func raise(_ watched: Int64) -> String {
        let wanted = max(524_288, watched < Int64.max / 4 ? watched * 2 : watched)
        return
            "echo fs.inotify.max_user_watches=\(wanted) | sudo tee /etc/sysctl.d/60-synctrain.conf && sudo sysctl --system"
    }

    var aboutBluetooth: [DoctorFinding] {
        guard let radio = status.bluetooth else {
            return [DoctorFinding(.bluetooth, "radio", .ok, "Bluetooth is off in the configuration.")]
        }
        guard let remedy = radio.remedy else {
            return [DoctorFinding(.bluetooth, "radio", .ok, Words.sentence(radio.message))]
        }
        let isUsed = status.devices.contains { $0.addresses.contains { $0.hasPrefix("ble:") } }
        return [
            DoctorFinding(
                .bluetooth, "radio", isUsed ? .warning : .note, Words.sentence(radio.message),
                why: isUsed
                    ? "Devices that are reached over Bluetooth cannot connect."
                    : "Nearby devices cannot be found by radio.",
                remedy: Words.sentence(remedy), command: Words.quotedCommand(in: remedy))
        ]
    }

    var aboutThumbnails: [DoctorFinding] {
        thumbnailProblems.map { problem in
            DoctorFinding(
                .thumbnails, "thumbnail-sandbox", .warning, subject: problem, Words.sentence(problem),
                why: "Pictures or films have no thumbnails.", remedy: "The message says what helps.")
        }
    }
}
