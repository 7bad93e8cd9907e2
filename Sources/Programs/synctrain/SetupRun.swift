import Arithmetic
import ControlAPI
import Phrases
import Synchronization
import Trimming

/// What is said while `setup` waits.
struct SetupNotice: Encodable, Equatable, Sendable {
    var text: String
}

/// `setup` while it runs: asks, waits and does, step by step. What was done before is not asked for again, so that a setup
/// that was interrupted goes on where it was.
struct SetupRun: Sendable {
    /// What was given on the command line, instead of answers.
    struct Given: Sendable {
        var initialisation: CommandEnvironment.Initialisation
        /// The code of an invitation.
        var invitation: String?
        /// Ids of devices.
        var devices: [String] = []
        /// Of the first of them.
        var addresses: [String] = []
        /// Where offered folders go, each in a directory of its own; nil to be asked.
        var parent: String?
        /// Paths below a folder's root that are selected in every folder that is added.
        var selected: [String] = []
    }

    let context: CommandContext
    let given: Given

    private var style: Style { Style(hasColor: false, escapesNames: true, width: context.terminal.width) }

    func run() async throws {
        try await makeIdentity()
        try await startAgent()
        let agent = try context.agent()
        if let invitation = given.invitation { try await join(invitation, agent) }
        try await meetDevices(agent)
        let added = try await takeFolders(agent)
        try await select(agent, in: added)
        try await finish(agent, added)
        try await checkOutcome(agent)
    }

    /// A script is told if what it asked for was not to be had; a person has seen it, and may have gone on.
    private func checkOutcome(_ agent: any AgentControl) async throws {
        guard !context.asks else { return }
        let status = try await agent.call(Endpoints.status)
        guard given.devices.isEmpty || status.devices.contains(where: StatusRendering.isConnected) else {
            throw ControlError(
                .timeout,
                "The setup is not finished: no device is connected. `synctrain setup` goes on where it was.",
                isRetryable: true)
        }
        guard given.selected.isEmpty || !status.folders.isEmpty else {
            throw ControlError(
                .timeout,
                "The setup is not finished: no device offers a folder. `synctrain setup` goes on where it was.",
                isRetryable: true)
        }
    }

    // MARK: asking

    private func say(_ text: String) throws { try context.process.errors.print(text) }

    /// The answer of the user; `fallback` where it is empty or nobody is asked.
    private func ask(_ question: String, default fallback: String) async throws -> String {
        guard context.asks else { return fallback }
        context.terminal.discardInput()
        try context.process.errors.write(fallback.isEmpty ? "\(question): " : "\(question) [\(fallback)]: ")
        guard let line = try await context.terminal.nextLine() else {
            throw ControlError(
                .confirmationNeeded,
                "The setup is not finished: the input ended. `synctrain setup` goes on where it was.")
        }
        let answer = line.trimmed
        return answer.isEmpty ? fallback : answer
    }

    private func agrees(_ question: String) async throws -> Bool {
        guard context.asks else { return true }
        return !Word.isNo(try await ask(question + translated(" [Y/n]"), default: ""))
    }

    /// Looks at the status until `judge` gives nil, and says what it gives. The user may go on before, with Enter.
    ///
    /// - Parameter isDrawn: whether it is shown in one line that is drawn over, because it changes all the time.
    /// - Returns: whether what is waited for has come.
    private func wait(
        _ agent: any AgentControl, isDrawn: Bool = false,
        _ judge: @escaping @Sendable (AgentStatus) async throws -> String?
    ) async throws -> Bool {
        let hasCome = Mutex(false)
        let deadline = context.asks ? nil : context.environment.scriptPatience.map { ContinuousClock.now + $0 }
        let line = ProgressLine(
            errors: context.process.errors,
            isShown: isDrawn && context.terminal.hasProgress(variables: context.process.variables),
            width: context.terminal.width)
        defer { try? line.clear() }
        var hasHint = !context.asks
        let conversation = Conversation<SetupNotice>(context: context, readsInput: context.asks)
        try await conversation.run({ emit in
            let last = Mutex("")
            _ = try await StatusWatch(agent: agent).first(until: deadline) { status in
                guard let text = try await judge(status) else {
                    hasCome.withLock { $0 = true }
                    return true
                }
                let isNew = last.withLock { last in
                    defer { last = text }
                    return last != text
                }
                if isNew { try await emit(SetupNotice(text: text)) }
                return nil
            }
        }) { utterance in
            switch utterance {
            case .notice(let notice):
                if !isDrawn { try say(notice.text) }
                if !hasHint { try say(translated("(Enter: go on without waiting)")) }
                hasHint = true
                if isDrawn { try line.show(text: notice.text) }
                return .goOn
            case .line, .inputEnded: return .end
            }
        }
        return hasCome.withLock { $0 }
    }

    // MARK: this device

