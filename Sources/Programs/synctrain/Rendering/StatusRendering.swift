import ControlAPI
import Phrases

/// The agent's state in tables.
struct StatusRendering: Sendable {
    var style: Style
    /// How the program is called in commands that are proposed.
    var program = "synctrain"
    /// Whether an agent says it; else counts and connections are not known.
    var isFromAgent = true

    /// - Parameter pending: pending devices and folders; the status only counts them.
    func lines(_ status: AgentStatus, pending: PendingList? = nil) -> [String] {
        let isNarrow = NarrowText.isNeeded(style.width)
        var rows = [
            [
                translated("device"),
                isNarrow
                    ? "\(style.name(status.name)) (\(Self.short(status.device)))"
                    : "\(status.device) (\(style.name(status.name)))",
            ],
            [translated("agent"), translated("\(status.version), since \(Timestamp.local(status.startedAt))")],
            [
                translated("listening"),
                status.listening.isEmpty ? translated("on nothing") : status.listening.joined(separator: " "),
            ],
        ]
        if let http = status.http { rows.append([translated("page"), http]) }
        var lines =
            isNarrow
            ? NarrowText.pairs(rows.map { (key: $0[0], value: $0[1]) }, width: style.width ?? NarrowText.limit)
            : Table.lines(rows)
        if let fingerprint = status.httpFingerprint {
            lines.append(translated("certificate of the page: SHA-256 \(fingerprint)"))
        }
        if let remark = status.httpRemarkPhrase { lines.append(translated("page: \(style.name(remark.shown))")) }
        if let bluetooth = status.bluetooth {
            let text = [bluetooth.phrase, bluetooth.remedyPhrase].compactMap { $0?.shown }.joined(separator: " ")
            lines.append(translated("bluetooth: \(style.name(text))"))
        }
        if let policies = status.policies {
            lines += PolicyRendering(style: style).holds(policies).map { translated("policy: \($0)") }
        }
        lines += status.problemPhrases.map { translated("problem: \(style.name($0.shown))") }
        let waiting = pending.map { PendingRendering(style, program: program, known: status.devices).lines($0) } ?? []
        if !waiting.isEmpty { lines += ["", style.heading(translated("Pending"))] + waiting }
        lines += ["", style.heading(translated("Folders"))]
        lines +=
            status.folders.isEmpty ? [translated("none; add one with `synctrain folder add`")] : folders(status.folders)
        lines += ["", style.heading(translated("Devices"))]
        lines +=
            status.devices.isEmpty ? [translated("none; add one with `synctrain device add`")] : devices(status.devices)
        if let mounts = status.mounts, !mounts.isEmpty {
            lines += ["", style.heading(translated("Mounts"))]
            lines += MountRendering(style: style).lines(mounts)
        }
        if !status.transfers.isEmpty {
            lines += ["", style.heading(translated("Transfers"))]
            lines += transfers(status.transfers, status.devices)
        }
        return fitted(lines)
    }

    /// Lines that are longer than a narrow terminal is wide, broken between words.
    private func fitted(_ lines: [String]) -> [String] {
        guard let width = style.width, NarrowText.isNeeded(width) else { return lines }
        return lines.flatMap { NarrowText.wrapped($0, to: width) }
    }

    func folders(_ folders: [FolderStatus]) -> [String] {
        let heading = [
            translated("folder"), translated("state"), translated("mode"), translated("global"), translated("here"),
            translated("needs"), translated("path"),
        ]
        let rows = folders.map { folder in
            [
                style.name(folder.id), Word.shown(folder.state), Word.shown(folder.mode),
                known(totals(folder.global) + (folder.isIncomplete ? translated(" (incomplete)") : "")),
                known(totals(folder.local)), known(needs(folder)), style.name(folder.path),
            ]
        }
        var lines = Table.fitting([heading] + rows, width: style.width)
        for folder in folders {
            let name = style.name(folder.id)
            lines += remarks(folder).map { "\(name): \($0)" }
            lines += folder.problems.map {
                "  \(style.name("\(folder.id):\($0.path)")): \(style.name($0.phrase.shown))"
            }
            let rest = folder.errors - Int64(folder.problems.count)
            if !folder.problems.isEmpty, rest > 0 {
                lines.append(translated("  and \(Quantity.names(rest)) more"))
            }
        }
        return fitted(lines)
    }

