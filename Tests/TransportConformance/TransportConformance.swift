import NIOCore
import Transport

/// What every transport has to do, whatever carries its links. One check at a time; each leaves nothing behind.
///
/// Checks throw `ConformanceFailure`, so that they run in tests and in programs alike. None of them looks at a clock:
/// what hangs is ended by the runner's own limit.
package struct TransportConformance: Sendable {
    package enum Check: String, CaseIterable, Sendable, CustomStringConvertible {
        case saysWhoIsThere
        case carriesBytesInOrderBothWays
        case carriesManySmallPieces
        case deliversWhatWasWrittenBeforeTheEnd
        case endOfPeerClosesBothWays
        case closesDirectionsApart
        case losesNothingBeforeTheInstallerIsDone
        case slowReaderSlowsTheWriter
        case carriesManyLinksAtOnce
        case survivesAFailedInstaller
        case boundsTheLinksBeingSetUp
        case peerThatStopsLeavesNothingHanging
        case brokenLinkEndsWithAPrefix
        case changesOfTheLinkLoseNothing
        case listenerEndsAndItsAddressIsFree
        case cancelledDialsLeaveNothing
        case cyclesLeaveNothing

        package var description: String { rawValue }

        /// Whether it counts what the process holds, so that nothing else may run in it meanwhile.
        package var countsDescriptors: Bool { self == .cancelledDialsLeaveNothing || self == .cyclesLeaveNothing }
    }

    let subject: ConformanceSubject

    package init(_ subject: ConformanceSubject) { self.subject = subject }

    package func run(_ check: Check) async throws {
        switch check {
        case .saysWhoIsThere: try await saysWhoIsThere()
        case .carriesBytesInOrderBothWays: try await carriesBytesInOrderBothWays()
        case .carriesManySmallPieces: try await carriesManySmallPieces()
        case .deliversWhatWasWrittenBeforeTheEnd: try await deliversWhatWasWrittenBeforeTheEnd()
        case .endOfPeerClosesBothWays: try await endOfPeerClosesBothWays()
        case .closesDirectionsApart: try await closesDirectionsApart()
        case .losesNothingBeforeTheInstallerIsDone: try await losesNothingBeforeTheInstallerIsDone()
        case .slowReaderSlowsTheWriter: try await slowReaderSlowsTheWriter()
        case .carriesManyLinksAtOnce: try await carriesManyLinksAtOnce()
        case .survivesAFailedInstaller: try await survivesAFailedInstaller()
        case .boundsTheLinksBeingSetUp: try await boundsTheLinksBeingSetUp()
        case .peerThatStopsLeavesNothingHanging: try await peerThatStopsLeavesNothingHanging()
        case .brokenLinkEndsWithAPrefix: try await brokenLinkEndsWithAPrefix()
        case .changesOfTheLinkLoseNothing: try await changesOfTheLinkLoseNothing()
        case .listenerEndsAndItsAddressIsFree: try await listenerEndsAndItsAddressIsFree()
        case .cancelledDialsLeaveNothing: try await cancelledDialsLeaveNothing()
        case .cyclesLeaveNothing: try await cyclesLeaveNothing()
        }
    }

    // MARK: links

    typealias Links = LinkListener<ConformanceLink>

    func withListener(
        keepsHalf: Bool = false, _ body: (Links) async throws -> Void
    ) async throws {
        let listener = try await subject.listener.listen(
            on: subject.address(), install: ConformanceLink.installer(keepsHalf: keepsHalf))
        do {
            try await body(listener)
            await listener.close()
        } catch {
            await listener.close()
            throw error
        }
    }

    func dial(_ address: LinkAddress, keepsHalf: Bool = false) async throws -> ConformanceLink {
        try await subject.dialler.dial(
            address, timeout: subject.dialLimit, install: ConformanceLink.installer(keepsHalf: keepsHalf))
    }

    /// Runs `body` with both ends of a link, and closes them.
    func withLink(
        keepsHalf: Bool = false, _ body: (_ dialled: ConformanceLink, _ accepted: ConformanceLink) async throws -> Void
    ) async throws {
        try await withListener(keepsHalf: keepsHalf) { listener in
            let dialled = try await dial(listener.address, keepsHalf: keepsHalf)
            var links = listener.makeAsyncIterator()
            guard let accepted = await links.next() else { throw ConformanceFailure("no link arrived") }
            do {
                try await body(dialled, accepted)
            } catch {
                await dialled.close()
                await accepted.close()
                throw error
            }
            await dialled.close()
            await accepted.close()
        }
    }

    // MARK: bytes

    /// Writes `byteCount` bytes in pieces of up to `largest`.
    func send(
        _ pattern: ConformancePattern, _ byteCount: Int, largest: Int, on link: ConformanceLink,
        progress: (Int) -> Void = { _ in }
    ) async throws {
        var sizes = ConformanceSizes(seed: pattern.seed)
        var offset = 0
        while offset < byteCount {
            let end = min(byteCount, offset + Int.random(in: 1...largest, using: &sizes))
            try await link.write(pattern.bytes(offset..<end))
            offset = end
            progress(offset)
        }
    }

    /// Reads and compares until `byteCount` bytes are here; nil: until the end. Gives their number.
    @discardableResult
    func receive(
        _ pattern: ConformancePattern, _ byteCount: Int?, from start: Int = 0, on link: ConformanceLink,
        progress: (Int) async throws -> Void = { _ in }
    ) async throws -> Int {
        var offset = start
        while offset < byteCount ?? .max {
            guard let pieces = await link.read() else {
                guard let byteCount else { return offset }
                throw ConformanceFailure("the stream ended after \(offset) of \(byteCount) bytes")
            }
            for piece in pieces {
                try pattern.check(piece, at: offset)
                offset += piece.readableBytes
            }
            try await progress(offset)
        }
        try require(
            byteCount == nil || offset == byteCount, "\(offset) bytes arrived where \(byteCount ?? 0) were sent")
        return offset
    }

    /// Runs all, and throws what the first one to fail threw.
    func together(_ bodies: [@Sendable () async throws -> Void]) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for body in bodies { group.addTask { try await body() } }
            try await group.waitForAll()
        }
    }
}