    private func makeIdentity() async throws {
        let places = try context.places()
        guard try !context.environment.isSetUp(places) else { return }
        try say(
            translated("This device gets an identity: a key that stays here, and an id that other devices know it by."))
        var initialisation = given.initialisation
        if initialisation.name == nil {
            initialisation.name = try await ask(
                translated("Name of this device"), default: context.environment.hostName())
        }
        let made = try context.environment.initialise(places, initialisation)
        try say(translated("Its id is\n    \(made.device)"))
        if made.usesPublicServers { try say(InitCommand.publicServers(context.program)) }
    }

    private func startAgent() async throws {
        let places = try context.places()
        let agent = context.environment.connect(places)
        guard
            try await !AgentProcess.isAnswering(
                agent, until: .now + .seconds(30), AgentProcess.silent(places))
        else { return }
        let variables = context.process.variables
        if UserService.isAvailable(variables), try await agrees(translated("Start the agent now and at every login?")) {
            let unit = try SystemdUnit(places)
            do {
                try await UserService.enable(unit, variables)
                try await AgentProcess.waitUntilAnswering(
                    places, connect: context.environment.connect, timeout: .seconds(30))
                return try say(translated("The agent runs as the systemd user unit \(SystemdUnit.name)."))
            } catch let error as ControlError {
                try say(translated("\(error.shown) The agent is started in the background instead."))
            }
        }
        try await AgentProcess.start(places, connect: context.environment.connect, timeout: .seconds(30))
        try say(translated("The agent runs in the background. Log: \(places.logFile)"))
    }

    // MARK: devices

    private func meetDevices(_ agent: any AgentControl) async throws {
        var status = try await agent.call(Endpoints.status)
        for (index, id) in given.devices.enumerated() {
            try await add(id, addresses: index == 0 ? given.addresses : [], agent)
        }
        if given.devices.isEmpty, status.devices.isEmpty, context.asks {
            try await findDevice(agent, own: status.device)
        }
        status = try await agent.call(Endpoints.status)
        guard !status.devices.isEmpty else {
            return try say(
                translated("No device is known yet. Add one later: `synctrain pair` or `synctrain device add`."))
        }
        guard !status.devices.contains(where: { $0.isConnected && $0.acceptance == .given }) else { return }
        let id = status.devices[0].id
        if try await wait(agent, { SetupMeeting.waitingFor($0, device: id) }) {
            let name = try await agent.call(Endpoints.status).devices.first { $0.id == id }?.name ?? ""
            try say(translated("Connected to \(style.name(name.isEmpty ? StatusRendering.short(id) : name))."))
        }
    }

    private func findDevice(_ agent: any AgentControl, own: String) async throws {
        while true {
            let nearby = try await agent.call(Endpoints.nearby).devices
            let pending = try await agent.call(Endpoints.pending).devices.map {
                NearbyEntry(device: $0.id, name: $0.name, address: $0.address, transport: "tcp")
            }
            let all =
                pending
                + nearby.filter { entry in !pending.contains { $0.device == entry.device && entry.device != nil } }
            try say(all.isEmpty ? translated("No devices are seen nearby yet.") : translated("Devices nearby:"))
            for line in SetupDevice.list(all, style) { try say(line) }
            let line = try await ask(
                translated(
                    "Number or id of the other device, or an invitation (p: pair by six digits, Enter: search again, -: later)"
                ),
                default: "")
            switch SetupDevice.choose(line, nearby: all, own: own) {
            case .searchAgain: continue
            case .goOn: return
            case .problem(let text): try say(text)
            case .pair(let address):
                do {
                    return try await pair(address, agent)
                } catch let error as ControlError { try say(EscapedName.sentence(error.shown)) }
            case .join(let code):
                do {
                    return try await join(code, agent)
                } catch let error as ControlError { try say(EscapedName.sentence(error.shown)) }
            case .add(let id):
                let seen = all.first { $0.device == id }
                let address =
                    seen == nil
                    ? try await ask(translated("Its address, if it is not found by itself"), default: "dynamic")
                    : "dynamic"
                let name = seen?.name ?? ""
                do {
                    return try await add(
                        id,
                        name: name.isEmpty
                            ? try await ask(translated("A name for it"), default: StatusRendering.short(id)) : name,
                        addresses: [address], agent)
                } catch let error as ControlError
                    where error.code == .invalidRequest || error.code == .invalidConfiguration
                {
                    try say(EscapedName.sentence(error.shown))
                }
            }
        }
    }

    private func add(_ id: String, name: String? = nil, addresses: [String], _ agent: any AgentControl) async throws {
        do {
            try await agent.call(
                Endpoints.addDevice, DeviceSettings(id: id, name: name, addresses: addresses.isEmpty ? nil : addresses))
            try say(translated("Added device \(style.name(name ?? StatusRendering.short(id)))."))
        } catch let error as ControlError where error.code == .alreadyExists {
            // An earlier setup added it.
        }
    }