    private func known(_ text: String) -> String { isFromAgent ? text : "-" }

    /// What the folder's row has no column for.
    private func remarks(_ folder: FolderStatus) -> [String] {
        var remarks: [String] = []
        if let text = folder.text { remarks.append(style.name(text.shown)) }
        if folder.condition.isHalted { remarks += remedies(folder) }
        remarks += waits(folder)
        if let progress = folder.progress { remarks.append("\(Word.shown(folder.state)) \(text(progress))") }
        if let waiting = folder.waiting {
            let isForNetwork = ["bluetooth", nil].contains(waiting.reason)
            let what = "\(Quantity.files(waiting.files)), \(Quantity.size(waiting.bytes)), "
            let how =
                isForNetwork
                ? translated("waiting for a network")
                : waiting.files == 1 ? translated("waits", context: "one file") : translated("wait", context: "files")
            remarks.append("\(what)\(how): \(style.name(waiting.phrase.shown))")
        }
        if let watch = folder.watch, !["watching", "off", "starting"].contains(watch.state) {
            let why = watch.phrase.map { ": \(style.name($0.shown))" } ?? ""
            remarks.append(
                watch.state == "partial"
                    ? translated("watching a part\(why)") : translated("watching \(Word.shown(watch.state))\(why)"))
        }
        if folder.refused > 0 {
            remarks.append(
                translated(
                    "\(Quantity.changes(folder.refused)) by read-only devices refused; "
                        + "`synctrain refused list` shows them"))
        }
        if let scrub = folder.scrub, let ended = scrub.ended {
            let result =
                scrub.damaged == 0 ? translated("no damage") : Quantity.damagedFiles(scrub.damaged)
            remarks.append(translated("scrubbed \(Timestamp.local(ended)), \(Quantity.size(scrub.bytes)), \(result)"))
        }
        if folder.scrub?.isRunning == true { remarks.append(translated("scrub running")) }
        let counts = [
            (folder.conflicts ?? 0, Quantity.conflicts(folder.conflicts ?? 0)),
            (folder.errors, Quantity.errors(folder.errors)),
            (folder.extraneous ?? 0, Quantity.extraneousFiles(folder.extraneous ?? 0)),
        ].filter { $0.0 > 0 }.map(\.1)
        if !counts.isEmpty { remarks.append(counts.joined(separator: ", ")) }
        remarks += folder.hintTexts.map { translated("hint: \(style.name(translated("\($0)")))") }
        return remarks
    }

    /// What is needed, and whether what is here is all there is.
    private func needs(_ folder: FolderStatus) -> String {
        let need = Quantity.need(folder.need)
        if folder.condition == .syncing, folder.need.isZero { return translated("counting") }
        return switch folder.copy {
        case .complete where folder.need.isZero: translated("up to date (full copy)")
        case .selected where folder.need.isZero: translated("up to date")
        case .partial where folder.need.isZero: translated("incomplete")
        case .unknown where folder.need.isZero: translated("unknown")
        default: need
        }
    }

    /// What it waits for, each with what ends that, so far as other remarks do not say it.
    private func waits(_ folder: FolderStatus) -> [String] {
        folder.waits.compactMap { wait in
            switch wait.reason {
            case .halted where folder.condition.isHalted: nil
            case .policy, .problems: nil
            case .halted, .space: style.name(wait.shownRemedy)
            case .unshared: translated("not shared: \(style.name(wait.shownRemedy))")
            case .paused, .notTaken, .notSent, .refusedThere:
                "\(style.name(wait.shown)); \(style.name(wait.shownRemedy))"
            default: translated("waits: \(style.name(wait.shown)); \(style.name(wait.shownRemedy))")
            }
        }
    }

