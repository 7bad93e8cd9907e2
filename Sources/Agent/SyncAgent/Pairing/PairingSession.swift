import AsyncTools
import BlockExchange
import ControlAPI
import LinkSecurity
import NIOCore
import Pairing
import Phrases
import Transport

/// One request of the user's to pair: from asking to its end, with the attempts that were made in between, one at a time.
///
/// `run` is the user's side and lives as long as the request; attempts run in tasks of the agent's, so that one whose
/// users have both confirmed is finished although nobody looks any more.
actor PairingSession {
    private struct Attempt {
        var number: Int
        var machine: PairingMachine
        let link: SecureLink
        /// As this side has dialled it.
        var dialled: LinkAddress?
        /// When the phase that it is in is over.
        var phase: PairingMachine.Phase
        var deadline: MonotonicTime
        var hasShownCode = false
        /// What is, or was, stored.
        var device: PairedDevice?
        /// The machine has moved: deadlines are to be looked at.
        let hasMoved = Signal()
    }

    /// How often a device that pairs with another one is dialled again.
    private static let busyRetries = 3
    private static let nearbyInterval: Duration = .milliseconds(500)
    /// How soon a device that was not reached is searched for again, and up to a second more.
    private static let searchInterval: Duration = .seconds(3)

    private let target: PairingTarget?
    private let folders: [FolderID]
    private let limit: Duration
    private let environment: PairingEnvironment
    private let failures: PairingFailures
    /// At most some twenty a session, and one for each change of the list of nearby devices.
    private let news: AsyncStream<PairEvent>
    private let say: AsyncStream<PairEvent>.Continuation
    private var attempt: Attempt?
    private var attemptCount = 0
    private var isOpen = true
    private var isDialling = false
    private var failure: ControlError?
    /// The device that the user has named, which is searched for, and why it was not reached the last time.
    private var searched: DeviceID?
    private var searchProblem: ControlError?
    private var lastOutcome: (number: Int, outcome: PairingOutcome)?

    init(
        target: PairingTarget?, folders: [FolderID], seconds: Int, environment: PairingEnvironment,
        failures: PairingFailures
    ) {
        self.target = target
        searched = if case .device(let device)? = target { device } else { nil }
        self.folders = folders
        limit = .seconds(seconds)
        self.environment = environment
        self.failures = failures
        (news, say) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(256))
    }

    // MARK: the user's side

    /// The first thing to be told.
    func begin(listening: [String]) {
        tell(
            .waiting(
                device: environment.localDevice.description, listening: listening,
                seconds: Int(limit.components.seconds)))
    }

    /// Tells what happens until the pairing is over. Throws `ControlError` if it failed.
    func run(emit: @Sendable (PairEvent) async throws -> Void) async throws {
        do {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try? await self.expire() }
                group.addTask { await self.watchNearby() }
                for source in environment.nearby { group.addTask { await source.lookAround() } }
                defer { group.cancelAll() }
                for await event in news { try await emit(event) }
            }
        } catch {
            await close()
            throw error
        }
        await close()
        try Task.checkCancellation()
        if let failure { throw failure }
    }

    /// Throws `notPairing` or `invalidRequest`.
    func confirm(_ text: String) async throws(ControlError) {
        guard let code = PairingCode(parsing: text) else {
            throw ControlError(.invalidRequest, "A code has six digits.")
        }
        guard let current = attempt, current.machine.codeToConfirm != nil else { throw .notPairingHere }
        await step(current.number) { $0.confirm(code) }
    }

    func refuse() async {
        if let current = attempt { await step(current.number) { $0.refuse() } }
        if attempt == nil { finish(ControlError(PairingFailure(.refusedHere, "pairing was cancelled on this device"))) }
    }

    var status: PairStatus {
        guard let attempt else { return PairStatus(state: isOpen ? .waiting : .idle) }
        let state: PairStatus.State =
            switch attempt.machine.phase {
            case .opening: .opening
            case .comparing: .comparing
            case .closing, .ended: .closing
            }
        return PairStatus(
            state: state, code: attempt.machine.codeToConfirm?.description, device: attempt.link.peer.description)
    }

    private func tell(_ event: PairEvent) {
        say.yield(event)
        environment.events.post("pairing-changed", message: event.type)
    }

    private func finish(_ failure: ControlError?) {
        guard isOpen else { return }
        isOpen = false
        self.failure = failure
        say.finish()
        if let failure { environment.events.post("pairing-changed", message: failure.code.rawValue) }
    }

    /// The user has gone, or knows how it ended. What both have confirmed goes on; anything else ends, and the other device is
    /// told that it was no answer.
    private func close() async {
        finish(nil)
        if let attempt { await step(attempt.number) { $0.interrupt() } }
    }

    private func expire() async throws {
        try await environment.time.clock.sleep(for: limit)
        guard isOpen else { return }
        if let current = attempt {
            guard current.machine.phase == .opening else { return }
            await step(current.number) { $0.expire() }
        }
        finish(searchProblem ?? .pairingTimeout)
    }

    private func watchNearby() async {
        var last: [NearbyEntry] = []
        while !Task.isCancelled, isOpen {
            let entries = environment.nearbyEntries()
            if entries != last { tell(.nearby(entries)) }
            last = entries
            try? await environment.time.clock.sleep(for: Self.nearbyInterval)
        }
    }

    // MARK: attempts

    /// The device that dials first is served, if the user has named no other; all others are told that this one is busy.
    func serve(_ link: SecureLink) async { _ = await attempt(on: link, dialled: nil) }

    /// Dials what the session was made for.
    func dialTarget() async {
        if let target { await dial(target) }
    }

    func dial(_ target: PairingTarget) async {
        switch target {
        case .address(let address): await dial(address)
        case .device(let device): await search(for: device)
        }
    }

    /// Dials a device wherever it is said to be, until it answers or the time is over: it may start to pair later than this one.
    private func search(for device: DeviceID) async {
        guard isOpen else { return }
        searched = device
        guard !environment.scope.isEmpty else {
            // The other device may still dial this one.
            let problem = ControlError.deviceNotFound(device, in: environment.scope)
            searchProblem = problem
            return tell(.attemptFailed(message: problem.text))
        }
        tell(.dialling(address: device.description))
        while isOpen, searched == device {
            if !isAttempting, let problem = await reach(device), !isAttempting {
                guard isOpen, searched == device else { return }
                if problem != searchProblem { tell(.attemptFailed(message: Phrase("\(problem.text) Trying again."))) }
                searchProblem = problem
            }
            guard isOpen, searched == device else { return }
            let pause = Self.searchInterval + .seconds(environment.time.random())
            do { try await environment.time.clock.sleep(for: pause) } catch { return }
        }
    }

    /// Whether the other end of an attempt has said something: it may be the device that is searched for, which has dialled this
    /// one, and nothing else is tried or told while the user compares digits.
    private var isAttempting: Bool { attempt.map { !$0.machine.isSilent } ?? false }

    /// Dials a device wherever it is said to be, and runs the attempt to its end, which may be the session's.
    ///
    /// - Returns: why it was not reached; nil if it was, or if another attempt runs.
    private func reach(_ device: DeviceID) async -> ControlError? {
        let addresses = await environment.find(device)
        guard !addresses.isEmpty else { return .deviceNotFound(device, in: environment.scope) }
        do {
            let link = try await environment.connect(device, addresses)
            guard case .failed(let failure)? = await attempt(on: link, dialled: nil) else { return nil }
            guard failure.code != .busy else { return ControlError(failure) }
            finish(ControlError(failure))
            return nil
        } catch {
            return ControlError(pairingWith: device.description, error)
        }
    }

    private func dial(_ address: LinkAddress) async {
        guard isOpen, !isDialling, attempt == nil else { return }
        (searched, searchProblem) = (nil, nil)
        isDialling = true
        defer { isDialling = false }
        for retry in 0...Self.busyRetries {
            guard isOpen else { return }
            tell(.dialling(address: address.description))
            let link: SecureLink
            do {
                link = try await environment.dial(address)
            } catch {
                giveUp(ControlError(pairingWith: address.description, error))
                return
            }
            guard case .failed(let failure)? = await attempt(on: link, dialled: address) else { return }
            guard failure.code == .busy, retry < Self.busyRetries else {
                giveUp(ControlError(failure))
                return
            }
            // Two that have dialled each other are busy for each other: one of them comes back first.
            let pause = Duration.milliseconds(300) + .seconds(environment.time.random())
            do { try await environment.time.clock.sleep(for: pause) } catch { return }
        }
    }

    /// A dial failed: the end if that was all the user wanted, else the waiting goes on. Where another device has dialled meanwhile,
    /// it is told only if nothing comes of that in time.
    private func giveUp(_ error: ControlError) {
        if isAttempting {
            searchProblem = error
        } else if case .address? = target, attempt == nil {
            finish(error)
        } else if isOpen {
            tell(.attemptFailed(message: error.text))
        }
    }

    /// Runs one attempt to its end. Nil if another one runs or the session is over. One whose other end has said nothing yet
    /// ends for it. Where the user has named a device, there is none with another.
    private func attempt(on link: SecureLink, dialled: LinkAddress?) async -> PairingOutcome? {
        let isNamed = link.peer == searched
        let isWanted = isNamed || searched == nil
        if isWanted, let current = attempt, current.machine.isSilent { await step(current.number) { $0.giveWay() } }
        guard isOpen, isWanted, attempt == nil else {
            if isOpen {
                try? await link.executeThenClose { _, outbound in
                    try await outbound.write(ByteBuffer(bytes: PairingRefusal.busy.message))
                }
            } else {
                await link.close()
            }
            return nil
        }
        attemptCount += 1
        let number = attemptCount
        let machine = PairingMachine(
            role: link.information.isInitiator ? .initiator : .responder, local: environment.localDevice.digest,
            remote: link.peer.digest, nonce: environment.nonce(), introduction: environment.introduction(),
            // Any device of the configuration may dial or answer: one that is to get folders proves that it is meant.
            knowsPeer: environment.knownName(link.peer) != nil && (isNamed || folders.isEmpty))
        let current = Attempt(
            number: number, machine: machine, link: link, dialled: dialled, phase: .opening,
            deadline: environment.time.monotonic() + PairingMachine.Phase.opening.limit)
        attempt = current
        do {
            try await link.executeThenClose { inbound, _ in
                await step(number) { $0.start() }
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        for try await bytes in inbound {
                            await self.step(number) { $0.receive(bytes.readableBytesView) }
                        }
                    }
                    group.addTask { await self.watchDeadlines(of: number, current.hasMoved) }
                    defer { group.cancelAll() }
                    try await group.next()
                }
            }
        } catch {
            environment.logger.debug("a pairing link broke: \(error)")
        }
        await step(number) { $0.linkEnded() }
        return lastOutcome?.number == number ? lastOutcome?.outcome : nil
    }

    /// Ends what takes too long. Returns when the attempt is over.
    private func watchDeadlines(of number: Int, _ hasMoved: Signal) async {
        var expired: PairingMachine.Phase?
        while !Task.isCancelled, let current = attempt, current.number == number {
            let rest = current.deadline - environment.time.monotonic()
            if current.phase == expired {
                // Time was up while the other device was being stored, which is finished first.
                await hasMoved.wait()
            } else if rest > .zero {
                await hasMoved.wait(atMost: rest, clock: environment.time.clock)
            } else {
                expired = current.phase
                await step(number) { $0.expire() }
            }
        }
    }

    /// Lets the attempt's machine take what has happened, and does what it says.
    private func step(
        _ number: Int, _ change: @Sendable (inout PairingMachine) -> [PairingMachine.Event]
    ) async {
        guard var current = attempt, current.number == number else { return }
        let events = change(&current.machine)
        if current.machine.phase != current.phase {
            current.phase = current.machine.phase
            let patience = current.phase == .comparing ? min(limit, current.phase.limit) : current.phase.limit
            current.deadline = environment.time.monotonic() + patience
        }
        attempt = current
        current.hasMoved.notify()
        for event in events { await perform(event, of: current) }
    }

    private func perform(_ event: PairingMachine.Event, of current: Attempt) async {
        switch event {
        case .send(let bytes):
            current.link.channel.writeAndFlush(ByteBuffer(bytes: bytes), promise: nil)
        case .compare(let code):
            attempt?.hasShownCode = true
            tell(
                .code(
                    code.description, device: current.link.peer.description, name: environment.name(current.link.peer),
                    address: current.link.information.remoteAddress,
                    transport: current.link.information.kind.rawValue))
        case .peerConfirmed:
            tell(.confirmedThere)
        case .store(let introduction):
            await store(introduction, of: current)
        case .end(.alreadyPaired):
            // The attempt is over only when the folders are shared: its end cancels the task that this runs in.
            let failure = await shareFolders(with: current.link.peer)
            await end(.alreadyPaired, failure)
        case .end(let outcome):
            await end(outcome, nil)
        }
    }

    private func store(_ introduction: PairingIntroduction, of current: Attempt) async {
        let device = PairedDevice(
            id: current.link.peer, name: introduction.name,
            addresses: PairedAddresses.addresses(
                dialled: current.dialled, link: current.link.information, introduced: introduction.addresses),
            folders: folders)
        attempt?.device = device
        do {
            try await environment.store(device)
        } catch {
            environment.logger.error("a device that was paired could not be stored: \(error)")
            let reason = Phrase("the other device could not be stored: \(Phrase(of: error))")
            await step(current.number) { $0.storingFailed(reason) }
            return
        }
        await step(current.number) { $0.stored() }
    }

    /// - Parameter sharingFailure: why folders could not be shared with a device that was paired before.
    private func end(_ outcome: PairingOutcome, _ sharingFailure: ControlError?) async {
        guard let current = attempt else { return }
        attempt = nil
        lastOutcome = (current.number, outcome)
        current.hasMoved.notify()
        let peer = current.link.peer
        let address = current.link.information.remoteAddress
        switch outcome {
        case .paired(let introduction, let isMutual):
            failures.succeeded()
            if isMutual {
                environment.logger.info("paired with \(peer) at \(address)")
            } else {
                environment.logger.info("paired with \(peer) at \(address), which may not have stored this device")
            }
            tell(
                .paired(
                    device: peer.description, name: introduction.name, addresses: current.device?.addresses ?? [],
                    folders: folders.map(\.rawValue), isMutual: isMutual))
            finish(nil)
            if isMutual { await environment.paired(peer) }
        case .alreadyPaired:
            if sharingFailure == nil {
                tell(
                    .alreadyPaired(
                        device: peer.description, name: environment.knownName(peer) ?? "",
                        folders: folders.map(\.rawValue)))
            }
            finish(sharingFailure)
        case .failed(let failure):
            environment.logger.info("pairing with \(peer) at \(address) failed: \(failure)")
            if current.machine.hasTakenRisk { failures.failed() }
            if current.hasShownCode {
                finish(ControlError(failure))
            } else if current.machine.hasTakenRisk, current.dialled == nil, isOpen {
                tell(.attemptFailed(message: ControlError(failure).text))
            }
            if let wait = failures.wait { finish(.pairingBlocked(for: wait)) }
        }
    }

    private func shareFolders(with peer: DeviceID) async -> ControlError? {
        guard !folders.isEmpty else { return nil }
        do {
            try await environment.store(PairedDevice(id: peer, name: "", addresses: [], folders: folders))
            return nil
        } catch {
            return ControlError(describing: error)
        }
    }
}
