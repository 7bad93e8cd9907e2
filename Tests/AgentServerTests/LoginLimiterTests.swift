import Testing

@testable import AgentServer

@Suite struct LoginLimiterTests {
    private static func source(_ number: UInt8) -> LoginLimiter.Source { .init(address: [10, 0, 0, number]) }

    /// Attempts of one source: how long each has to wait.
    @Test func eachFurtherAttemptWaitsTwiceAsLong() {
        var limiter = LoginLimiter(limits: .init(burst: 1000))
        var (now, waits): (Int64, [Int64]) = (100, [])
        for _ in 0..<20 {
            var waited: Int64 = 0
            while case .wait(let seconds) = limiter.begin(Self.source(1), now: now) {
                waited += seconds
                now += seconds
            }
            waits.append(waited)
        }
        #expect(waits == [0, 0, 0, 0, 0, 2, 4, 8, 16, 32, 64, 128, 256, 512] + Array(repeating: 900, count: 6))
        // Others need not wait meanwhile, and after an hour nobody.
        #expect(limiter.begin(Self.source(2), now: now) == .allowed)
        #expect(limiter.begin(Self.source(1), now: now + 3600) == .allowed)
        #expect(limiter.begin(Self.source(1), now: now + 3600) == .allowed)
    }

    @Test func waitingDoesNotMakeItLonger() {
        var limiter = LoginLimiter()
        for _ in 0..<5 { #expect(limiter.begin(Self.source(1), now: 0) == .allowed) }
        for _ in 0..<1000 { #expect(limiter.begin(Self.source(1), now: 1) == .wait(1)) }
        #expect(limiter.begin(Self.source(1), now: 2) == .allowed)
    }

    @Test func theRightPasswordTakesItsAttemptBack() {
        var limiter = LoginLimiter(limits: .init(burst: 3))
        for now in Int64(0)..<100 {
            #expect(limiter.begin(Self.source(1), now: 0) == .allowed, "\(now)")
            limiter.succeeded(Self.source(1), now: 0)
        }
        #expect(limiter.sourceCount == 0)
    }

    /// Who has many addresses has no more attempts than all together.
    @Test func allTogetherAreLimited() {
        var limiter = LoginLimiter()
        var allowed = 0
        for second in 0..<Int64(3600) {
            for part in 0..<20 {
                let address = [
                    1, UInt8(part), UInt8(truncatingIfNeeded: second), UInt8(truncatingIfNeeded: second >> 8),
                ]
                if limiter.begin(.init(address: address), now: second) == .allowed { allowed += 1 }
            }
        }
        #expect(allowed == 30 + 3599 / 6)
        #expect(limiter.sourceCount <= 1024)
    }

    /// Whoever uses up the attempts of all does not keep out who has logged in from there before.
    @Test func aFloodDoesNotKeepOutWhoHasLoggedInBefore() {
        var limiter = LoginLimiter(limits: .init(known: 2))
        for number in UInt8(1)...3 {
            #expect(limiter.begin(Self.source(number), now: Int64(number)) == .allowed)
            limiter.succeeded(Self.source(number), now: Int64(number))
        }
        for number in UInt8(100)..<200 { _ = limiter.begin(Self.source(number), now: 10) }
        #expect(limiter.begin(Self.source(50), now: 10) != .allowed, "the flood has had them all")
        #expect(limiter.begin(Self.source(1), now: 10) != .allowed, "the one that is forgotten is like all others")
        #expect(limiter.begin(Self.source(2), now: 10) == .allowed)
        // It is held by its own attempts all the same, and takes nothing from the others.
        for _ in 0..<4 { #expect(limiter.begin(Self.source(3), now: 10) == .allowed) }
        #expect(limiter.begin(Self.source(3), now: 10) == .allowed)
        #expect(limiter.begin(Self.source(3), now: 10) == .wait(2))
    }

    @Test func theTableIsBoundedAndKeepsWhoTriesMost() {
        var limiter = LoginLimiter(limits: .init(sources: 8, burst: 100_000))
        for _ in 0..<5 { #expect(limiter.begin(Self.source(0), now: 0) == .allowed) }
        for number in 0..<200 { _ = limiter.begin(.init(address: [11, 0, 0, UInt8(number)]), now: 1) }
        #expect(limiter.sourceCount == 8)
        #expect(limiter.begin(Self.source(0), now: 1) == .wait(1), "it is still known")
    }

    @Test func sources() {
        let six: [UInt8] = [0x20, 1, 0xD, 0xB8, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1]
        #expect(LoginLimiter.Source(address: six) == .init(address: six.dropLast() + [99]))
        #expect(LoginLimiter.Source(address: six) != .init(address: six.prefix(7) + [2] + six.suffix(8)))
        let mapped: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 10, 0, 0, 7]
        #expect(LoginLimiter.Source(address: mapped) == Self.source(7))
        #expect(LoginLimiter.Source(address: []) == .init(address: [1, 2, 3]))
    }
}
