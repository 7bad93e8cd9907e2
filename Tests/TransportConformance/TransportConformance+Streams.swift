import NIOCore
import Synchronization
import Transport

extension TransportConformance {
    func saysWhoIsThere() async throws {
        try await withLink { dialled, accepted in
            for (link, isInitiator) in [(dialled, true), (accepted, false)] {
                let information = link.information
                try require(information.kind == subject.kind, "the kind is \(information.kind)")
                try require(information.isInitiator == isInitiator, "initiator: \(information.isInitiator)")
                let address = try? LinkAddress(parsing: information.remoteAddress)
                try require(address != nil, "\(information.remoteAddress) is no address")
            }
        }
    }

    func carriesBytesInOrderBothWays() async throws {
        let byteCount = subject.transferByteCount
        try await withLink { dialled, accepted in
            let out = ConformancePattern(seed: 1), back = ConformancePattern(seed: 2)
            try await together([
                { try await send(out, byteCount, largest: 60_000, on: dialled) },
                { try await send(back, byteCount, largest: 60_000, on: accepted) },
                { try await receive(out, byteCount, on: accepted) },
                { try await receive(back, byteCount, on: dialled) },
            ])
        }
    }

    func carriesManySmallPieces() async throws {
        try await withLink { dialled, accepted in
            let pattern = ConformancePattern(seed: 3)
            try await together([
                { try await send(pattern, 4_000, largest: 3, on: dialled) },
                { try await receive(pattern, 4_000, on: accepted) },
            ])
            // Many at once, without waiting for each.
            let second = ConformancePattern(seed: 4)
            for offset in 0..<3_000 { dialled.channel.write(second.bytes(offset..<offset + 1), promise: nil) }
            dialled.channel.flush()
            try await receive(second, 3_000, on: accepted)
        }
    }

    func deliversWhatWasWrittenBeforeTheEnd() async throws {
        let byteCount = min(subject.transferByteCount, 300_000)
        for isDialler in [true, false] {
            try await withLink { dialled, accepted in
                let pattern = ConformancePattern(seed: 5)
                let (sender, receiver) = isDialler ? (dialled, accepted) : (accepted, dialled)
                try await together([
                    {
                        try await send(pattern, byteCount, largest: 20_000, on: sender)
                        await sender.close()
                    },
                    {
                        let received = try await receive(pattern, nil, on: receiver)
                        try require(received == byteCount, "\(received) of \(byteCount) bytes arrived before the end")
                    },
                ])
            }
        }
    }

    func endOfPeerClosesBothWays() async throws {
        for isDialler in [true, false] {
            try await withLink { dialled, accepted in
                let (closing, other) = isDialler ? (dialled, accepted) : (accepted, dialled)
                await closing.close()
                try await receive(ConformancePattern(seed: 6), nil, on: other)
                // Without half-closure nobody has to close the other end.
                try await other.closed()
                var hasFailed = false
                do { try await other.write(ByteBuffer(string: "too late")) } catch { hasFailed = true }
                try require(hasFailed, "a write on a closed link succeeded")
            }
        }
    }

    /// Where directions cannot be closed apart, closing one closes the link, behind what was written.
    func closesDirectionsApart() async throws {
        try await withLink(keepsHalf: subject.closesDirectionsApart) { dialled, accepted in
            let request = ConformancePattern(seed: 7), answer = ConformancePattern(seed: 8)
            try await send(request, 20_000, largest: 5_000, on: dialled)
            try await dialled.closeOutput()
            let received = try await receive(request, nil, on: accepted)
            try require(received == 20_000, "\(received) of 20000 bytes arrived before the end")
            guard subject.closesDirectionsApart else { return try await accepted.closed() }
            try await together([
                {
                    try await send(answer, 200_000, largest: 50_000, on: accepted)
                    try await accepted.closeOutput()
                },
                {
                    let answered = try await receive(answer, nil, on: dialled)
                    try require(answered == 200_000, "\(answered) of 200000 bytes came back after the half-close")
                },
            ])
        }
    }