    /// Takes the folder of an invitation, and with it the device that invites.
    private func join(_ code: String, _ agent: any AgentControl) async throws {
        let parent =
            if let parent = given.parent {
                parent
            } else {
                try await ask(translated("Where to create the folder's directory"), default: "~/Library")
            }
        var request = JoinRequest(
            code: code, directory: context.folderPath(parent), isParent: true, isConfirmed: context.options.yes)
        let answer: JoinAnswer
        do {
            answer = try await agent.call(Endpoints.join, request)
        } catch let error as ControlError where error.code == .confirmationNeeded && context.asks {
            let said = try await ask(EscapedName.escape(error.shown) + translated(" [y/N]"), default: "")
            guard Word.isYes(said) else { throw ControlError(.confirmationNeeded, "Nothing was changed.") }
            request.isConfirmed = true
            answer = try await agent.call(Endpoints.join, request)
        }
        let name = answer.name.isEmpty ? StatusRendering.short(answer.device) : answer.name
        try say(translated("Added device \(style.name(name))."))
        try say(translated("Added folder \(style.name(answer.folder)) in \(style.name(answer.path))."))
    }

    private func pair(_ address: String?, _ agent: any AgentControl) async throws {
        let dialogue = PairDialogue(
            judge: .person, isNearby: false,
            isLarge: context.terminal.isErrorTTY && context.terminal.width >= LargeDigits.width,
            isDialling: address != nil)
        var run = PairRun(context: context, agent: agent, dialogue: dialogue)
        try await run.run(PairRequest(address: address))
    }

    // MARK: folders

    /// Takes what devices offer; gives the ids of the folders that there are then.
    private func takeFolders(_ agent: any AgentControl) async throws -> [String] {
        var status = try await agent.call(Endpoints.status)
        var offers = try await agent.call(Endpoints.pending).folders
        if offers.isEmpty, status.folders.isEmpty, status.devices.contains(where: \.isConnected) {
            _ = try await wait(agent) { status in
                try await agent.call(Endpoints.pending).folders.isEmpty ? SetupMeeting.waitingForFolders(status) : nil
            }
            offers = try await agent.call(Endpoints.pending).folders
        }
        let ids = offers.map(\.id)
        offers = offers.enumerated().filter { !ids[..<$0.offset].contains($0.element.id) }.map(\.element)
        if !offers.isEmpty {
            try say(translated("Folders that devices offer; their files are downloaded only when you select them:"))
            let rows = offers.enumerated().map { index, offer in
                [
                    "\(index + 1)", style.name(offer.label.isEmpty ? offer.id : offer.label), style.name(offer.id),
                    name(of: offer.device, status),
                ]
            }
            for line in Table.lines(rows, width: style.width) { try say(line) }
            for index in try await numbers(
                translated("Which ones? (1 3-4, a: all, -: none)"), of: offers.count, default: "a")
            {
                try await take(offers[index], agent)
            }
        }
        status = try await agent.call(Endpoints.status)
        return status.folders.map(\.id)
    }

    private func name(of id: String, _ status: AgentStatus) -> String {
        let name = status.devices.first { $0.id == id }?.name ?? ""
        return style.name(name.isEmpty ? StatusRendering.short(id) : name)
    }

    private func numbers(_ question: String, of count: Int, default fallback: String) async throws -> [Int] {
        while true {
            let line = try await ask(question, default: fallback)
            if let chosen = NumberChoice.parse(line, count: count) { return chosen }
            try say(
                translated(
                    "\"\(EscapedName.escape(String(line.prefix(80))))\" is not in the list. Type numbers, a or -."))
            guard context.asks else { return [] }
        }
    }

    private func take(_ offer: PendingFolder, _ agent: any AgentControl) async throws {
        let label = offer.label.isEmpty ? offer.id : offer.label
        let proposal = TargetPath.proposal(label: offer.label, id: offer.id)
        let parent = given.parent.map { context.folderPath($0) }
        let fallback =
            parent.map { proposal.replacing("~/Library/", with: $0.hasSuffix("/") ? $0 : $0 + "/") } ?? proposal
        while true {
            let path =
                parent == nil
                ? try await ask(translated("Directory for \(style.name(label))"), default: fallback) : fallback
            do {
                try await agent.call(
                    Endpoints.addFolder,
                    FolderSettings(
                        id: offer.id, label: offer.label.isEmpty ? nil : offer.label, path: context.folderPath(path),
                        devices: [offer.device]))
                return try say(translated("Added folder \(style.name(offer.id)) in \(style.name(path))."))
            } catch let error as ControlError {
                guard context.asks, parent == nil else { throw error }
                try say(EscapedName.sentence(error.shown))
            }
        }
    }

