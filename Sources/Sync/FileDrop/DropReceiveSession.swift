import Arithmetic
import AsyncTools
import BlockExchange
import ControlAPI
import FileAccess
import GhostDrop
import NIOCore
import SyncDecisions
import Synchronization
import Transport

/// One request of the user's to take files, from whoever sends them, one after the other.
///
/// While it runs this device answers GhostDrop's first version, and offers of paired devices.
package final class DropReceiveSession: DeviceDropReceiver {
    private enum Arrival: Sendable {
        case link(LegacyLink)
        case offer(UniqueID, DeviceID)
    }

    private struct State {
        /// A v1 link is being served, or waits to be.
        var hasLink = false
        var offers: [UniqueID: (device: DeviceID, cancellation: IncomingDrop.Cancellation)] = [:]
        /// Files that the user has taken and that did not come whole.
        var unfinished: Set<DropOffer> = []
        var isOver = false
    }

    /// Offers that wait for their turn.
    private static let offerLimit = 64

    private let request: DropReceiveRequest
    private let conversation: DropConversation
    private let environment: DropEnvironment
    private let directory: RootDirectory
    private let listening: [String]
    private let arrivals: BoundedQueue<Arrival>
    private let state = Mutex(State())

    /// Throws `ControlError` if the directory cannot be used.
    package init(
        _ request: DropReceiveRequest, listening: [String], conversation: DropConversation,
        environment: DropEnvironment
    ) async throws {
        self.request = request
        self.listening = listening
        self.conversation = conversation
        self.environment = environment
        directory = try await environment.threads.runIfActive {
            let directory: RootDirectory
            do {
                directory = try RootDirectory(path: request.directory)
            } catch {
                throw ControlError(describing: error, path: request.directory)
            }
            do {
                try IncomingFile.removeExpired(from: directory, now: environment.time.wall())
            } catch {
                // It takes room, and hinders nothing.
                environment.logger.debug("partial files of old transfers were not removed: \(error)")
            }
            return directory
        }
        arrivals = BoundedQueue(limit: Self.offerLimit + 1)
    }

    // MARK: who comes

    package func offered(_ id: UniqueID, by device: DeviceID) -> Bool {
        let isNew = state.withLock { state -> Bool? in
            guard !state.isOver else { return nil }
            // Told again, after its link was lost.
            if let known = state.offers[id] { return known.device == device ? false : nil }
            guard state.offers.count < Self.offerLimit else { return nil }
            state.offers[id] = (device, IncomingDrop.Cancellation())
            return true
        }
        guard let isNew else { return false }
        if isNew { _ = arrivals.sendIfRoom(.offer(id, device)) }
        return true
    }

    package func cancelled(_ id: UniqueID, by device: DeviceID) {
        let cancellation = state.withLock { state in
            state.offers[id].flatMap { $0.device == device ? $0.cancellation : nil }
        }
        cancellation?.cancel()
        conversation.wake.notify()
    }

    /// Takes a v1 link, unless there is one.
    private func connected(_ link: LegacyLink) {
        let isTaken = state.withLock { state in
            guard !state.hasLink, !state.isOver else { return false }
            state.hasLink = true
            return true
        }
        if !isTaken || !arrivals.sendIfRoom(.link(link)) { link.drop() }
    }

    // MARK: the work

    /// Serves until as many files have come as were asked for, or nobody has come for as long as was said. Throws
    /// `timeout` if nothing came, or fewer files than were asked for.
    package func run() async throws {
        for transport in environment.transports {
            // Closed again before this function returns.
            transport.legacyDoor.open { channel, information in
                LegacyLink.install(channel, information, wake: self.conversation.wake).map { self.connected($0) }
            }
        }
        conversation.tell(
            .waiting(session: conversation.number, directory: directory.path, listening: listening))
        defer { close() }
        var totals = (files: Int64(0), bytes: Int64(0), failed: Int64(0))
        while totals.files < Int64(request.count ?? .max) {
            guard let arrival = await nextArrival() else {
                try Task.checkCancellation()
                guard totals.files > 0, request.count == nil else {
                    throw Self.timeout(received: totals.files, of: request.count)
                }
                break
            }
            let start = environment.now()
            do {
                guard let received = try await take(arrival) else { continue }
                totals.files += 1
                totals.bytes.addClamped(received.offer.size)
                conversation.tell(
                    .received(
                        file: received.offer.name, size: received.offer.size, received.peer, path: received.path,
                        seconds: (environment.now() - start).inSeconds))
            } catch let error as ControlError {
                totals.failed += 1
                conversation.tell(.failed(file: error.path, error))
            }
        }
        conversation.tell(.done(files: totals.files, bytes: totals.bytes, failed: totals.failed))
    }

    /// - Parameter count: how many files were asked for; nil if any number will do.
    static func timeout(received: Int64, of count: Int?) -> ControlError {
        guard received > 0, let count else {
            return ControlError(.timeout, "Timed out: no file was sent.", isRetryable: true)
        }
        return ControlError(.timeout, "Timed out: \(received) of \(count) files were received.", isRetryable: true)
    }

    private func close() {
        for transport in environment.transports { transport.legacyDoor.close() }
        let offers = state.withLock { state in
            state.isOver = true
            return state.offers
        }
        arrivals.finish()
        while let arrival = arrivals.nextIfReady() {
            if case .link(let link) = arrival { link.drop() }
        }
        // Those that wait are not to wait in vain.
        let devices = environment.devices
        for (id, offer) in offers {
            environment.start { try? await devices.device(offer.device)?.session?.tell(.stopped, of: id) }
        }
    }

    private func nextArrival() async -> Arrival? {
        guard let seconds = request.seconds else { return await arrivals.next() }
        let (arrivals, clock) = (arrivals, environment.time.clock)
        return await withTaskGroup(of: Arrival?.self) { group in
            group.addTask { await arrivals.next() }
            group.addTask {
                try? await clock.sleep(for: .seconds(seconds))
                return nil
            }
            // What came at the last moment is not lost.
            var arrival: Arrival?
            for await result in group {
                arrival = arrival ?? result
                group.cancelAll()
            }
            return arrival
        }
    }

    /// Nil if nothing came of it.
    private func take(_ arrival: Arrival) async throws -> ReceivedDrop? {
        let received: ReceivedDrop?
        switch arrival {
        case .link(let link):
            defer { state.withLock { $0.hasLink = false } }
            received = try await LegacyReceiver(
                link: link, directory: directory, peer: environment.peer(of: link), wasAccepted: wasAccepted,
                accepted: accepted, conversation: conversation, environment: environment
            ).run()
        case .offer(let id, let device):
            defer { state.withLock { $0.offers[id] = nil } }
            let cancellation = state.withLock { $0.offers[id]?.cancellation }
            guard let cancellation, !cancellation.isCancelled else { return nil }
            received = try await IncomingDrop(
                id: id, device: device, directory: directory, cancellation: cancellation, wasAccepted: wasAccepted,
                accepted: accepted, conversation: conversation, environment: environment
            ).run()
        }
        if let received { state.withLock { _ = $0.unfinished.remove(received.offer) } }
        return received
    }

    private var wasAccepted: @Sendable (DropOffer) -> Bool {
        { offer in self.state.withLock { $0.unfinished.contains(offer) } }
    }

    private var accepted: @Sendable (DropOffer) -> Void {
        { offer in self.state.withLock { _ = $0.unfinished.insert(offer) } }
    }
}