    /// The listening side writes at once; the dialling side's installer takes its time.
    func losesNothingBeforeTheInstallerIsDone() async throws {
        let greeting = ConformancePattern(seed: 9)
        let listener = try await subject.listener.listen(on: subject.address()) { channel, information in
            let link = ConformanceLink.installer()(channel, information)
            return link.flatMap { link in
                channel.writeAndFlush(greeting.bytes(0..<3_000)).map { link }
            }
        }
        do {
            let held = Mutex<EventLoopPromise<Void>?>(nil)
            async let dialled = subject.dialler.dial(listener.address, timeout: subject.dialLimit) {
                channel, information in
                let release = channel.eventLoop.makePromise(of: Void.self)
                held.withLock { $0 = release }
                return ConformanceLink.installer()(channel, information).and(release.futureResult).map(\.0)
            }
            var links = listener.makeAsyncIterator()
            guard let accepted = await links.next() else { throw ConformanceFailure("no link arrived") }
            while !Task.isCancelled, held.withLock({ $0 == nil }) { await Task.yield() }
            held.withLock { $0 }?.succeed()
            let link = try await dialled
            try await receive(greeting, 3_000, on: link)
            await link.close()
            await accepted.close()
            await listener.close()
        } catch {
            await listener.close()
            throw error
        }
    }

    /// The reader reads nothing until the writer comes no further, then everything.
    func slowReaderSlowsTheWriter() async throws {
        let byteCount = subject.transferByteCount
        try require(byteCount > subject.bufferLimit, "the transfer is too small to show anything")
        try await withLink { dialled, accepted in
            try await accepted.setReading(false)
            let pattern = ConformancePattern(seed: 10)
            let sent = Atomic<Int>(0)
            try await together([
                {
                    try await send(pattern, byteCount, largest: 8_192, on: dialled) {
                        sent.store($0, ordering: .relaxed)
                    }
                },
                {
                    // Standing still for so many turns of both loops is no proof; a writer that goes on is one.
                    var last = -1, stillFor = 0
                    while stillFor < 300, last < byteCount {
                        for link in [dialled, accepted] { try await link.turn() }
                        let now = sent.load(ordering: .relaxed)
                        stillFor = now == last ? stillFor + 1 : 0
                        last = now
                    }
                    try require(
                        last <= subject.bufferLimit,
                        "the writer got rid of \(last) bytes while nobody read; \(subject.bufferLimit) is the limit")
                    try await accepted.setReading(true)
                    var received = 0
                    try await receive(pattern, byteCount, on: accepted) { offset in
                        // Now and then it stops again.
                        received += 1
                        let ahead = sent.load(ordering: .relaxed) - offset
                        try require(
                            ahead <= subject.bufferLimit, "\(ahead) bytes were under way: more than the limit")
                        guard received.isMultiple(of: 16) else { return }
                        try await accepted.setReading(false)
                        for _ in 0..<10 { try await accepted.turn() }
                        try await accepted.setReading(true)
                    }
                },
            ])
        }
    }

    func changesOfTheLinkLoseNothing() async throws {
        guard let change = subject.change else { return }
        let byteCount = subject.transferByteCount
        try await withLink { dialled, accepted in
            let out = ConformancePattern(seed: 11), back = ConformancePattern(seed: 12)
            try await together([
                { try await send(out, byteCount, largest: 20_000, on: dialled) },
                { try await send(back, byteCount / 4, largest: 20_000, on: accepted) },
                {
                    var changes = 0
                    try await receive(out, byteCount, on: accepted) { offset in
                        guard offset * 8 / byteCount > changes else { return }
                        changes = offset * 8 / byteCount
                        try await change(changes)
                    }
                },
                { try await receive(back, byteCount / 4, on: dialled) },
            ])
        }
        try await change(0)
    }
}