    // MARK: selection

    private func select(_ agent: any AgentControl, in folders: [String]) async throws {
        let ready = try await agent.call(Endpoints.ready, ReadyQuery()).folders
        let bare = folders.filter { id in ready.first { $0.id == id }?.selectedFiles ?? 0 == 0 }
        for id in bare where try await hasIndex(id, agent) { try await choose(in: id, agent) }
    }

    /// Waits for the list of files, which comes from the devices; false if the user does not want to.
    private func hasIndex(_ id: String, _ agent: any AgentControl) async throws -> Bool {
        guard try await agent.call(Endpoints.status).devices.contains(where: \.isConnected) else { return false }
        let last = Mutex<FolderStatus.Totals?>(nil)
        return try await wait(agent) { status in
            guard let folder = status.folders.first(where: { $0.id == id }) else { return nil }
            let isSettled = last.withLock { last in
                defer { last = folder.global }
                return last == folder.global
            }
            if folder.global.files > 0, isSettled, folder.condition.isAtRest { return nil }
            return folder.global.files > 0
                ? translated("Receiving the list of files of \(EscapedName.escape(id)).")
                : translated("Waiting for the list of files of \(EscapedName.escape(id)).")
        }
    }

    private func choose(in id: String, _ agent: any AgentControl) async throws {
        guard let folder = try await agent.call(Endpoints.status).folders.first(where: { $0.id == id }),
            folder.mode == "selective", folder.global.files > 0
        else { return }
        let found = Mutex<[Entry]>([])
        try await agent.call(Endpoints.list, ListQuery(path: context.path(id + ":"), isRecursive: false)) { entry in
            found.withLock { $0.append(entry) }
        }
        let selection = SetupSelection(folder: folder, entries: found.withLock { $0 })
        let free = context.environment.freeBytes(folder.path)
        for line in selection.lines(style, free: free) { try say(line) }
        guard context.asks else {
            let paths = given.selected.map { "\(id):\($0)" }
            return paths.isEmpty ? () : try await keep(paths, agent)
        }
        while true {
            let chosen = try await numbers(
                translated("Keep which directories here? (1 3-4, a: all, -: none yet)"),
                of: selection.directories.count,
                default: "-")
            guard !chosen.isEmpty else {
                return try say(
                    translated(
                        "Nothing is selected yet: `synctrain select \(ShellWord.quoted(id + ":PATH"))` does it later."))
            }
            let paths = selection.paths(chosen)
            let short = try await plan(paths, agent)
            if let short {
                try say(
                    translated("That does not fit: \(Quantity.size(short)) more are needed on this disk. Choose fewer.")
                )
                continue
            }
            return try await keep(paths, agent)
        }
    }

    /// By how much a selection does not fit; nil if it does.
    private func plan(_ paths: [String], _ agent: any AgentControl) async throws -> Int64? {
        let change = SelectionChange(paths: paths.map(context.path), isSelecting: true, isDryRun: true)
        return try await agent.call(Endpoints.select, change).folders.compactMap(\.short).max()
    }

    private func keep(_ paths: [String], _ agent: any AgentControl) async throws {
        let change = SelectionChange(paths: paths.map(context.path), isSelecting: true, isDryRun: false)
        let cost = try await agent.call(Endpoints.select, change).folders.map(\.cost)
        let files = cost.reduce(Int64(0)) { $0.addingClamped($1.fetchFiles) }
        let bytes = cost.reduce(Int64(0)) { $0.addingClamped($1.fetchBytes) }
        try say(translated("Selected: \(Quantity.files(files)), \(Quantity.size(bytes)) to download."))
    }

    // MARK: the end

    private func finish(_ agent: any AgentControl, _ folders: [String]) async throws {
        @Sendable func missing() async throws -> [ReadyAnswer.Folder] {
            try await agent.call(Endpoints.ready, ReadyQuery()).folders.filter {
                folders.contains($0.id) && !$0.isReady && $0.selectedFiles > 0
            }
        }
        if try await !missing().isEmpty {
            let rendering = ReadyRendering(style: style, by: nil)
            try say(translated("Downloading what is selected."))
            _ = try await wait(agent, isDrawn: true) { _ in
                let missing = try await missing()
                return missing.isEmpty ? nil : missing.flatMap { rendering.lines($0) }.joined(separator: "  ")
            }
        }
        let ready = try await agent.call(Endpoints.ready, ReadyQuery()).folders
        let rendering = ReadyRendering(style: context.style, by: nil)
        for folder in ready { for line in rendering.lines(folder) { try context.output.print(line) } }
        // Before what is said on the other stream.
        try context.output.flush()
        let facts = try await OverviewCommand.facts(context)
        try say(translated("Next"))
        for line in NextStep(facts).lines(style, home: try context.places().home) { try say(line) }
    }
}
