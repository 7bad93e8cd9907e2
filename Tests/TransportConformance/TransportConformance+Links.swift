import NIOCore
import Synchronization
import Transport

extension TransportConformance {
    func carriesManyLinksAtOnce() async throws {
        let byteCount = max(2_000, min(100_000, subject.transferByteCount / 8))
        try await withListener { listener in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<8 {
                    group.addTask {
                        let link = try await dial(listener.address)
                        try await send(ConformancePattern(seed: 20), byteCount, largest: 9_000, on: link)
                        try await receive(ConformancePattern(seed: 21), byteCount, on: link)
                        await link.close()
                    }
                }
                var links = listener.makeAsyncIterator()
                for _ in 0..<8 {
                    guard let link = await links.next() else { throw ConformanceFailure("no link arrived") }
                    group.addTask {
                        try await receive(ConformancePattern(seed: 20), byteCount, on: link)
                        try await send(ConformancePattern(seed: 21), byteCount, largest: 9_000, on: link)
                        // The other end closes when it has everything.
                        try await receive(ConformancePattern(seed: 22), nil, on: link)
                        await link.close()
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    func survivesAFailedInstaller() async throws {
        let count = Mutex(0), refusals = 20
        let install: LinkInstaller<ConformanceLink> = { channel, information in
            let number = count.withLock { count in
                count += 1
                return count
            }
            guard number > refusals else { return channel.eventLoop.makeFailedFuture(ConformanceFailure("refused")) }
            return ConformanceLink.installer()(channel, information)
        }
        let listener = try await subject.listener.listen(on: subject.address(), install: install)
        do {
            for _ in 0..<refusals {
                // The other side may have closed it before the dial was done.
                guard let refused = try? await dial(listener.address) else { continue }
                try await receive(ConformancePattern(seed: 23), nil, on: refused)
                await refused.close()
            }
            let link = try await dial(listener.address)
            var links = listener.makeAsyncIterator()
            guard let accepted = await links.next() else { throw ConformanceFailure("no link arrived") }
            try await together([
                { try await send(ConformancePattern(seed: 24), 1_000, largest: 500, on: link) },
                { try await receive(ConformancePattern(seed: 24), 1_000, on: accepted) },
            ])
            await link.close()
            await accepted.close()
            // A dial whose installer fails leaves nothing open at the other end either.
            var failure: (any Error)?
            do {
                _ = try await subject.dialler.dial(listener.address, timeout: subject.dialLimit) { channel, _ in
                    channel.eventLoop.makeFailedFuture(ConformanceFailure("refused"))
                        as EventLoopFuture<ConformanceLink>
                }
            } catch { failure = error }
            try require(failure is ConformanceFailure, "the dial ended with \(String(describing: failure))")
            // Whether the listener has seen that link or not, the next one is whole.
            let last = try await dial(listener.address)
            try await send(ConformancePattern(seed: 25), 1_000, largest: 500, on: last)
            await last.close()
            while let link = await links.next(), try await receive(ConformancePattern(seed: 25), nil, on: link) == 0 {}
            await listener.close()
        } catch {
            await listener.close()
            throw error
        }
    }

    /// Links that nobody takes are refused or wait; those that are taken make room for others.
    func boundsTheLinksBeingSetUp() async throws {
        try await withListener { listener in
            let count = 24
            let (dials, dialled) = AsyncStream.makeStream(of: Void.self)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<count {
                    group.addTask {
                        defer { dialled.yield() }
                        let link = try await dial(listener.address)
                        dialled.yield()
                        try await receive(ConformancePattern(seed: 26), nil, on: link)
                        await link.close()
                    }
                }
                var links = listener.makeAsyncIterator()
                var accepted: [ConformanceLink] = []
                for _ in 0..<count {
                    guard let link = await links.next() else { throw ConformanceFailure("no link arrived") }
                    accepted.append(link)
                }
                // A link that is closed before its dial is over is one that could not be made.
                var ready = dials.makeAsyncIterator()
                for _ in 0..<count { await ready.next() }
                for link in accepted { await link.close() }
                try await group.waitForAll()
            }
        }
    }

    /// The peer stops reading and writing in the middle: this side's writes wait, and closing does not.
    func peerThatStopsLeavesNothingHanging() async throws {
        let byteCount = subject.transferByteCount
        try await withLink { dialled, accepted in
            try await accepted.setReading(false)
            let writing = Task { try await send(ConformancePattern(seed: 27), byteCount, largest: 30_000, on: dialled) }
            for _ in 0..<100 { for link in [dialled, accepted] { try await link.turn() } }
            await dialled.close()
            var hasFailed = false
            do { try await writing.value } catch { hasFailed = true }
            try require(hasFailed, "a write succeeded that nobody had read")
            // The other side gets what was under way, and then the end. It may have closed by itself already.
            try? await accepted.setReading(true)
            let received = try await receive(ConformancePattern(seed: 27), nil, on: accepted)
            try require(received < byteCount, "\(received) bytes arrived, which is all of them")
        }
    }

    func brokenLinkEndsWithAPrefix() async throws {
        guard let breakLinks = subject.breakLinks else { return }
        let byteCount = subject.transferByteCount
        try await withLink { dialled, accepted in
            let writing = Task { try await send(ConformancePattern(seed: 28), byteCount, largest: 30_000, on: dialled) }
            var isBroken = false
            let received = try await receive(ConformancePattern(seed: 28), nil, on: accepted) { offset in
                guard !isBroken, offset >= byteCount / 8 else { return }
                isBroken = true
                try await breakLinks()
            }
            var hasFailed = false
            do { try await writing.value } catch { hasFailed = true }
            try require(isBroken && hasFailed, "the writer heard nothing of the end")
            try require(received < byteCount, "everything arrived over a broken link")
            try await dialled.closed()
            try await accepted.closed()
        }
    }

    func listenerEndsAndItsAddressIsFree() async throws {
        let listener = try await subject.listener.listen(on: subject.address(), install: ConformanceLink.installer())
        let untaken = try await dial(listener.address)
        var failure: (any Error)?
        do {
            _ = try await subject.listener.listen(on: listener.address, install: ConformanceLink.installer())
        } catch { failure = error }
        try require((failure as? LinkError)?.code == .addressInUse, "a second listener: \(String(describing: failure))")
        await listener.close()
        try await receive(ConformancePattern(seed: 29), nil, on: untaken)
        await untaken.close()
        var links = listener.makeAsyncIterator()
        try require(await links.next() == nil, "the sequence goes on after the end")
        let again = try await subject.listener.listen(on: listener.address, install: ConformanceLink.installer())
        let link = try await dial(again.address)
        var others = again.makeAsyncIterator()
        guard let accepted = await others.next() else { throw ConformanceFailure("no link arrived") }
        await link.close()
        await accepted.close()
        await again.close()
    }

    // MARK: what is left behind

    /// Dials are cancelled at all points of their way, those that hang and those that do not.
    func cancelledDialsLeaveNothing() async throws {
        try await withListener { listener in
            let taking = Task {
                var links = listener.makeAsyncIterator()
                var last: ConformanceLink?
                while let link = await links.next() {
                    // Not at once: a dial whose link is closed before its installer runs fails, and rightly so.
                    await last?.close()
                    last = link
                }
                await last?.close()
            }
            func cancelledDial(_ number: Int, to address: LinkAddress) async throws {
                let dialling = Task { try await dial(address) }
                for _ in 0..<number % 25 { await Task.yield() }
                dialling.cancel()
                switch await dialling.result {
                case .success(let link): await link.close()
                case .failure(let error): try require(error is CancellationError, "a cancelled dial threw \(error)")
                }
            }
            for number in 0..<20 {
                try await cancelledDial(number, to: listener.address)
                try await cancelledDial(number, to: subject.silentAddress)
            }
            func whole() async throws {
                let link = try await dial(listener.address)
                await link.close()
            }
            let before = try await descriptorCount(whole)
            for number in 0..<150 {
                try await cancelledDial(number, to: listener.address)
                try await cancelledDial(number, to: subject.silentAddress)
            }
            let after = try await descriptorCount(atMost: before, whole)
            try require(after <= before, "\(after - before) descriptors are left of 300 cancelled dials")
            await listener.close()
            await taking.value
        }
    }

    /// What the process holds when all that is being closed is closed: whole links come and go, at least a few, and more
    /// as long as it holds more than `limit`, for what is being closed goes away and a leak does not.
    ///
    /// Behind each link it looks again and again: links that follow one another without a pause always have one that is
    /// being closed.
    private func descriptorCount(atMost limit: Int = .max, _ makeLink: () async throws -> Void) async throws -> Int {
        var count = Int.max
        for number in 0..<100 where number < 5 || count > limit {
            try await makeLink()
            var looks = 0
            repeat {
                for _ in 0..<20 { await Task.yield() }
                count = try ProcessResources.descriptorCount()
                looks += 1
            } while count > limit && looks < 200
        }
        return count
    }

    func cyclesLeaveNothing() async throws {
        try await withListener { listener in
            var links = listener.makeAsyncIterator()
            let greeting = ConformancePattern(seed: 30)
            func cycle(_ number: Int) async throws {
                let link = try await dial(listener.address)
                guard let accepted = await links.next() else { throw ConformanceFailure("no link arrived") }
                let (first, second) = number.isMultiple(of: 2) ? (link, accepted) : (accepted, link)
                if number.isMultiple(of: 10) {
                    try await first.write(greeting.bytes(0..<1_000))
                    try await receive(greeting, 1_000, on: second)
                }
                await first.close()
                try await second.closed()
            }
            for number in 0..<20 { try await cycle(number) }
            let descriptors = try await descriptorCount { try await cycle(1) }
            // What the first half leaves is the allocator's and the libraries'; a leak goes on in the second.
            let half = subject.cycleCount / 2
            for number in 0..<half { try await cycle(number) }
            let memory = try ProcessResources.residentByteCount()
            let allocated = ProcessResources.allocatedByteCount()
            for number in half..<subject.cycleCount { try await cycle(number) }
            let after = try await descriptorCount(atMost: descriptors) { try await cycle(1) }
            try require(
                after <= descriptors, "\(after - descriptors) descriptors are left of \(subject.cycleCount) links")
            let growth = try ProcessResources.residentByteCount() - memory
            try require(
                growth < max(1 << 20, 512 * half), "\(growth) bytes of memory are left of \(half) links")
            if let allocated, let after = ProcessResources.allocatedByteCount() {
                try require(
                    after - allocated < max(1 << 20, 256 * half),
                    "\(after - allocated) bytes that malloc has given out are left of \(half) links")
            }
        }
    }
}