    /// The commands that let a halted folder go on.
    private func remedies(_ folder: FolderStatus) -> [String] {
        let id = style.name(ShellWord.quoted(folder.id))
        let repair = translated("if it was a mistake, `synctrain folder repair \(id)` restores the files")
        switch folder.condition {
        case .haltedRootEmptied, .haltedMassDelete:
            return [
                translated(
                    "if it was intended, `synctrain folder confirm \(id)` deletes them on the other devices too"),
                repair,
            ]
        // The message of the agent says what to do.
        case _ where folder.text != nil: return []
        default:
            return [translated("if the disk is not mounted, mount it; otherwise run `synctrain folder repair \(id)`")]
        }
    }

    private func text(_ progress: FolderStatus.Progress) -> String {
        let files = progress.filesTotal.map { translated("\(progress.filesDone) of \(Quantity.files($0))") }
        let bytes = progress.bytesTotal.map {
            translated("\(Quantity.size(progress.bytesDone)) of \(Quantity.size($0))")
        }
        return (files ?? Quantity.files(progress.filesDone)) + ", "
            + (bytes ?? Quantity.size(progress.bytesDone))
    }

    func devices(_ devices: [DeviceStatus]) -> [String] {
        let heading = [
            translated("device"), "id", translated("link", context: "connection"), translated("address"),
            translated("last seen"), translated("in", context: "received"), translated("out", context: "sent"),
        ]
        let rows = devices.map { device in
            let isConnected = Self.isConnected(device)
            return [
                device.name.isEmpty ? "-" : style.name(device.name), Self.short(device.id),
                isConnected
                    ? device.transport ?? translated("connected")
                    : device.isPaused ? translated("paused") : known(translated("none")),
                style.name(device.address ?? device.addresses.joined(separator: " ")),
                isConnected ? translated("now") : known(Timestamp.local(device.lastSeen)),
                known(Quantity.size(device.bytesIn)), known(Quantity.size(device.bytesOut)),
            ]
        }
        var lines = Table.fitting(
            [heading] + rows, alignments: [.left, .left, .left, .left, .left, .right, .right],
            width: style.width)
        for device in devices {
            guard let admin = device.introducedBy else { continue }
            let names = [device.id, admin].map { id in
                devices.first { $0.id == id }.map { $0.name.isEmpty ? Self.short(id) : $0.name } ?? Self.short(id)
            }
            lines.append(translated("\(style.name(names[0])): introduced by \(style.name(names[1]))"))
        }
        for device in isFromAgent ? devices : [] {
            guard let remark = Self.isConnected(device) ? Self.detour(device) : Self.remark(device) else { continue }
            lines.append("\(style.name(Self.name(device.name, device.id))): \(style.name(remark))")
        }
        return fitted(lines)
    }

    /// Whether it is connected to stay: one that has not accepted this device is so for a moment, again and again.
    static func isConnected(_ device: DeviceStatus) -> Bool { device.isConnected && device.acceptance != .needed }

    /// The name of a device; the first group of its id if it has none.
    static func name(_ name: String, _ id: String) -> String { name.isEmpty ? short(id) : name }

    /// Why a connected device is not connected directly, and how fast the way is; nil where it is, or nothing better is known.
    static func detour(_ device: DeviceStatus) -> String? {
        guard let transport = device.transport, !transport.hasPrefix("tcp"), let problem = cause(device) else {
            return nil
        }
        let rate = device.ways.first { $0.address == device.address }?.bytesPerSecond
        let way = transport == "relay" ? translated("over a relay") : translated("over \(transport)")
        guard let rate else { return translated("\(way), not directly: \(problem)") }
        return translated("\(way) at \(Quantity.rate(rate)), not directly: \(problem)")
    }

    /// What the last dial that failed came to, or why nothing is dialled, and where to see the others; nil if neither is known.
    private static func cause(_ device: DeviceStatus) -> String? {
        let failed = device.ways.filter { $0.outcome == DeviceWay.failed }
        let untried = device.ways.filter { $0.outcome == DeviceWay.notTried }
        let last = failed.max { ($0.time ?? "") < ($1.time ?? "") } ?? untried.first
        let text = last.map { way in
            let message = way.phrase.map(\.shown) ?? way.outcome
            return message.contains(way.address) ? message : "\(way.address): \(message)"
        }
        guard let problem = isConnected(device) ? text : device.lastErrorPhrase.map(\.shown) ?? text else { return nil }
        let tried = [
            failed.isEmpty ? nil : translated("\(Quantity.addresses(failed.count)) tried"),
            untried.isEmpty ? nil : translated("\(untried.count) not tried"),
        ].compactMap { $0 }
        guard failed.count + untried.count > 1 else { return problem }
        return translated("\(problem) (\(tried.joined(separator: ", ")); `synctrain reach` shows each)")
    }

    /// Why a device is not connected, and what to do.
    static func remark(_ device: DeviceStatus) -> String {
        let reference = ShellWord.quoted(device.name.isEmpty ? device.id : device.name)
        if device.isPaused, let reason = device.pausePhrase {
            return translated("paused: \(reason.shown); `synctrain resume --device \(reference)` resumes it")
        }
        if device.isPaused {
            guard let end = device.pausedUntil else {
                return translated("paused; `synctrain resume --device \(reference)` resumes it")
            }
            return translated(
                "paused until \(Timestamp.local(end)); `synctrain resume --device \(reference)` resumes it")
        }
        if let problem = cause(device) { return problem }
        if device.addresses == ["dynamic"] {
            return
                translated(
                    "not found nearby yet; switch it on, or give its address: `synctrain device add \(device.id) --address "
                        + "tcp://HOST:PORT`")
        }
        return device.addresses.isEmpty
            ? translated("no address configured; waiting for it to dial; switch it on")
            : translated("connecting; check that it is switched on")
    }

    func pending(_ devices: [PendingDevice]) -> [String] {
        Table.fitting(
            [["id", translated("name"), translated("address"), translated("last seen")]]
                + devices.map { [$0.id, style.name($0.name), style.name($0.address), Timestamp.local($0.lastSeen)] },
            width: style.width)
    }

    func pending(_ folders: [PendingFolder]) -> [String] {
        Table.fitting(
            [[translated("folder"), translated("label"), translated("device"), translated("last seen")]]
                + folders.map { [style.name($0.id), style.name($0.label), $0.device, Timestamp.local($0.lastSeen)] },
            width: style.width)
    }

    private func transfers(_ transfers: [TransferStatus], _ devices: [DeviceStatus]) -> [String] {
        let rows = transfers.map { transfer in
            let names = transfer.holders.map { id in devices.first { $0.id == id }?.name ?? Self.short(id) }
            return [
                "\(Quantity.percent(transfer.bytesDone, of: transfer.bytesTotal)) %",
                Quantity.size(transfer.bytesTotal), style.name("\(transfer.folder):\(transfer.path)"),
                names.isEmpty ? "" : translated("from \(style.name(names.joined(separator: ", ")))"),
                pace(transfer),
            ]
        }
        guard NarrowText.isNeeded(style.width) else {
            return Table.lines(rows, alignments: [.right, .right], width: style.width)
        }
        return rows.flatMap { [$0[2], "  " + ($0[..<2] + $0[3...]).filter { !$0.isEmpty }.joined(separator: ", ")] }
    }

    private func pace(_ transfer: TransferStatus) -> String {
        guard let rate = transfer.bytesPerSecond else { return "" }
        let left = transfer.secondsLeft.map { translated(", \(Quantity.duration(seconds: $0)) left") } ?? ""
        return Quantity.rate(rate) + left
    }

    private func totals(_ totals: FolderStatus.Totals) -> String {
        "\(Quantity.files(totals.files)), \(Quantity.size(totals.bytes))"
    }

    /// The first group of a device id, which people know their devices by.
    static func short(_ id: String) -> String { id.split(separator: "-").first.map(String.init) ?? id }
}
